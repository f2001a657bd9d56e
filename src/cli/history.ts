import { CommandError } from "../base/errors.ts";
import { type Device, DeviceList } from "../devices/schema.ts";
import { HistoryPage } from "../history/schema.ts";
import { STATE_WORDS, tunnelTitle } from "../shared/words.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { bytesText } from "./bytes.ts";
import { deviceOf } from "./devices.ts";
import { list, printable } from "./text.ts";

export interface HistoryFlags {
  tunnel?: string;
  device?: string;
  hours: string;
}

const HOUR_MS = 3_600_000;
/** The history keeps this many hours. */
const MAX_HOURS = 1_464;
/** The width of the line of bars. */
const COLUMNS = 60;
const BARS = "▁▂▃▄▅▆▇█";

/** The traffic of the last hours, by tunnel and device, and the failures in that time. */
export async function showHistory(api: Api, flags: HistoryFlags, now: number): Promise<Output> {
  const hours = /^[1-9][0-9]{0,3}$/.test(flags.hours) ? Number(flags.hours) : 0;
  if (hours === 0 || hours > MAX_HOURS)
    throw new CommandError("bad_request", `--hours: must be a number from 1 to ${MAX_HOURS}`);
  const device = flags.device === undefined ? undefined : await deviceOf(api, flags.device);
  const query = new URLSearchParams({
    from: new Date(now - hours * HOUR_MS).toISOString(),
    ...(flags.tunnel !== undefined && { tunnel: flags.tunnel }),
    ...(device !== undefined && { device: device.id }),
  });
  const json = await api.get(`/api/history?${query}`, HistoryPage);
  const { devices } = await api.get("/api/devices", DeviceList);
  const title =
    device?.title ?? (flags.tunnel === undefined ? "All tunnels" : `The ${tunnelTitle(flags.tunnel)}`);
  const since = `the last ${hours === 1 ? "hour" : `${hours} hours`}`;
  return { json, text: `${printable(title)} in ${since}:\n${textOf(json, devices)}` };
}

function textOf(page: HistoryPage, devices: readonly Device[]): string {
  const outages = outagesIn(page);
  const states = outages === "" ? "" : `\n${outages}`;
  if (!page.kept) return `The gateway keeps no history (--history off).\n${states}`;
  const names = new Map(devices.map(({ id, name }) => [id, name]));
  const rows = [
    ...page.tunnels.map((row) => [tunnelTitle(row.name), ...bytesIn(row)]),
    ...page.devices.map((row) => [printable(names.get(row.id) || row.id), ...bytesIn(row)]),
  ];
  const table = rows.length === 0 ? "" : `\n${list(["Who", "Received", "Sent"], rows)}`;
  return `${barsOf(page)}\n${qualityIn(page)}${table}${states}`;
}

/** The means of the whole time; nothing if nothing was measured. */
function qualityIn({ quality }: HistoryPage): string {
  if (quality.length === 0) return "";
  const mean = (all: readonly number[]) =>
    Math.round((10 * all.reduce((sum, each) => sum + each, 0)) / all.length) / 10;
  const lost = `${mean(quality.map(({ loss_percent }) => loss_percent))} % lost`;
  const took = quality.flatMap(({ round_trip_ms }) => round_trip_ms ?? []);
  return `Quality: ${took.length === 0 ? "" : `${mean(took)} ms, `}${lost}\n`;
}

/** The received and sent bytes together, in equal parts of the time. */
function barsOf({ points, from, to }: HistoryPage): string {
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  const sums = new Array<number>(COLUMNS).fill(0);
  for (const { at, rx_bytes, tx_bytes } of points) {
    const column = Math.floor(((Date.parse(at) - begin) / (end - begin)) * COLUMNS);
    sums[column] = (sums[column] ?? 0) + rx_bytes + tx_bytes;
  }
  const most = Math.max(...sums, 1);
  return sums.map((sum) => BARS[Math.ceil((sum / most) * (BARS.length - 1))]).join("");
}

function outagesIn({ states }: HistoryPage): string {
  return states
    .filter(({ state, unanswered }) => state !== "connected" || unanswered)
    .map(({ tunnel, state, from, until, error, unanswered }) => {
      const why = error === null ? "" : `: ${printable(error)}`;
      const time = until === null ? `since ${minuteOf(from)}` : `${minuteOf(from)} to ${minuteOf(until)}`;
      return `${time}  ${tunnelTitle(tunnel)} ${unanswered ? "carried nothing" : STATE_WORDS[state]}${why}\n`;
    })
    .join("");
}

/** "2026-03-01 18:04", in this machine's time zone. */
function minuteOf(iso: string): string {
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
    .toISOString()
    .slice(0, 16)
    .replace("T", " ");
}

function bytesIn({ rx_bytes, tx_bytes }: { rx_bytes: number; tx_bytes: number }): string[] {
  return [rx_bytes, tx_bytes].map(bytesText);
}
