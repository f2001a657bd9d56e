import {
  type Address,
  addressOf,
  contains,
  familyOf,
  isLinkLocal,
  lengthOf,
  mustParsePrefix,
  networkOf,
  overlap,
  type Prefix,
} from "../base/address.ts";
import { type Cable, type Lan, lanPrefixOf } from "./lan.ts";

/** The interface of a mesh: its devices come in by it, each with the address that the mesh has proven. */
export interface Mesh extends Lan {
  mesh: true;
  /** The gateway's own addresses in the mesh. */
  addresses: readonly Address[];
  /** What is not among the prefixes, because something else has addresses of it. */
  closed: readonly Prefix[];
}

/** RFC 6598. Tailscale, headscale and NetBird give their devices addresses of it. */
const SHARED = mustParsePrefix("100.64.0.0/10");
/** Of a unique local address, the site's prefix (RFC 4193). */
const SITE_LENGTH = 48;

/**
 * The meshes that root has named and that are there. An address that another interface has, too, would lead to two
 * places: then the mesh's prefix does not count, and nothing of it comes in.
 */
export function meshesIn(cables: readonly Cable[], named: readonly string[]): Mesh[] {
  return cables
    .filter((cable) => named.includes(cable.interface))
    .map((cable) => {
      const taken = cables.flatMap((other) => (other === cable ? [] : other.addresses));
      return without(meshOn(cable), (prefix) => taken.some((each) => overlap(each, prefix)));
    })
    .filter(({ prefixes, closed }) => prefixes.length + closed.length > 0);
}

/** The mesh without the prefixes that something else has addresses of. */
export function without(mesh: Mesh, isTaken: (prefix: Prefix) => boolean): Mesh {
  return {
    ...mesh,
    prefixes: mesh.prefixes.filter((prefix) => !isTaken(prefix)),
    closed: [...mesh.closed, ...mesh.prefixes.filter(isTaken)],
  };
}

function meshOn({ interface: name, addresses }: Cable): Mesh {
  const prefixes = addresses.flatMap((address) => meshPrefixOf(address) ?? []);
  return {
    ...{ interface: name, mesh: true, prefixes: [...new Set(prefixes)].sort() },
    addresses: addresses.map(addressOf).filter((address) => !isLinkLocal(address)),
    closed: [],
  };
}

/**
 * The addresses of a mesh's devices, from the gateway's own. It has often no more than a single one: then they are the
 * whole block that such addresses are from. Null if that is not known.
 */
export function meshPrefixOf(prefix: Prefix): Prefix | null {
  const address = addressOf(prefix);
  if (isLinkLocal(address)) return null;
  const isSingle = lengthOf(prefix) === (familyOf(prefix) === 4 ? 32 : 128);
  if (contains(SHARED, address)) return isSingle ? SHARED : withinShared(prefix);
  if (!isSingle) return lanPrefixOf(prefix);
  return familyOf(prefix) === 6 && lanPrefixOf(prefix) !== null ? networkOf(prefix, SITE_LENGTH) : null;
}

/** Whether all of it can be a mesh's beside private addresses. */
export function isShared(prefix: Prefix): boolean {
  return (
    familyOf(prefix) === 4 && contains(SHARED, addressOf(prefix)) && lengthOf(prefix) >= lengthOf(SHARED)
  );
}

function withinShared(prefix: Prefix): Prefix {
  return networkOf(prefix, Math.max(lengthOf(prefix), lengthOf(SHARED)));
}
