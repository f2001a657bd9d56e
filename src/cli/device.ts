import { CommandError } from "../base/errors.ts";
import type { Device, DeviceChange } from "../devices/schema.ts";
import { LABEL_KEYS } from "../devices/values.ts";
import { Success } from "../http/answers.ts";
import { TunnelRows } from "../http/schema.ts";
import type { ScheduleBody } from "../schedules/schema.ts";
import { pauseName } from "../shared/pauses.ts";
import { rateText } from "../shared/rates.ts";
import { capital, STATE_WORDS, tunnelTitle } from "../shared/words.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { bytesText } from "./bytes.ts";
import { deviceOf, quotaIn, quotaOf, rateIn, rowOf, UNKNOWN, whatHappens } from "./devices.ts";
import { endOf } from "./schedules.ts";
import { printable, styled, table } from "./text.ts";
import { usage } from "./usage.ts";

/** Shows a device without an action, and changes it otherwise. */
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
  if (action === "pause") return pauseDevice(api, device, text);
  if (action === "resume") {
    if (text !== undefined) throw usage(`too many arguments: ${action} takes no value`);
    return resumeDevice(api, device);
  }
  if (text === undefined) throw usage(`missing argument: which ${action}?`);
  const { body, told } = (CHANGES[action] ?? labelled(action))(text, end);
  const { id, title } = await deviceOf(api, device);
  const json = await api.put(pathOf(id), Success, body);
  const state = action === "exit" ? await stateOf(api, exitsIn(text)) : "";
  return { json, text: `${told(title, id)}\n${state}` };
}

/** What the words after a device put into the request, and the sentence that confirms it. */
interface Change {
  body: DeviceChange;
  told: (title: string, id: string) => string;
}

const CHANGES: Record<string, (text: string, end?: string) => Change> = {
  name: (name) => ({ body: { name }, told: (_, id) => `${id} is now ${printable(name)}.` }),
  exit: (text) => {
    const exits = exitsIn(text);
    const [only = "", ...others] = exits;
    const order = exits.map(printable).join(", then ");
    return others.length === 0
      ? { body: { exit: only }, told: (title) => `The exit of ${title} is now ${printable(only)}.` }
      : {
          body: { exit: exits },
          told: (title) => `${title} now uses the first of these that is up: ${order}.`,
        };
  },
  address: (text) => ({
    body: { address: text === "auto" ? null : text },
    told: (title) =>
      `${title} gets ${text === "auto" ? "any address" : printable(text)} with its next lease: reconnect it, or wait until it renews.`,
  }),
  rate: (text) => {
    const rate = rateIn(text);
    const now = rate === null ? "has no limit now" : `is limited to ${rateText(rate)}`;
    return { body: { rate }, told: (title) => `${title} ${now}.` };
  },
  quota: (text, end) => {
    const quota = quotaIn(text, end);
    const now = quota === null ? "has no quota now" : whatHappens(quota);
    return { body: { quota }, told: (title) => `${title} ${now}.` };
  },
};

/** `off` means none, and `on` is for what is only given or not. */
function labelled(label: string): (text: string) => Change {
  return (text) => {
    const value = text === "off" ? null : text === "on" ? true : text;
    const now = value === null ? `has no ${label} now` : `now has the ${label} ${printable(text)}`;
    return { body: { [label]: value }, told: (title) => `${title} ${now}.` };
  };
}

/** Several exits are taken in their order. */
function exitsIn(text: string): string[] {
  return text.split(",").map((each) => each.trim());
}

async function showDevice(api: Api, device: string): Promise<Output> {
  const { id, known } = await deviceOf(api, device);
  if (known === undefined) throw new CommandError("unable", `${id}: ${UNKNOWN}`);
  return { json: known, text: detailsOf(known) };
}

function detailsOf(device: Device): string {
  const { id, name, addresses, interface: link, seen_at, fixed_address, rate, quota, maker } = device;
  const [, exit = "", state = ""] = rowOf(device);
  const rows: (readonly [string, string] | false)[] = [
    ["Device", printable(name) || "-"],
    ["Id", id],
    ["Exit", exit],
    ["State", device.online || seen_at === null ? state : `${state}, last seen at ${seen_at}`],
    ["Address", addresses.join(", ") || "-"],
    fixed_address !== null && ["Fixed", fixed_address],
    maker !== undefined && ["Maker", printable(maker)],
    device.network !== undefined && ["Network", printable(device.network)],
    link !== null && ["Interface", [link, ...(device.also_on ?? [])].map(printable).join(", also on ")],
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

/** `30m`, `2h`, or a time of day on the gateway's clock. */
async function pauseDevice(api: Api, device: string, text = "30m"): Promise<Output> {
  const once = onceIn(text);
  const { id, title } = await deviceOf(api, device);
  const json = await api.put(pausePathOf(id), Success, { device: id, exit: "blocked", once });
  return { json, text: `${title} has no internet until ${await endOf(api, pauseName(id))}.\n` };
}

async function resumeDevice(api: Api, device: string): Promise<Output> {
  const { id, title } = await deviceOf(api, device);
  const json = await api.delete(pausePathOf(id), Success);
  return { json, text: `${title} has its own exit again.\n` };
}

function onceIn(text: string): ScheduleBody["once"] {
  if (/^\d\d:\d\d$/.test(text)) return { until: text };
  const [, count, unit] = /^(\d{1,5})([mh])$/.exec(text) ?? [];
  if (count === undefined) throw usage("pause: must be such as 30m, 2h, or until a time such as 07:00");
  return { minutes: Number(count) * (unit === "h" ? 60 : 1) };
}

function pathOf(id: string): string {
  return `/api/devices/${encodeURIComponent(id)}`;
}

function pausePathOf(id: string): string {
  return `/api/schedules/${encodeURIComponent(pauseName(id))}`;
}
