import { useEffect } from "preact/hooks";
import type { EventMessage } from "../http/event.ts";
import { CHECKS_KEPT_MS } from "../shared/bounds.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { ApiError } from "./api.ts";
import { placeText } from "./country.ts";
import { say } from "./language.ts";
import { type Answers, answerOf, askedFor, connection, isLost, type Loaded, type Resource } from "./store.ts";
import { readTogether } from "./together.ts";

/** Between the end of a read and the next of the same: a burst of events costs one read a second. */
const PAUSE_MS = 1_000;
/** Before an answer that could not be had is read again. */
const FAILED_PAUSE_MS = 3_000;

/** How many components show each answer. */
const users = new Map<Resource, number>();
/** The reads under way, with the pause after each. */
const reading = new Map<Resource, Read>();

interface Read {
  /** Something has changed since it began. */
  isStale: boolean;
}

/** The latest read of each answer, while it is under way; `done` says whether it was read. */
const under = new Map<Resource, { ending: AbortController; done: Promise<boolean> }>();
/** Answers whose latest read the gateway has not answered at all: what is known of them is old. */
const unheard = new Set<Resource>();

/** Resolves when the gateway is first heard: what is read before that may be older than the first event. */
const heard = Promise.withResolvers<void>();
let isHeard = false;

/** When a tunnel's row came, in milliseconds since 1970. */
const cameAt = new WeakMap<TunnelRow, number>();

/** Since when each tunnel is connected, as it was first shown. */
const sinceOf = new Map<string, { server: string; since: number }>();
/** Rows have whole seconds, and answers take their time. */
const SAME_WITHIN_MS = 5_000;

/** Since when a tunnel is connected, by this browser's clock; the same for each row of the same connection. */
export function connectedSince(row: TunnelRow): number {
  const since = (cameAt.get(row) ?? Date.now()) - row.uptime_seconds * 1_000;
  const shown = sinceOf.get(row.name);
  if (shown?.server === row.server && Math.abs(shown.since - since) < SAME_WITHIN_MS) return shown.since;
  sinceOf.set(row.name, { server: row.server, since });
  return since;
}

/**
 * What `GET /api/<name>` answers. It is read when the first component shows it, and again after each event that may
 * have changed it; nothing is polled. What is not wanted is not read.
 */
export function useAnswer<Name extends Resource>(name: Name, isWanted = true): Loaded<Answers[Name]> {
  useEffect(() => (isWanted ? show(name) : undefined), [name, isWanted]);
  return answerOf(name).value ?? { state: "loading" };
}

/** Keeps an answer fresh until the returned function is called. */
export function show(name: Resource): () => void {
  users.set(name, (users.get(name) ?? 0) + 1);
  const answer = answerOf(name);
  if (answer.value === undefined) {
    // So that other components do not read it as well.
    answer.value = { state: "loading" };
    void refresh(name);
  }
  return () => void users.set(name, (users.get(name) ?? 1) - 1);
}

/** The value of an answer, or null while it is not known. */
export function knownOf<T>(answer: Loaded<T>): T | null {
  return answer.state === "ready" ? answer.value : null;
}

/** Why an answer could not be had, as a sentence; null if it is there or awaited. */
export function faultOf(answer: Loaded<unknown>): string | null {
  return answer.state === "failed" ? answer.error : null;
}

/** Reads an answer again. There is one read at a time; a change during it, or soon after, makes another one follow. */
export async function refresh(name: Resource): Promise<void> {
  const read = reading.get(name);
  if (read !== undefined) {
    read.isStale = true;
    return;
  }
  reading.set(name, { isStale: false });
  await heard.promise;
  await readNow(name, PAUSE_MS);
}

async function readNow(name: Resource, pauseMs: number): Promise<void> {
  const read: Read = { isStale: false };
  reading.set(name, read);
  // The status comes by the socket.
  const isRead = name === "status" || (await load(name));
  void followUp(name, read, isRead, pauseMs);
}

async function followUp(name: Resource, read: Read, isRead: boolean, pauseMs: number): Promise<void> {
  const pause = name === "checks" ? CHECKS_KEPT_MS : isRead ? pauseMs : FAILED_PAUSE_MS;
  await new Promise((resolve) => setTimeout(resolve, pause));
  // The gateway was lost meanwhile, and everything was read again.
  if (reading.get(name) !== read) return;
  const isDue = !isRead && isShown(name) && connection.value.name === "live";
  reading.delete(name);
  if (read.isStale || isDue) await refresh(name);
}

