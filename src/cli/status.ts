import { DeviceList } from "../devices/schema.ts";
import { TunnelRows } from "../http/schema.ts";
import { viaText } from "../servers/hops.ts";
import { BLOCKED_WORDS, PROVIDER_WORDS, sentenceFrom } from "../shared/words.ts";
import { RELAYS } from "../transports/list.ts";
import type { Quality } from "../tunnel/quality-facts.ts";
import { Status } from "../tunnel/schema.ts";
import type { Api } from "./api.ts";
import { targetsText } from "./asked.ts";
import { bytesText } from "./bytes.ts";
import { printable, styled, table } from "./text.ts";

export function readStatus(api: Api): Promise<Status> {
  return api.get("/api/status", Status);
}

/** The tunnels beside main, and how many devices there are. */
export async function readRest(api: Api): Promise<Row[]> {
  const [{ tunnels }, { devices }] = await Promise.all([
    api.get("/api/tunnels", TunnelRows),
    api.get("/api/devices", DeviceList),
  ]);
  const [, ...others] = tunnels;
  const online = devices.filter((each) => each.online).length;
  return [
    ...others.map((each): Row => {
      const where = each.server === "" ? "" : `  ${printable(placed(each))}`;
      return [`Tunnel ${printable(each.name)}`, `${stateOf(each)}${where}`];
    }),
    ["Devices", devices.length === 0 ? "none was seen yet" : `${devices.length}, ${online} online`],
  ];
}

type Row = readonly [title: string, text: string];

/** A few aligned lines for people; `now` is in milliseconds since 1970. */
export function textOf(status: Status, now: number, rest: readonly Row[] = []): string {
  const { server, ip, uptime, latest_handshake, rx_bytes, tx_bytes, quality, uplink_quality, error } = status;
  const { order, last, verdict } = status;
  const rows: (Row | false)[] = [
    ["Home", headlineOf(status)],
    ["", printable(verdict.text)],
    verdict.why !== null && ["", printable(verdict.why)],
    ["State", stateOf(status)],
    server !== "" && ["Server", printable(placed(status))],
    order !== undefined && ["Order", orderText(order)],
    last !== undefined && ["Last", `${printable(targetsText(last))}; again by: portcullis connect`],
    ip !== "" && ["Address", ip],
    status.connected && ["Uptime", uptime],
    latest_handshake !== null && ["Handshake", ago(now - Date.parse(latest_handshake))],
    server !== "" && ["Traffic", `${bytesText(rx_bytes)} received, ${bytesText(tx_bytes)} sent`],
    quality !== undefined && ["Quality", qualityText(quality)],
    uplink_quality !== undefined && ["Uplink", qualityText(uplink_quality)],
    ["Kill switch", killSwitchOf(status)],
    isAnyDirect(status) && ["Direct", directOf(status)],
    status.limited_devices !== undefined && ["Limited", counts(status.limited_devices, "device")],
    ...rest,
    ["Servers", PROVIDER_WORDS[status.provider].title],
    error !== null && !isToldBy(verdict, error) && ["Error", styled("red", printable(error))],
  ];
  return table(rows.filter((row) => row !== false).map(([name, value]) => [styled("dim", name), value]));
}

/** One line for a log. */
export function lineOf(status: Status): string {
  const { server, quality, uplink_quality, error, verdict } = status;
  const parts = [
    verdict.name !== "unknown" && headlineOf(status),
    stateOf(status),
    server !== "" && printable(placed(status)),
    isPoor(quality) && qualityText(quality),
    isPoor(uplink_quality) && `uplink ${qualityText(uplink_quality)}`,
    `kill switch ${killSwitchOf(status)}`,
    isAnyDirect(status) && `direct: ${directOf(status)}`,
    error !== null && printable(error),
  ];
  return parts.filter((part) => part !== false).join("  ");
}

