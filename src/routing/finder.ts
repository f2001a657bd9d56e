import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";
import { type Roles, rolesAfter } from "./lan.ts";
import { type Links, linksOf } from "./links.ts";

/** Where the interfaces' roles are kept over a restart. */
export interface RolesMemory {
  roles(): Roles;
  saveRoles(roles: Roles): void;
}

/** Looks the machine's own network up, remembers which cable is the LAN's, and warns of what is new and odd about it. */
export function linksFinder(
  host: Host,
  settings: Settings,
  memory: RolesMemory,
  log: Pick<Log, "warn">,
): () => Promise<Links> {
  let roles = memory.roles();
  let told: readonly string[] = [];
  const remember = (links: Links) => {
    if (settings.lan.length > 0) return;
    const after = rolesAfter(roles, links.lans, links.uplink);
    if (Bun.deepEquals(after, roles)) return;
    // Known until the service ends, whatever the disk says.
    roles = after;
    memory.saveRoles(after);
  };
  return async () => {
    const links = await linksOf(host, settings, roles);
    try {
      remember(links);
    } catch (error) {
      log.warn(`after a restart it may not be known which interface is the LAN's: ${messageOf(error)}`);
    }
    for (const remark of links.remarks) if (!told.includes(remark)) log.warn(remark);
    told = links.remarks;
    return links;
  };
}
