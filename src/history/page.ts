import { parseMac } from "../base/mac.ts";
import { nextTurn } from "../base/queue.ts";
import type { Journal } from "../journal/journal.ts";
import type { JournalEntry } from "../journal/schema.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { History } from "./history.ts";
import { TENTHS, UPLINK } from "./quality-ring.ts";
import { refused } from "./refusals.ts";
import { type Carried, LENGTHS_MS, type Range, type Ring, type Subject } from "./ring.ts";
import type { HistoryPage, Resolution, Span } from "./schema.ts";

export interface HistoryQuery {
  tunnel?: string;
  device?: string;
  /** The quality is that of the uplink. */
  uplink?: "true";
  /** ISO 8601. */
  from?: string;
  to?: string;
  resolution?: Resolution;
}

interface Sources {
  history: Pick<History, "isKept" | "ring" | "absences" | "write" | "qualityIn">;
  journal: Pick<Journal, "during">;
  /** The names of the present tunnels. */
  tunnels: readonly string[];
  now: number;
}

const USUAL_MS = 3_600_000;
/** With minutes, a longer range would have gaps. */
const BY_MINUTE_MS = 86_400_000;
/** Some 60 KB. */
const MAX_EVENTS = 300;

/** The traffic and the events of a time. Throws `GatewayError("bad_request")` for an invalid range. */
export async function pageOf(
  query: HistoryQuery,
  { history, journal, tunnels, now }: Sources,
): Promise<HistoryPage> {
  const subject = subjectIn(query);
  const { from, to, resolution } = rangeIn(query, now);
  const length = LENGTHS_MS[resolution];
  const range = { resolution, from: from / length, to: to / length };
  history.write();
  const { series, totals } = await carriedIn(history.ring, subject, range);
  const events = journal.during({ from, to, most: MAX_EVENTS });
  const spans = spansOf([...events.before, ...events.events], new Set(tunnels));
  return {
    kept: history.isKept,
    resolution,
    from: isoOf(from),
    to: isoOf(to),
    points: series.map(({ at, rx, tx }) => ({
      at: isoOf(at * length),
      rx_bytes: rx,
      tx_bytes: tx,
    })),
    quality: qualityIn(query, history, range, (at) => isoOf(at * length)),
    off: history.isKept
      ? history.absences
          .during({ from, until: Math.min(to, now) })
          .map((each) => ({ from: isoOf(each.from), until: isoOf(each.until) }))
      : [],
    tunnels: totals.flatMap(({ kind, name, rx, tx }) =>
      kind === "tunnel" ? [{ name, rx_bytes: rx, tx_bytes: tx }] : [],
    ),
    devices: totals.flatMap(({ kind, name, rx, tx }) =>
      kind === "device" ? [{ id: name, rx_bytes: rx, tx_bytes: tx }] : [],
    ),
    states: spans.filter(
      ({ tunnel, until }) =>
        (subject?.kind !== "tunnel" || tunnel === subject.name) &&
        (until === null || Date.parse(until) >= from),
    ),
    alerts: events.events.flatMap((entry) => (entry.type === "security_alert" ? [alertOf(entry)] : [])),
    more: events.more,
  };
}

function alertOf({
  at,
  code,
  args,
  message,
}: Extract<JournalEntry, { type: "security_alert" }>): HistoryPage["alerts"][number] {
  return { at, code, ...(args !== undefined && { args }), message };
}

/** Two months of a large home take a quarter of a second to read, so other work has its turn meanwhile. */
async function carriedIn(ring: Ring, subject: Subject | null, range: Range) {
  const series: ReturnType<Ring["series"]> = [];
  const totals = new Map<string, Subject & Carried>();
  for (const piece of ring.pieces(range)) {
    series.push(...ring.series(subject, piece));
    for (const each of ring.totals(piece)) {
      const key = `${each.kind} ${each.name}`;
      const { rx, tx } = totals.get(key) ?? { rx: 0, tx: 0 };
      totals.set(key, { ...each, rx: rx + each.rx, tx: tx + each.tx });
    }
    await nextTurn();
  }
  return { series, totals: [...totals.values()].sort(byCarried) };
}

