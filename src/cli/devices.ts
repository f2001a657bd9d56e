import { CommandError } from "../base/errors.ts";
import { parseMac } from "../base/mac.ts";
import { type Device, DeviceList } from "../devices/schema.ts";
import type { Quota, Rate, UsedQuota } from "../devices/values.ts";
import { Success } from "../http/answers.ts";
import { amountText, BYTES_PER_MEGABYTE, parseAmount, quotaText } from "../shared/quotas.ts";
import { parseRate, rateText } from "../shared/rates.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { list, printable, styled } from "./text.ts";
import { usage } from "./usage.ts";

export async function listDevices(api: Api, only: { names?: true; exits?: true }): Promise<Output> {
  const json = await api.get("/api/devices", DeviceList);
  if (only.names) return { json, text: linesOf(json.devices.flatMap(({ id, name }) => [id, name])) };
  if (only.exits) return { json, text: linesOf(json.exits) };
  return { json, text: textOf(json) };
}

const WHICH_RATE = "rate: must be Mbit/s each way, such as 20; down and up, such as 20/5 or 20/off; or off";

/** `off` means no limit. */
export function rateIn(text: string): Rate | null {
  const rate = text === "off" ? null : parseRate(text);
  if (rate === undefined) throw usage(WHICH_RATE);
  return rate;
}

export async function setSharedQuota(api: Api, text: string, end?: string): Promise<Output> {
  const quota = quotaIn(text, end);
  const json = await api.put("/api/shared-quota", Success, { quota });
  const now = quota === null ? "have no quota now" : whatHappens(quota, true);
  return { json, text: `Devices without a quota of their own ${now}.\n` };
}

/** `off` means any amount. */
export function quotaIn(text: string, end?: string): Quota | null {
  if (text !== "off") return wholeQuota(text, end ?? "blocked");
  if (end !== undefined) throw usage("too many arguments: off has no end");
  return null;
}

function wholeQuota(text: string, end: string): Quota {
  const amount = parseAmount(text);
  if (amount === undefined) throw usage("quota: must be such as 500MB/day or 20GB/month, or off");
  const at_end = end === "blocked" || end === "told" ? end : parseRate(end);
  if (at_end === undefined)
    throw usage("quota: its end must be blocked, told, or Mbit/s each way, such as 1 or 2/0.5");
  return { ...amount, at_end };
}

export function whatHappens(quota: Quota, isShared = false): string {
  const { at_end } = quota;
  const amount = `${amountText(quota)}${isShared ? " together" : ""}`;
  if (at_end === "told") return `may use ${amount}; more is only told`;
  const state = at_end === "blocked" ? "blocked" : `limited to ${rateText(at_end)}`;
  return `${isShared ? "are" : "is"} ${state} after ${amount}`;
}

export async function setSharedRate(api: Api, text: string): Promise<Output> {
  const rate = rateIn(text);
  const json = await api.put("/api/shared-rate", Success, { rate });
  const are = rate === null ? "have no limit now" : `are limited to ${rateText(rate)} together`;
  return { json, text: `Devices without a limit of their own ${are}.\n` };
}

export async function setDefaultExit(api: Api, exit: string): Promise<Output> {
  const json = await api.put("/api/default-exit", Success, { exit });
  return { json, text: `Devices without an exit of their own now have the exit ${printable(exit)}.\n` };
}

/**
 * The device with this id, or with this name if no other device has it. `title` is for people: the name that they have
 * typed.
 */
export async function deviceOf(
  api: Api,
  device: string,
): Promise<{ id: string; title: string; known?: Device }> {
  const { devices } = await api.get("/api/devices", DeviceList);
  const id = parseMac(device) ?? device.toLowerCase();
  const known = devices.find((each) => each.id === id) ?? (isId(device) ? undefined : named(device, devices));
  // A device may be assigned before it was ever seen.
  if (known === undefined) return { id, title: printable(id) };
  const { id: found, name } = known;
  if (name === "" || found !== id) return { id: found, title: printable(name) || found, known };
  return { id, title: `${printable(name)} (${id})`, known };
}

/** Devices choose their own names, so a text that looks like an id is never a name. */
function isId(text: string): boolean {
  return parseMac(text) !== null || /^[0-9a-f]*[.:][0-9a-f.:]*(\/\d+)?$/i.test(text);
}

function named(text: string, devices: readonly Device[]): Device {
  const folded = text.normalize("NFC").toLowerCase();
  const [found, ...others] = devices.filter(({ name }) => name.toLowerCase() === folded);
  if (found === undefined) throw new CommandError("unable", UNKNOWN);
  if (others.length > 0)
    throw usage(
      `several devices have this name; give one of these ids: ${[found, ...others].map(({ id }) => id).join(", ")}`,
    );
  return found;
}

export const UNKNOWN = "no device has this id or name; to list them: portcullis devices";

/** Used by completion. */
function linesOf(words: readonly string[]): string {
  return words
    .filter((word) => word !== "")
    .map((word) => `${printable(word)}\n`)
    .join("");
}

function textOf({ devices, default_exit, shared_rate, shared_quota }: DeviceList): string {
  const shared =
    shared_rate === undefined
      ? ""
      : `Limit of the devices without one of their own, together: ${rateText(shared_rate)}\n`;
  const amount =
    shared_quota === undefined
      ? ""
      : `Quota of the devices without one of their own, together: ${quotaOf(shared_quota)}\n`;
  const rest = `Default exit, for devices without one of their own: ${default_exit}\n${shared}${amount}`;
  if (devices.length === 0) return `No device has been seen yet.\n${rest}`;
  const isLimited = devices.some(({ rate }) => rate !== undefined);
  const hasQuota = devices.some(({ quota }) => quota !== undefined);
  const titles = [
    "Device",
    "Exit",
    "State",
    "Id",
    "Address",
    ...(isLimited ? ["Limit"] : []),
    ...(hasQuota ? ["Quota"] : []),
  ];
  const rows = devices.map((device) => [
    ...rowOf(device),
    ...(isLimited ? [device.rate === undefined ? "" : rateText(device.rate)] : []),
    ...(hasQuota ? [device.quota === undefined ? "" : quotaOf(device.quota)] : []),
  ]);
  return `${list(titles, rows)}${rest}`;
}

export function rowOf({ id, name, addresses, exit, exit_order: order, assigned, online }: Device): string[] {
  const [address = "", ...others] = addresses;
  const chosen = order === undefined ? exit : `${exit} (of ${order.join(", ")})`;
  return [
    styled("cyan", printable(name) || "-"),
    assigned ? chosen : `${exit} (default)`,
    online ? styled("green", "online") : styled("dim", "offline"),
    id,
    others.length > 0 ? `${address} +${others.length}` : address,
  ];
}

export function quotaOf(quota: UsedQuota): string {
  return `${Math.floor(quota.used_bytes / BYTES_PER_MEGABYTE)} of ${quotaText(quota)}`;
}
