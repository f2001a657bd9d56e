import { GatewayError } from "../base/errors.ts";
import { parseMac } from "../base/mac.ts";
import { type Device, DeviceList } from "../devices/schema.ts";
import { LABEL_KEYS, type Quota, type Rate, type UsedQuota } from "../devices/values.ts";
import { Success } from "../http/answers.ts";
import { TunnelRows } from "../http/schema.ts";
import { amountText, BYTES_PER_MEGABYTE, parseAmount, quotaText } from "../shared/quotas.ts";
import { parseRate, rateText } from "../shared/rates.ts";
import { capital, STATE_WORDS, tunnelTitle } from "../shared/words.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { bytesText } from "./bytes.ts";
import { list, printable, styled, table } from "./text.ts";

export async function listDevices(api: Api, only: { names?: true; exits?: true }): Promise<Output> {
  const json = await api.get("/api/devices", DeviceList);
  if (only.names) return { json, text: linesOf(json.devices.flatMap(({ id, name }) => [id, name])) };
  if (only.exits) return { json, text: linesOf(json.exits) };
  return { json, text: textOf(json) };
}

export async function changeDevice(
  api: Api,
  [device = "", action = "", text, end]: readonly string[],
): Promise<Output> {
  if (action === "") return showDevice(api, device);
  if (end !== undefined && action !== "quota") throw usage("too many arguments: only a quota has an end");
  if (action === "forget") {
    if (text !== undefined) throw usage(`too many arguments: ${action} takes no value`);
    return forgetDevice(api, device);
  }
  if (text === undefined) throw usage(`missing argument: which ${action}?`);
  if (action === "address") return fixDevice(api, device, text);
  if (action === "rate") return limitDevice(api, device, text);
  if (action === "quota") return setQuota(api, device, text, end);
  if (action === "exit") return moveDevice(api, device, text);
  return action === "name" ? nameDevice(api, device, text) : labelDevice(api, device, action, text);
}

async function showDevice(api: Api, device: string): Promise<Output> {
  const { id, known } = await deviceOf(api, device);
  if (known === undefined) throw new GatewayError("unable", `${id}: ${UNKNOWN}`);
  return { json: known, text: detailsOf(known) };
}

function detailsOf(device: Device): string {
  const { id, name, addresses, interface: link, seen_at, fixed_address, rate, quota } = device;
  const [, exit = "", state = ""] = rowOf(device);
  const rows: (readonly [string, string] | false)[] = [
    ["Device", printable(name) || "-"],
    ["Id", id],
    ["Exit", exit],
    ["State", device.online || seen_at === null ? state : `${state}, last seen at ${seen_at}`],
    ["Address", addresses.join(", ") || "-"],
    fixed_address !== null && ["Fixed", fixed_address],
    link !== null && ["Interface", printable(link)],
    ["Traffic", `${bytesText(device.rx_bytes)} received, ${bytesText(device.tx_bytes)} sent`],
    rate !== undefined && ["Limit", rateText(rate)],
    quota !== undefined && ["Quota", quotaOf(quota)],
    ...LABEL_KEYS.map((key) => {
      const value = device[key];
      return value !== undefined && ([capital(key), printable(value)] as const);
    }),
  ];
  return table(rows.filter((row) => row !== false).map(([title, value]) => [styled("dim", title), value]));
}

/** `auto` means any address again. */
async function fixDevice(api: Api, device: string, address: string): Promise<Output> {
  const { id, title } = await deviceOf(api, device);
  const isAny = address === "auto";
  const json = await api.put(pathOf(id), Success, { address: isAny ? null : address });
  const next = isAny ? "any address" : printable(address);
  return {
    json,
    text: `${title} gets ${next} with its next lease: reconnect it, or wait until it renews.\n`,
  };
}

const WHICH_RATE = "rate: must be Mbit/s each way, such as 20; down and up, such as 20/5 or 20/off; or off";

/** `off` means no limit. */
export function rateIn(text: string): Rate | null {
  const rate = text === "off" ? null : parseRate(text);
  if (rate === undefined) throw usage(WHICH_RATE);
  return rate;
}

