import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import type { Host } from "../system/host.ts";
import {
  type HostNetwork,
  networkIn,
  type Reading,
  readNetwork,
  uplinkWithoutDefault,
} from "./host-network.ts";
import { type Roles, rolesAfter } from "./lan.ts";

/** Keeps the interfaces' roles across restarts. */
export interface SavedRoles {
  roles(): Roles;
  saveRoles(roles: Roles): void;
  /** The last interface with a default route. */
  uplink(): string | null;
  saveUplink(uplink: string): void;
}

/** Reads the machine's own network, or derives it from an earlier reading. */
export type FindNetwork = (reading?: Reading) => Promise<HostNetwork>;

/**
 * Reads the machine's own network, remembers which interfaces are the LAN's and which is the uplink, and logs new remarks
 * about it.
 */
export function networkFinder(
  host: Host,
  settings: Settings,
  savedState: SavedRoles,
  log: Pick<Log, "warn">,
): FindNetwork {
  let roles = savedState.roles();
  let lastUplink = savedState.uplink();
  let logged: readonly string[] = [];
  const remember = (network: HostNetwork) => {
    rememberRoles(network);
    rememberUplink(network.uplink);
  };
  const rememberUplink = (uplink: string | null) => {
    if (settings.uplink !== null || uplink === null || uplink === lastUplink) return;
    // An interface of the LAN never counts, whatever the routes say.
    if (roles.lan.includes(uplink)) return;
    lastUplink = uplink;
    savedState.saveUplink(uplink);
  };
  const rememberRoles = (network: HostNetwork) => {
    if (settings.lan.length > 0) return;
    const after = rolesAfter(roles, network.lans, network.uplink);
    if (Bun.deepEquals(after, roles)) return;
    // The value is kept in memory even if it cannot be saved.
    roles = after;
    savedState.saveRoles(after);
  };
  return async (read) => {
    const reading = read ?? (await readNetwork(host));
    let network = networkIn(reading, settings, roles);
    try {
      remember(network);
    } catch (error) {
      log.warn(
        `the roles of the interfaces could not be saved and may be unknown after a restart: ${messageOf(error)}`,
      );
    }
    // The kernel accepts a returning default route only by the rules of a known uplink.
    const uplink = lastUplink ?? uplinkWithoutDefault(reading, settings);
    if (network.uplink === null && uplink !== null)
      network = networkIn(reading, { ...settings, uplink }, roles);
    for (const remark of network.remarks) if (!logged.includes(remark)) log.warn(remark);
    logged = network.remarks;
    return network;
  };
}
