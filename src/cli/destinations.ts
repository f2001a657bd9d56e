import { parseAddress } from "../base/address.ts";
import { Destination, DestinationList, Explanation } from "../destinations/schema.ts";
import { DeviceList } from "../devices/schema.ts";
import { Success } from "../http/answers.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { deviceOf } from "./devices.ts";
import { list, printable, styled } from "./text.ts";

/** A screen has room for this many. */
const SHOWN_ADDRESSES = 8;

export interface AddDestinationFlags {
  exit: string;
  device: readonly string[];
  note?: string;
}

export async function listDestinations(api: Api, idsOnly: boolean): Promise<Output> {
  const json = await api.get("/api/destinations", DestinationList);
  if (idsOnly) return { json, text: json.destinations.map(({ id }) => `${id}\n`).join("") };
  const { devices } = await api.get("/api/devices", DeviceList);
  return { json, text: textOf(json, new Map(devices.map(({ id, name }) => [id, name]))) };
}

/** The ids of the rules for a shell, each with what it is for. */
export async function ruleWords(api: Api): Promise<string> {
  const { destinations } = await api.get("/api/destinations", DestinationList);
  return destinations.map((rule) => `${rule.id}\t${targetIn(rule)}\n`).join("");
}

/** The names and networks of all rules. */
export async function targetWords(api: Api): Promise<string> {
  const { destinations } = await api.get("/api/destinations", DestinationList);
  const all = destinations.flatMap(({ names, prefixes }) => [...names, ...prefixes]);
  return [...new Set(all)].map((each) => `${each}\n`).join("");
}

export async function addDestination(
  api: Api,
  targets: readonly string[],
  { exit, device, note }: AddDestinationFlags,
): Promise<Output> {
  const names = targets.filter((each) => !looksLikeNumbers(each));
  const prefixes = targets.filter(looksLikeNumbers);
  const devices: string[] = [];
  for (const each of device) devices.push((await deviceOf(api, each)).id);
  const json = await api.post("/api/destinations", Destination, {
    ...(names.length > 0 && { names }),
    ...(prefixes.length > 0 && { prefixes }),
    ...{ devices, exit },
    ...(note !== undefined && { note }),
  });
  const warning = json.warning === null ? "" : `${styled("yellow", json.warning)}\n`;
  return { json, text: `The rule ${json.id} leads ${targetIn(json)} to ${printable(exit)}.\n${warning}` };
}

export async function removeDestinations(api: Api, ids: readonly string[]): Promise<Output> {
  for (const id of ids) await api.delete(`/api/destinations/${encodeURIComponent(id)}`, Success);
  const which = ids.length === 1 ? "the rule" : "the rules";
  return { json: { success: true }, text: `Removed ${which} ${ids.map(printable).join(", ")}.\n` };
}

export async function explain(api: Api, device: string, target: string): Promise<Output> {
  const { id } = await deviceOf(api, device);
  const query = new URLSearchParams({ device: id, name: target });
  const json = await api.get(`/api/destinations/explain?${query}`, Explanation);
  const exit = `${printable(json.exit)}${json.open ? "" : ", which carries nothing now"}`;
  const advice = json.advice === null ? "" : `${printable(json.advice)}\n`;
  const who = json.device.name === "" ? json.device.id : `${printable(json.device.name)} (${json.device.id})`;
  return {
    json,
    text: `Device: ${who}\nExit: ${exit}\n${printable(json.why)}\n${namesIn(json)}${advice}`,
  };
}

/** What is known of a name of a rule. */
function namesIn({ rule, destination, by, addresses, asked_at }: Explanation): string {
  if (rule === null || by === null || !rule.names.includes(by) || parseAddress(destination) !== null)
    return "";
  const some = addresses.slice(0, SHOWN_ADDRESSES).join(", ");
  const more = addresses.length > SHOWN_ADDRESSES ? ` and ${addresses.length - SHOWN_ADDRESSES} more` : "";
  return [
    `Addresses that lead there now: ${addresses.length === 0 ? "none" : `${some}${more}`}`,
    `Last question of the device: ${asked_at === null ? "none" : asked_at}`,
    "",
  ].join("\n");
}

function textOf({ destinations }: DestinationList, names: ReadonlyMap<string, string>): string {
  if (destinations.length === 0) return "There is no rule: all traffic takes the exit of its device.\n";
  const rows = destinations.map((rule) => [
    rule.id,
    targetIn(rule),
    rule.devices.length === 0 ? "all" : printable(rule.devices.map((id) => names.get(id) || id).join(", ")),
    printable(rule.exit),
    printable(rule.note),
  ]);
  const warnings = destinations.flatMap(({ id, warning }) =>
    warning === null ? [] : [`${styled("yellow", `${id}: ${printable(warning)}`)}\n`],
  );
  return [list(["Rule", "To", "For", "Exit", "Note"], rows), ...warnings].join("");
}

/** A name has no slash and no colon, and its last label is no number. */
function looksLikeNumbers(target: string): boolean {
  return /[/:]|(^|\.)[0-9]+\.?$/.test(target);
}

function targetIn({ names, prefixes }: Destination): string {
  const [first = "", ...others] = [...names, ...prefixes];
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}
