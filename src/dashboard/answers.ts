import { useEffect } from "preact/hooks";
import type { GatewayEvent } from "../http/event.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { ApiError, read } from "./api.ts";
import { type Answers, getState, type Loaded, type Resource, setAnswer, useStore } from "./store.ts";

/** Which answers an event may have changed. Those that are shown are read again. */
const STALE_AFTER: Readonly<Partial<Record<GatewayEvent["type"], readonly Resource[]>>> = {
  status_change: ["servers/counts", "killswitch", "network"],
  tunnel_update: ["events", "checks", "killswitch", "favourites", "round-trips"],
  tunnel_removed: ["devices", "checks"],
  server_update: ["servers", "servers/counts", "favourites"],
  device_update: ["devices", "devices/self"],
  security_alert: ["events", "checks", "killswitch", "devices"],
};

/** Between the end of a read and the next of the same: a burst of events costs one read a second. */
const PAUSE_MS = 1_000;
/** The gateway keeps the results of its checks so long. */
const CHECKS_PAUSE_MS = 5_000;

/** How many components show each answer. */
const users = new Map<Resource, number>();
/** The reads under way; true if something has changed since one began. */
const reading = new Map<Resource, boolean>();

/** Resolves when the gateway is first heard: what is read before that may be older than the first event. */
const heard = Promise.withResolvers<void>();
let isHeard = false;

/** When a tunnel's row came, in milliseconds since 1970. */
const cameAt = new WeakMap<TunnelRow, number>();

/** Since when a tunnel is connected, by this browser's clock. */
export function connectedSince(row: TunnelRow): number {
  return (cameAt.get(row) ?? Date.now()) - row.uptime_seconds * 1_000;
}

/**
 * What `GET /api/<name>` answers. It is read when the first component shows it, and again after each event that may
 * have changed it; nothing is polled.
 */
export function useAnswer<Name extends Resource>(name: Name): Loaded<Answers[Name]> {
  const answer = useStore(({ answers }) => answers[name]) as Loaded<Answers[Name]> | undefined;
  useEffect(() => {
    users.set(name, (users.get(name) ?? 0) + 1);
    if (getState().answers[name] === undefined) {
      // So that other components do not read it as well.
      setAnswer(name, { state: "loading" });
      void refresh(name);
    }
    return () => void users.set(name, (users.get(name) ?? 1) - 1);
  }, [name]);
  return answer ?? { state: "loading" };
}

/** The value of an answer, or null while it is not known. */
export function knownOf<T>(answer: Loaded<T>): T | null {
  return answer.state === "ready" ? answer.value : null;
}

/** Reads an answer again. There is one read at a time; a change during it, or soon after, makes another one follow. */
export async function refresh(name: Resource): Promise<void> {
  if (reading.has(name)) {
    reading.set(name, true);
    return;
  }
  reading.set(name, false);
  await heard.promise;
  reading.set(name, false);
  // The status comes by the socket.
  if (name !== "status") await load(name);
  void followUp(name);
}

async function followUp(name: Resource): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, name === "checks" ? CHECKS_PAUSE_MS : PAUSE_MS));
  const again = reading.get(name) === true;
  reading.delete(name);
  if (again) await refresh(name);
}

/** Reads everything again that is shown; the rest is forgotten. Resolves when all of it is there. */
export async function refreshAll(): Promise<void> {
  // All first reads have waited for this.
  if (!isHeard) {
    isHeard = true;
    return heard.resolve();
  }
  const names = Object.keys(getState().answers) as Resource[];
  const shown = names.filter((name) => name !== "status" && isShown(name));
  for (const name of names) if (name !== "status" && !shown.includes(name)) setAnswer(name, undefined);
  await Promise.all(shown.map((name) => load(name)));
}

/** Applies an event to what is known, and reads again what it does not say. */
export function apply(event: GatewayEvent): void {
  if (event.type === "status_change") applyStatus(event.payload);
  if (event.type === "tunnel_update" || event.type === "tunnel_removed") applyTunnel(event);
  for (const name of STALE_AFTER[event.type] ?? []) {
    if (isShown(name)) void refresh(name);
    else if (getState().answers[name] !== undefined) setAnswer(name, undefined);
  }
}

function applyStatus(status: Answers["status"]): void {
  setAnswer("status", { state: "ready", value: status });
  const { servers } = getState().answers;
  if (servers?.state !== "ready" || servers.value.provider === status.provider) return;
  if (isShown("servers")) void refresh("servers");
  else setAnswer("servers", undefined);
}

type TunnelEvent = Extract<GatewayEvent, { type: "tunnel_update" | "tunnel_removed" }>;

function applyTunnel({ type, payload }: TunnelEvent): void {
  // What is being read may be older than the event.
  if (reading.has("tunnels")) reading.set("tunnels", true);
  const known = getState().answers.tunnels;
  if (known?.state !== "ready") return;
  const others = known.value.tunnels.filter(({ name }) => name !== payload.name);
  const rows = type === "tunnel_removed" ? others : [...others, payload].sort(mainFirst);
  // A new tunnel is an exit that devices can have.
  if (rows.length > known.value.tunnels.length && isShown("devices")) void refresh("devices");
  setTunnels({ tunnels: rows });
}

function setTunnels(value: Answers["tunnels"]): void {
  for (const row of value.tunnels) if (!cameAt.has(row)) cameAt.set(row, Date.now());
  setAnswer("tunnels", { state: "ready", value });
}

function mainFirst(one: { name: string }, two: { name: string }): number {
  if (one.name === "main" || two.name === "main") return one.name === "main" ? -1 : 1;
  return one.name < two.name ? -1 : 1;
}

function isShown(name: Resource): boolean {
  return (users.get(name) ?? 0) > 0;
}

async function load<Name extends Resource>(name: Name): Promise<void> {
  try {
    const value = await read<Answers[Name]>(name);
    if (name === "tunnels") setTunnels(value as Answers["tunnels"]);
    else setAnswer(name, { state: "ready", value });
  } catch (error) {
    // After a loss everything is read again: until then, what was known stays, and is shown as old.
    if (error instanceof ApiError && error.status === null && getState().answers[name]?.state === "ready")
      return;
    setAnswer(name, {
      state: "failed",
      error: error instanceof Error ? error.message : "It could not be read.",
    });
  }
}
