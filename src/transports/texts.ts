import { RELAYED_NAMES, RELAYS, TRANSPORT_NAMES, TRANSPORTS, type TransportName } from "./list.ts";
import type { Offered, Protocol } from "./transport.ts";

/** Sentences about all transports, from their rows. */

/** The help of `--transport`. */
export const OPTION_TEXT = `how to reach it: ${TRANSPORT_NAMES.map((name) => TRANSPORTS[name].words.option).join(", ")}, or whatever works (auto, the default)`;

/** The description of what a request asks for. */
export const ASKED_TEXT = [
  `How the server is reached: ${asked("all").join(", ")}.`,
  `${listed(asked("list"), "and")}; the server's list has to offer them.`,
  ...asked("configuration").map((text) => `${text}.`),
  "`auto` tries plain first, then what the list offers. Without it: `auto`.",
].join(" ");

/** The description of how a server is reached. */
export const SEEN_TEXT = `how the server is reached at \`port\`: ${listed(
  [`by UDP ${seen("list", "udp").join(" or ")}`, ...seen("configuration", "udp"), ...seen("list", "tcp")],
  "or",
)}; missing if by plain WireGuard`;

/** The help of the metric that tells of a relay. */
export const METRIC_TEXT = `1 while the server is reached in disguise (${over("udp").join(", ")}) or over TCP (${over("tcp").join(", ")}).`;

/** What the page shows of a transport, and translates. */
export interface PageTexts {
  title: string;
  /** After a port; null if WireGuard itself sends there. */
  by: string | null;
  /** The server's configuration demands it. */
  isDemanded: boolean;
}

/** A macro of the page, so that it has these texts without the code: `transport-texts.ts`. */
export function pageTexts(): Record<TransportName, PageTexts> {
  const rows = TRANSPORT_NAMES.map((name) => {
    const { words, relay, offered } = TRANSPORTS[name];
    const by = relay?.words.by ?? null;
    return [name, { title: words.title, by, isDemanded: offered.by === "configuration" }] as const;
  });
  return Object.fromEntries(rows) as Record<TransportName, PageTexts>;
}

function asked(by: Offered<unknown>["by"]): string[] {
  return TRANSPORT_NAMES.filter((name) => TRANSPORTS[name].offered.by === by).map(
    (name) => TRANSPORTS[name].words.asked,
  );
}

function seen(by: Offered<unknown>["by"], protocol: Protocol): string[] {
  return RELAYED_NAMES.filter(
    (name) => TRANSPORTS[name].offered.by === by && TRANSPORTS[name].protocol === protocol,
  ).map((name) => RELAYS[name].words.seen);
}

function over(protocol: Protocol): string[] {
  return RELAYED_NAMES.filter((name) => TRANSPORTS[name].protocol === protocol);
}

/** "a, b, and c". */
function listed(texts: readonly string[], word: "and" | "or"): string {
  return [...texts.slice(0, -1), `${word} ${texts.at(-1)}`].join(", ");
}