const TONES = {
  protected: "green",
  unused: "yellow",
  moving: "yellow",
  partly: "yellow",
  stalled: "yellow",
  blocked: "yellow",
  weakened: "yellow",
  exposed: "red",
  unknown: "bold",
} as const satisfies Record<Status["verdict"]["name"], string>;

/** Not green while anything leaves outside the tunnels. */
function headlineOf(status: Status): string {
  const { name, title } = status.verdict;
  return styled(name === "protected" && isAnyDirect(status) ? TONES.partly : TONES[name], printable(title));
}

/** The verdict has its reason as a sentence. */
function isToldBy({ why }: Status["verdict"], error: string): boolean {
  return why?.includes(sentenceFrom(error)) ?? false;
}

const COLOURS = {
  disconnected: "bold",
  connecting: "yellow",
  connected: "green",
  reconnecting: "yellow",
  failed: "red",
} as const satisfies Record<Status["state"], string>;

export function stateOf({ state, unanswered }: Pick<Status, "state" | "unanswered">): string {
  return unanswered ? styled("red", `${state}, carries nothing`) : styled(COLOURS[state], state);
}

function isPoor(quality: Quality | undefined): quality is Quality {
  return quality !== undefined && quality.state !== "good";
}

/** `slow, 312 ms (varies by 20.5 ms), 3 % lost`. */
export function qualityText({ state, round_trip_ms, variation_ms, loss_percent }: Quality): string {
  const varies = variation_ms === null ? "" : ` (varies by ${variation_ms} ms)`;
  const takes = round_trip_ms === null ? [] : [`${round_trip_ms} ms${varies}`];
  return [...(state === "good" ? [] : [styled("yellow", state)]), ...takes, `${loss_percent} % lost`].join(
    ", ",
  );
}

/** `Sweden, work: number 2 of 2, a better one is tried each 10 min`. */
function orderText({ targets, at, back_after_minutes, move_when }: NonNullable<Status["order"]>): string {
  const names = targets.map(({ server, via }) => printable(viaText(server, via)));
  const back =
    at === 0 || back_after_minutes === undefined
      ? ""
      : `, a better one is tried each ${back_after_minutes} min`;
  const left = move_when === undefined ? "" : `, left when ${move_when.join(" or ")}`;
  return `${names.join(", ")}: number ${at + 1} of ${names.length}${back}${left}`;
}

function killSwitchOf({ killswitch_active }: Status): string {
  return killswitch_active ? styled("green", "active") : styled(["red", "bold"], "off");
}

function isAnyDirect({ direct_devices, direct_destinations }: Status): boolean {
  return direct_devices + direct_destinations > 0;
}

function directOf({ direct_devices, direct_destinations }: Status): string {
  const counted = [
    counts(direct_devices, "device"),
    counts(direct_destinations, "rule for destinations", "rules for destinations"),
  ];
  return styled("yellow", `${counted.filter((each) => each !== "").join(" and ")} outside the tunnel`);
}

function counts(count: number, one: string, many = `${one}s`): string {
  return count === 0 ? "" : `${count} ${count === 1 ? one : many}`;
}

/**
 * The server with its place and with its entry, how it is reached if not by plain WireGuard, and whether its keys are
 * safe from quantum computers if that was asked for.
 */
export function placed({
  server,
  location,
  via,
  transport,
  blocked,
  quantum,
}: Pick<Status, "server" | "location" | "via" | "transport" | "blocked" | "quantum">): string {
  const title = viaText(location === "" ? server : `${server} (${location})`, via);
  const why = blocked === undefined ? "" : `, because ${BLOCKED_WORDS[blocked]}`;
  const how = transport === undefined ? "" : ` by ${RELAYS[transport].words.name}${why}`;
  const keys = quantum === undefined ? "" : `, ${quantum ? "" : "not "}safe from quantum computers`;
  return `${title}${how}${keys}`;
}

/** Clocks of two machines differ, so a time in the future counts as now. */
function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  return seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
}
