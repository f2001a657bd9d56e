import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";
import { type HostNetwork, hostNetworkOf } from "./host-network.ts";
import { type Roles, rolesAfter } from "./lan.ts";

/** Where the interfaces' roles are kept over a restart. */
export interface RolesMemory {
  roles(): Roles;
  saveRoles(roles: Roles): void;
  /** The last interface with a default route. */
  uplink(): string | null;
  saveUplink(uplink: string): void;
}

/**
 * Looks the machine's own network up, remembers which cable is the LAN's and which the uplink's, and warns of what is
 * new and odd about it.
 */
export function linksFinder(
  host: Host,
  settings: Settings,
  savedState: RolesMemory,
  log: Pick<Log, "warn">,
): () => Promise<HostNetwork> {
  let roles = savedState.roles();
  let lastUplink = savedState.uplink();
  let told: readonly string[] = [];
  const remember = (network: HostNetwork) => {
    rememberRoles(network);
    rememberUplink(network.uplink);
  };
  const rememberUplink = (uplink: string | null) => {
    if (settings.uplink !== null || uplink === null || uplink === lastUplink) return;
    // Whatever routes say, a LAN's interface is none.
    if (roles.lan.includes(uplink)) return;
    lastUplink = uplink;
    savedState.saveUplink(uplink);
  };
  const rememberRoles = (network: HostNetwork) => {
    if (settings.lan.length > 0) return;
    const after = rolesAfter(roles, network.lans, network.uplink);
    if (Bun.deepEquals(after, roles)) return;
    // Known until the service ends, whatever the disk says.
    roles = after;
    savedState.saveRoles(after);
  };
  return async () => {
    let network = await hostNetworkOf(host, settings, roles);
    try {
      remember(network);
    } catch (error) {
      log.warn(`after a restart it may not be known which interface is which: ${messageOf(error)}`);
    }
    // The kernel takes a default route back only by the rules of an uplink that is known.
    if (network.uplink === null && lastUplink !== null)
      network = await hostNetworkOf(host, { ...settings, uplink: lastUplink }, roles);
    for (const remark of network.remarks) if (!told.includes(remark)) log.warn(remark);
    told = network.remarks;
    return network;
  };
}
