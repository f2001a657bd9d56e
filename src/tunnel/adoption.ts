import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { MARK_MASK, type Slot } from "../network/slot.ts";
import type { Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import type { Interface } from "../wireguard/interface.ts";
import { publicKeyOf } from "../wireguard/key.ts";
import { SESSION_ENDS_MS } from "./health.ts";
import type { Kernel } from "./kernel.ts";
import type { SavedState } from "./saved-state.ts";
import { sessionOn, usableOn } from "./session.ts";
import type { State } from "./state.ts";

interface Deps {
  host: Host;
  kernel: Kernel;
  savedState: SavedState;
  log: Pick<Log, "warn">;
  slot: Slot;
}

/** What an earlier process has left, and what may identify it. */
interface Found {
  /** The tunnel's interfaces that exist. */
  present: readonly string[];
  servers: readonly Server[];
  network: HostNetwork;
}

/** The state of an earlier process's tunnel, if routes lead to its interface and its server is known; else null. */
export async function adopted(
  { host, kernel, savedState, slot, log }: Deps,
  { present, servers, network }: Found,
): Promise<State | null> {
  const routed = await kernel.routedLinks();
  const remembered = savedState.connection();
  for (const link of present.filter((name) => routed.includes(name))) {
    const device = await kernel.device(link);
    const candidates = device === null ? [] : servers.filter((server) => isServerOf(device, server, slot));
    const server =
      candidates.find((one) => one.provider === remembered?.provider && one.name === remembered.name) ??
      candidates[0];
    if (server === undefined || device?.peer?.endpoint == null) continue;
    const began =
      remembered?.name === server.name ? remembered.since : device.peer.latestHandshake || host.now();
    const since = host.monotonic() - Math.max(0, host.now() - began);
    const usable = usableNow(network, server, log);
    if (usable === null) continue;
    const session = sessionOn(slot, link === slot.links[0] ? 0 : 1, usable, device.peer.endpoint);
    return network.online && host.now() - device.peer.latestHandshake < SESSION_ENDS_MS
      ? { name: "connected", session, since }
      : { name: "reconnecting", server, session, since };
  }
  return null;
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

/** Whether an interface is our tunnel to that server: both keys and the mark match. */
function isServerOf(device: Interface, { config }: Server, { mark }: Slot): boolean {
  return (
    (device.fwmark & MARK_MASK) === mark &&
    device.peer?.publicKey === config.peer.publicKey &&
    device.publicKey === publicKeyOf(config.interface.privateKey)
  );
}
