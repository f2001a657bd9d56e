import { isWithin, type Prefix } from "../base/address.ts";
import type { Lan } from "../network/lan.ts";
import { byFamily } from "./match.ts";
import type { Policy } from "./policy.ts";

type Lans = Pick<Policy, "lans">;

/** The networks of the LAN itself, on cables and in the air. */
export function cabled({ lans }: Lans): Lan[] {
  return lans.filter(({ mesh }) => !mesh);
}

/** The mesh that the devices with these addresses come by; undefined if it is none. */
export function meshOf(prefix: Prefix, { lans }: Lans): Lan | undefined {
  return lans.find(({ mesh, prefixes }) => mesh && prefixes.some((each) => isWithin(prefix, each)));
}

/**
 * Ahead of all that accepts known connections. Without the routes to a mesh's devices, answers to them take the default
 * route: with one card they would leave by the interface that they came in by, as if for the LAN.
 */
export function keepInMeshes({ lans }: Lans): string[] {
  return lans.flatMap(({ interface: link, mesh, prefixes }) =>
    mesh
      ? byFamily("daddr", prefixes).map(
          (to) => `oifname != "${link}" ${to} drop comment "no other way leads to the mesh's devices"`,
        )
      : [],
  );
}