async function limitDevice(api: Api, device: string, text: string): Promise<Output> {
  const rate = rateIn(text);
  const { id, title } = await deviceOf(api, device);
  const json = await api.put(pathOf(id), Success, { rate });
  return {
    json,
    text: rate === null ? `${title} has no limit now.\n` : `${title} is limited to ${rateText(rate)}.\n`,
  };
}

async function setQuota(api: Api, device: string, text: string, end?: string): Promise<Output> {
  const quota = quotaIn(text, end);
  const { id, title } = await deviceOf(api, device);
  const json = await api.put(pathOf(id), Success, { quota });
  return { json, text: `${title} ${quota === null ? "has no quota now" : whatHappens(quota)}.\n` };
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

function whatHappens(quota: Quota, isShared = false): string {
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

async function nameDevice(api: Api, device: string, name: string): Promise<Output> {
  const { id } = await deviceOf(api, device);
  const json = await api.put(pathOf(id), Success, { name });
  return { json, text: `${id} is now ${printable(name)}.\n` };
}

/** `off` means none, and `on` is for what is only given or not. */
async function labelDevice(api: Api, device: string, label: string, text: string): Promise<Output> {
  const { id, title } = await deviceOf(api, device);
  const value = text === "off" ? null : text === "on" ? true : text;
  const json = await api.put(pathOf(id), Success, { [label]: value });
  const now = value === null ? `has no ${label} now` : `now has the ${label} ${printable(text)}`;
  return { json, text: `${title} ${now}.\n` };
}

/** Several exits are taken in their order. */
async function moveDevice(api: Api, device: string, text: string): Promise<Output> {
  const exits = text.split(",").map((each) => each.trim());
  const { id, title } = await deviceOf(api, device);
  const [only = "", ...others] = exits;
  if (others.length > 0) {
    const json = await api.put(pathOf(id), Success, { exit: exits });
    const order = exits.map(printable).join(", then ");
    const now = `${title} now leaves by the first of these that is up: ${order}.\n`;
    return { json, text: `${now}${await stateOf(api, exits)}` };
  }
  const json = await api.put(pathOf(id), Success, { exit: only });
  return { json, text: `The exit of ${title} is now ${printable(only)}.\n${await stateOf(api, exits)}` };
}

/** A device whose tunnels are down is refused, which may not be the intention. */
async function stateOf(api: Api, exits: readonly string[]): Promise<string> {
  const { tunnels } = await api.get("/api/tunnels", TunnelRows);
  const own = tunnels.filter(({ name }) => exits.includes(name));
  const [first] = own;
  if (first === undefined || own.some(({ state }) => state === "connected")) return "";
  if (own.length > 1) return "None of them is up: until one is connected, the device has no internet.\n";
  const { name, state } = first;
  return `The ${tunnelTitle(name)} ${STATE_WORDS[state]}: until it is connected, the device has no internet.\n`;
}

async function forgetDevice(api: Api, device: string): Promise<Output> {
  const { id, title } = await deviceOf(api, device);
  const json = await api.delete(pathOf(id), Success);
  return {
    json,
    text: `${title} now has the default exit, and no name, address, limit, quota, icon or group of its own.\n`,
  };
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
  if (found === undefined) throw new GatewayError("unable", UNKNOWN);
  if (others.length > 0)
    throw usage(
      `several devices have this name; give one of these ids: ${[found, ...others].map(({ id }) => id).join(", ")}`,
    );
  return found;
}

const UNKNOWN = "no device has this id or name; to list them: portcullis devices";

function usage(message: string): GatewayError {
  return new GatewayError("bad_request", message);
}

function pathOf(id: string): string {
  return `/api/devices/${encodeURIComponent(id)}`;
}

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

function rowOf({ id, name, addresses, exit, exit_order: order, assigned, online }: Device): string[] {
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

function quotaOf(quota: UsedQuota): string {
  return `${Math.floor(quota.used_bytes / BYTES_PER_MEGABYTE)} of ${quotaText(quota)}`;
}
