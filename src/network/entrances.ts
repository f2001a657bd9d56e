import { type Address, contains, familyOf, overlap, type Prefix } from "../base/address.ts";
import type { HostNetwork } from "./host-network.ts";
import { without } from "./mesh.ts";

/**
 * The network with its meshes as further networks of the LAN. The routes to their devices are in no table that another
 * program could flush.
 */
export function withMeshes(network: HostNetwork): HostNetwork {
  const meshes = network.meshes.filter(({ prefixes }) => prefixes.length > 0);
  if (meshes.length === 0) return network;
  const all = meshes.flatMap(({ interface: name, prefixes, addresses }) =>
    prefixes.map((prefix) => ({ prefix, interface: name, source: sourceIn(prefix, addresses) })),
  );
  return {
    ...network,
    lans: [
      ...network.lans,
      ...meshes.map(({ interface: name, prefixes }) => ({ interface: name, prefixes, mesh: true })),
    ],
    lanRoutes: [
      ...network.lanRoutes,
      ...all.map(({ prefix, interface: name }) => ({ prefix, via: null, interface: name })),
    ],
    linkRoutes: [...network.linkRoutes, ...all],
  };
}

/** The network without prefixes of meshes that have addresses of these: what is for a tunnel is not for a mesh. */
export function meshesBeside(network: HostNetwork, taken: readonly Prefix[]): HostNetwork {
  if (network.meshes.length === 0) return network;
  const isTaken = (prefix: Prefix) => taken.some((each) => overlap(each, prefix));
  return { ...network, meshes: network.meshes.map((mesh) => without(mesh, isTaken)) };
}

/** The kernel chooses one for IPv6. */
function sourceIn(prefix: Prefix, addresses: readonly Address[]): Address | null {
  return familyOf(prefix) === 6 ? null : (addresses.find((address) => contains(prefix, address)) ?? null);
}
