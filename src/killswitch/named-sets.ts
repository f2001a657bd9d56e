import { type Address, familyOf, mustParseAddress } from "../base/address.ts";
import { anyOf, headerOf, tableSet } from "./match.ts";
import type { Destination, Exit, Policy } from "./policy.ts";

type Family = 4 | 6;
const FAMILIES = [4, 6] as const;
/** An address that nothing has. A packet looks it up by this mask, and so learns whether the set has been emptied. */
export const NO_ADDRESS: Readonly<Record<Family, Address>> = {
  4: mustParseAddress("0.0.0.0"),
  6: mustParseAddress("::"),
};
/** Of the hash of the devices: 48 bits. */
const HASH_LETTERS = 12;

/** The destinations with names that are for the same devices and have the same exit. They share sets. */
interface Group {
  devices: Destination["devices"];
  exit: Exit;
  addresses: readonly Address[];
}

/**
 * The sets of the addresses that names have now, one for each group and family. They exist even while they are empty, so
 * that a new address changes only elements. They are sets of single addresses, which keep their elements while the
 * table is replaced (Linux 6.18), and the kernel ends no element by itself: what it has is what was loaded.
 */
export function namedSets({ destinations = [] }: Pick<Policy, "destinations">): string[] {
  return groupsIn(destinations).flatMap(({ addresses, ...group }) =>
    FAMILIES.map((family) => {
      const own = addresses.filter((address) => familyOf(address) === family);
      return tableSet(namedSet(group, family), `ipv${family}_addr`, [NO_ADDRESS[family], ...own]);
    }),
  );
}

/** How the packets of a group are told from others. */
interface LookUp {
  senders: (devices: Destination["devices"]) => string;
  to: (exit: Exit) => string;
  /** Where packets go on to if nobody knows what the names have. */
  blocked: string;
  comment: string;
}

/**
 * Look-ups in the sets. Where more than one has an address, the first that is not direct counts: what is direct leaves
 * outside the tunnel.
 */
export function lookUpNames(
  destinations: readonly Destination[],
  family: Family,
  { senders, to, blocked, comment }: LookUp,
): string[] {
  return groupsIn(destinations).flatMap(({ devices, exit }) => {
    const from = senders(devices);
    const set = `@${namedSet({ devices, exit }, family)}`;
    const daddr = `${headerOf(family)} daddr`;
    return [
      `${from}${daddr} ${set} goto ${to(exit)} ${comment}`,
      `${from}${daddr} & ${NO_ADDRESS[family]} != ${set} goto ${blocked} comment "the set was emptied: nobody knows what the names have"`,
    ];
  });
}

/** The same text for the same devices, whatever their order. */
export function ownersOf(devices: Destination["devices"]): string {
  return devices.toSorted().join();
}

/** The match for packets of some devices of the LAN, or of all. */
export function senderIn(macs: readonly string[]): string {
  return macs.length === 0 ? "" : `ether saddr ${anyOf(macs.toSorted())} `;
}

/**
 * In the order in which they are looked up. Names that are blocked have no addresses, unless they were known before
 * that.
 */
export function groupsIn(destinations: readonly Destination[]): Group[] {
  const named = destinations.filter(
    ({ addresses, exit }) => addresses !== undefined && (exit.to !== "blocked" || addresses.length > 0),
  );
  const groups = Map.groupBy(named, (each) => namedSet(each, 4));
  const all = [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined
      ? []
      : [
          {
            ...{ devices: first.devices, exit: first.exit },
            addresses: [first, ...others].flatMap(({ addresses = [] }) => addresses),
          },
        ],
  );
  const isDirect = ({ exit }: Group) => exit.to === "direct";
  return [...all.filter((group) => !isDirect(group)), ...all.filter(isDirect)];
}

/** The same name as before a restart, so that the next service finds the addresses of the one before. */
export function namedSet({ devices, exit }: Pick<Destination, "devices" | "exit">, family: Family): string {
  const owners =
    devices.length === 0
      ? "all"
      : new Bun.CryptoHasher("sha256").update(ownersOf(devices)).digest("hex").slice(0, HASH_LETTERS);
  return `named_${owners}_${exit.to === "tunnel" ? exit.name : exit.to}_ipv${family}`;
}