function qualityIn(
  { tunnel, device, uplink }: HistoryQuery,
  history: Sources["history"],
  range: Range,
  textOf: (at: number) => string,
): HistoryPage["quality"] {
  if (device !== undefined) return [];
  const name = uplink === undefined ? (tunnel ?? MAIN) : UPLINK;
  return history.qualityIn(name, range).map(({ at, asked, lost, took, steps }) => {
    const answered = asked - lost;
    const mean = (sum: number) => (answered === 0 ? null : Math.round(sum / answered) / TENTHS);
    return {
      at: textOf(at),
      round_trip_ms: mean(took),
      variation_ms: mean(steps),
      loss_percent: Math.round((TENTHS * 100 * lost) / asked) / TENTHS,
    };
  });
}

/** The highest figures come first. */
function byCarried(one: Subject & Carried, other: Subject & Carried): number {
  return other.rx + other.tx - one.rx - one.tx || (one.name < other.name ? -1 : 1);
}

function subjectIn({ tunnel, device, uplink }: HistoryQuery): Subject | null {
  if (tunnel !== undefined && device !== undefined) throw refused("history_of_both");
  if (uplink !== undefined && (tunnel ?? device) !== undefined) throw refused("history_of_uplink");
  if (tunnel !== undefined) return { kind: "tunnel", name: tunnel };
  return device === undefined ? null : { kind: "device", name: parseMac(device) ?? device.toLowerCase() };
}

/** Whole minutes or hours, so that the answer stays the same until the next one begins. */
function rangeIn(query: HistoryQuery, now: number): { from: number; to: number; resolution: Resolution } {
  const to = timeIn("to", query.to) ?? now;
  const from = timeIn("from", query.from) ?? to - USUAL_MS;
  if (from >= to) throw refused("range_reversed");
  const resolution = query.resolution ?? (now - from <= BY_MINUTE_MS + LENGTHS_MS.minute ? "minute" : "hour");
  const length = LENGTHS_MS[resolution];
  return {
    from: Math.floor(from / length) * length,
    to: Math.ceil(to / length) * length,
    resolution,
  };
}

/** The characters of a date. */
const DATE = "2026-03-01".length;

function timeIn(field: "from" | "to", text: string | undefined): number | null {
  if (text === undefined) return null;
  const time = Date.parse(text);
  // JavaScript reads 30 February as 2 March.
  if (Number.isNaN(time) || isoOf(time).slice(0, DATE) !== text.slice(0, DATE))
    throw refused("time_unknown", { field });
  return time;
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

type Change = Extract<JournalEntry, { type: "tunnel_state" }>;

/**
 * How long the tunnels were in which state, by the beginning of each span. A tunnel that is `gone` is in no state any
 * more.
 */
function spansOf(entries: readonly JournalEntry[], tunnels: ReadonlySet<string>): Span[] {
  const changes = entries.filter((entry): entry is Change => entry.type === "tunnel_state");
  const spans: Span[] = [];
  const open = new Map<string, Span>();
  for (const { id, type, at, moved: _, ...change } of changes) {
    const last = open.get(change.tunnel);
    // After a restart of the service, the same state occurs again.
    if (last !== undefined && Bun.deepEquals(last, { ...change, from: last.from, until: null })) continue;
    // The clock may have been moved back.
    if (last !== undefined) last.until = [at, last.from].toSorted().at(-1) ?? at;
    const span: Span = { ...change, from: at, until: null };
    open.set(change.tunnel, span);
    spans.push(span);
  }
  return spans.filter(({ tunnel, until }) => until !== null || tunnels.has(tunnel));
}
