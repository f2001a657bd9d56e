import { isLoopback } from "../base/address.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { MARK_MASK, type Slot } from "../network/slot.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import { keyedLike } from "../servers/quantum.ts";
import type { Server } from "../servers/schema.ts";
import { reachedLike } from "../servers/transport.ts";
import { demandedBy } from "../servers/ways.ts";
import type { Host } from "../system/host.ts";
import type { Interface } from "../wireguard/interface.ts";
import { publicKeyOf } from "../wireguard/key.ts";
import { configIn } from "../wireguard/schema.ts";
import type { Connection } from "./connection.ts";
import { SESSION_ENDS_MS } from "./health.ts";
import type { Kernel } from "./kernel.ts";
import { routedPrefixes } from "./routes.ts";
import type { SavedState } from "./saved-state.ts";
import { sessionOn, usableOn } from "./session.ts";
import type { State } from "./state.ts";

/**
 * The servers. They are looked up only if a tunnel is found or was up before, because a provider may have thousands.
 */
export type Known = Pick<Catalogue, "all" | "server" | "reachedAt">;

interface Deps {
  host: Host;
  kernel: Kernel;
  savedState: SavedState;
  log: Pick<Log, "warn">;
  /** The tunnel's name. */
  name: string;
  slot: Slot;
}

/** What an earlier process has left, and the facts that may identify it. */
interface Found {
  /** The tunnel's interfaces that exist. */
  present: readonly string[];
  known: Known;
  network: HostNetwork;
}

/** The state of an earlier process's tunnel, if routes lead to its interface and its server is known; else null. */
export async function adopted(
  { host, kernel, savedState, name, slot, log }: Deps,
  { present, known, network }: Found,
): Promise<State | null> {
  const routed = await kernel.routed();
  const remembered = savedState.connection(name);
  for (const link of present.filter((each) => routed.has(each))) {
    const device = await kernel.device(link);
    const isServer = (server: Server) => device !== null && isServerOf(device, server, slot);
    const last = remembered && rememberedServer(remembered, known);
    if (last !== null && device !== null && isKeyedAnew(device, last, slot)) {
      const since = host.monotonic() - Math.max(0, host.now() - (remembered?.since ?? host.now()));
      return { name: "reconnecting", server: last, session: null, dead: true, since };
    }
    const found = last !== null && isServer(last) ? last : known.all().find(isServer);
    if (found === undefined || device?.peer?.endpoint == null) continue;
    // An interface inside which keys were just being agreed on has no route of its server's.
    const prefixes = routedPrefixes(found.config);
    if (!routed.get(link)?.some((prefix) => prefix !== null && prefixes.includes(prefix))) continue;
    // Its relay has ended with the service: it carries nothing until another one is up.
    const isRelayed = isLoopback(device.peer.endpoint.address) || demandedBy(found) !== null;
    const server = isRelayed ? found : known.reachedAt(found, device.peer.endpoint);
    const isLast = remembered?.name === server.name && remembered.via === server.via?.name;
    const began = isLast ? remembered.since : device.peer.latestHandshake || host.now();
    const since = host.monotonic() - Math.max(0, host.now() - began);
    const usable = usableNow(network, server, log);
    if (usable === null) continue;
    // It has its own keys still, and others have been required meanwhile.
    const isTooWeak = usable.quantum === "require";
    if (isRelayed || isTooWeak)
      return { name: "reconnecting", server: usable, session: null, dead: true, since };
    const session = sessionOn(slot, link === slot.links[0] ? 0 : 1, usable, device.peer.endpoint);
    return network.online && host.now() - device.peer.latestHandshake < SESSION_ENDS_MS
      ? { name: "connected", session, since, unanswered: null }
      : { name: "reconnecting", server, session, dead: true, since };
  }
  return null;
}

/**
 * The server of a connection. A server whose provider assigned the connection is as it was then, because each list of
 * its provider may name others.
 */
export function rememberedServer(
  { provider, name, via, transport, quantum, assigned }: Connection,
  known: Known,
): Server | null {
  const config = assigned && configIn(assigned.config);
  const server =
    !assigned || !config || provider !== "managed"
      ? known.server(provider, name, via)
      : { ...assigned, provider, name, config, registers: true as const };
  const asked = { ...(transport && { transport }), ...(quantum && { quantum }) };
  // Its list may no longer say that it can be reached as was asked.
  return server && (reachedLike(server, asked) ?? keyedLike(server, asked));
}

/** Null if the server cannot be used on the machine's present network. */
function usableNow(network: HostNetwork, server: Server, log: Deps["log"]): Server | null {
  try {
    return usableOn(network, server);
  } catch (error) {
    log.warn(`not adopting the tunnel that is up: ${messageOf(error)}`);
    return null;
  }
}

/**
 * Whether an interface is our tunnel to that server with keys that ended with the process, or without those that it
 * requires: other ones have to be agreed on.
 */
function isKeyedAnew(device: Interface, server: Server, slot: Slot): boolean {
  const { quantum, config } = server;
  if (quantum === undefined || device.peer?.publicKey !== config.peer.publicKey) return false;
  const isOwn = (device.fwmark & MARK_MASK) === slot.mark;
  return isOwn && (quantum === "require" || !isServerOf(device, server, slot));
}

/** Whether an interface is our tunnel to that server: both keys and the mark match. */
function isServerOf(device: Interface, { config }: Server, { mark }: Slot): boolean {
  return (
    (device.fwmark & MARK_MASK) === mark &&
    device.peer?.publicKey === config.peer.publicKey &&
    device.publicKey === publicKeyOf(config.interface.privateKey)
  );
}
