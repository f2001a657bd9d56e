import { messageOf } from "../base/errors.ts";
import { INTERFACE_NAME } from "../base/interface-name.ts";
import type { Log } from "../base/log.ts";
import { Saved, type Texts } from "../base/saved.ts";
import type { Settings } from "../base/settings.ts";
import type { Host } from "../system/host.ts";
import {
  type HostNetwork,
  networkIn,
  type Reading,
  readNetwork,
  uplinkWithoutDefault,
} from "./host-network.ts";
import { ROLES, rolesAfter } from "./lan.ts";

/** The last interface with a default route, if the gateway works with its name. */
const UPLINK = new Saved("uplink", (text) => (INTERFACE_NAME.test(text ?? "") ? text : null), String);

/** Reads the machine's own network, or derives it from an earlier reading. */
export type FindNetwork = (reading?: Reading) => Promise<HostNetwork>;

/**
 * Reads the machine's own network, remembers which interfaces are the LAN's and which is the uplink, and logs new remarks
 * about it.
 */
export function networkFinder(
  host: Host,
  settings: Settings,
  savedState: Texts,
  log: Pick<Log, "warn">,
): FindNetwork {
  let roles = ROLES.read(savedState);
  let lastUplink = UPLINK.read(savedState);
  let logged: readonly string[] = [];
  /** Both are kept in memory even if they cannot be saved. */
  const remember = (network: HostNetwork) => {
    const [hasRoles, hasUplink] = [takesRoles(network), takesUplink(network.uplink)];
    if (hasRoles) ROLES.write(savedState, roles);
    if (hasUplink) UPLINK.write(savedState, lastUplink);
  };
  const takesRoles = (network: HostNetwork) => {
    if (settings.lan.length > 0) return false;
    const after = rolesAfter(roles, network.lans, network.uplink);
    if (Bun.deepEquals(after, roles)) return false;
    roles = after;
    return true;
  };
  const takesUplink = (uplink: string | null) => {
    if (settings.uplink !== null || uplink === null || uplink === lastUplink) return false;
    // An interface of the LAN never counts, whatever the routes say.
    if (roles.lan.includes(uplink)) return false;
    lastUplink = uplink;
    return true;
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
