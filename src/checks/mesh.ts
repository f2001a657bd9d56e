import { type Address, contains, type Prefix } from "../base/address.ts";
import { meshesBeside } from "../network/entrances.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Mesh } from "../network/mesh.ts";
import { isOwnMark } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { showRules } from "../system/ip.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** Null without a mesh. No mesh may have addresses of `taken`. */
export async function meshFinding(
  host: Pick<Host, "run">,
  found: HostNetwork,
  named: readonly string[],
  taken: readonly Prefix[],
): Promise<Finding | null> {
  if (named.length === 0) return null;
  const { meshes, resolvers } = meshesBeside(found, taken);
  const missing = named.find((link) => !meshes.some((mesh) => mesh.interface === link));
  if (missing !== undefined) return warning("mesh_missing", { link: missing });
  const [closed] = meshes.flatMap((mesh) => mesh.closed.map((prefix) => ({ link: mesh.interface, prefix })));
  if (closed !== undefined) return warning("mesh_closed", closed);
  const rule = await collidingRule(host);
  if (rule !== null) return warning("mesh_marks", { rule });
  const own = resolvers.find((each) => isIn(each, meshes));
  if (own !== undefined) return warning("mesh_dns", { resolver: own });
  return ok("mesh", { meshes: meshes.map(wordsOf).join("; ") });
}

function wordsOf({ interface: link, prefixes }: Mesh): string {
  return `${link} (${prefixes.join(", ")})`;
}

function isIn(address: Address, meshes: readonly Mesh[]): boolean {
  return meshes.some(({ prefixes }) => prefixes.some((prefix) => contains(prefix, address)));
}

/** A routing rule of another program that takes a mark of the gateway's for its own; null without one. */
async function collidingRule(host: Pick<Host, "run">): Promise<string | null> {
  const rules = await showRules(host, 4);
  const found = rules.find(
    ({ priority, fwmark, fwmask = "0xffffffff" }) =>
      priority >= FIRST_OF_OTHERS && fwmark !== undefined && isOwnMark(Number(fwmark), Number(fwmask)),
  );
  return found === undefined ? null : `${found.priority} fwmark ${found.fwmark}`;
}

/** Those before it are the gateway's own. */
const FIRST_OF_OTHERS = 100;