/** Reads everything again that is shown; the rest is forgotten. Resolves to whether all of it is there. */
export async function refreshAll(): Promise<boolean> {
  // All first reads have waited for this.
  if (!isHeard) {
    isHeard = true;
    heard.resolve();
    return true;
  }
  const names = askedFor().filter((name) => name !== "status");
  const shown = names.filter(isShown);
  for (const name of names) if (!isShown(name)) answerOf(name).value = undefined;
  // A gateway that has just started tells more in the next moments, for which nothing pauses.
  await Promise.all(shown.map((name) => readNow(name, 0)));
  return shown.every((name) => !unheard.has(name));
}

/** Ends the reads under way: on a connection to a gateway that was lost, an answer may never come, or be an old one. */
export function endReads(): void {
  for (const { ending } of under.values()) ending.abort();
}

/** Applies an event to what is known, and reads again what it has made stale. */
export function apply(event: EventMessage): void {
  if (event.type === "status_change") answerOf("status").value = { state: "ready", value: event.payload };
  if (event.type === "tunnel_update" || event.type === "tunnel_removed") applyTunnel(event);
  // A gateway of another version may say less.
  for (const path of event.stale ?? []) outdate(path.slice(API.length) as Resource);
}

const API = "/api/";

/** To be read again, now or when it is shown next. */
function outdate(name: Resource): void {
  if (!isShown(name)) answerOf(name).value = undefined;
  // All that is shown is read once the gateway is back; after that has begun, what changes is read again.
  else if (!isLost.value || reading.has(name)) void refresh(name);
}

type TunnelEvent = Extract<EventMessage, { type: "tunnel_update" | "tunnel_removed" }>;

function applyTunnel({ type, payload }: TunnelEvent): void {
  // What is being read may be older than the event.
  if (reading.has("tunnels") || under.has("tunnels")) void refresh("tunnels");
  const known = answerOf("tunnels").value;
  if (known?.state !== "ready") return;
  const others = known.value.tunnels.filter(({ name }) => name !== payload.name);
  setTunnels({ tunnels: type === "tunnel_removed" ? others : [...others, payload].sort(mainFirst) });
}

function setTunnels(value: Answers["tunnels"]): void {
  const tunnels = value.tunnels.map(inTheirWords);
  for (const row of tunnels) if (!cameAt.has(row)) cameAt.set(row, Date.now());
  answerOf("tunnels").value = { state: "ready", value: { ...value, tunnels } };
}

/** A row that is known already stays the same one. */
function inTheirWords(row: TunnelRow): TunnelRow {
  const location = placeText(row.location);
  return location === row.location ? row : { ...row, location };
}

function mainFirst(one: { name: string }, two: { name: string }): number {
  if (one.name === "main" || two.name === "main") return one.name === "main" ? -1 : 1;
  return one.name < two.name ? -1 : 1;
}

function isShown(name: Resource): boolean {
  return (users.get(name) ?? 0) > 0;
}

/** Returns whether it was read. An earlier read of the same that is still under way no longer counts. */
function load(name: Resource): Promise<boolean> {
  under.get(name)?.ending.abort();
  const ending = new AbortController();
  const done = take(name, ending.signal).finally(() => {
    if (under.get(name)?.ending === ending) under.delete(name);
  });
  under.set(name, { ending, done });
  return done;
}

async function take<Name extends Resource>(name: Name, signal: AbortSignal): Promise<boolean> {
  const isLatest = () => under.get(name)?.ending.signal === signal;
  try {
    const value = await readTogether(name, signal);
    if (!isLatest()) return under.get(name)?.done ?? true;
    unheard.delete(name);
    if (name === "tunnels") setTunnels(value as Answers["tunnels"]);
    else answerOf(name).value = { state: "ready", value };
    if (name === "killswitch") agree(value as Answers["killswitch"]);
    return true;
  } catch (error) {
    if (!isLatest()) return under.get(name)?.done ?? true;
    fail(name, error, signal.aborted || (error instanceof ApiError && error.status === null));
    return false;
  }
}

function fail(name: Resource, error: unknown, isSilent: boolean): void {
  if (isSilent) unheard.add(name);
  else unheard.delete(name);
  // Until it is read again, what was known stays; after a loss it is shown as old.
  const answer = answerOf(name);
  if (isSilent && answer.value?.state === "ready") return;
  answer.value = {
    state: "failed",
    error: error instanceof Error ? error.message : say("It could not be read."),
  };
}

/** No event tells the status that the kernel has another kill switch than before. */
function agree({ active, direct_devices }: Answers["killswitch"]): void {
  const status = answerOf("status");
  if (status.value?.state !== "ready") return;
  const value = { ...status.value.value, killswitch_active: active, direct_devices };
  status.value = { state: "ready", value };
}
