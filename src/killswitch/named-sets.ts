import { type Address, familyOf, mustParseAddress } from "../base/address.ts";
import { isBlockedExit } from "../shared/exits.ts";
import type { Named } from "./destination-part.ts";
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

/** What names of the same length have, of destinations for the same devices and with the same exit. They share sets. */
interface Group extends Named {
  devices: Destination["devices"];
  exit: Exit;
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

/** How the packets of a group are distinguished from others. */
interface LookUp {
  senders: (devices: Destination["devices"]) => string;
  to: (group: Pick<Destination, "exit" | "devices">) => string;
  /** Where packets go on to if nobody knows what the names have. */
  blocked: string;
  comment: string;
}

/** Look-ups in the sets. Where more than one has an address, the first counts. */
export function lookUpNames(
  destinations: readonly Destination[],
  family: Family,
  { senders, to, blocked, comment }: LookUp,
): string[] {
  return groupsIn(destinations).flatMap(({ devices, exit, labels }) => {
    const from = senders(devices);
    const set = `@${namedSet({ devices, exit, labels }, family)}`;
    const daddr = `${headerOf(family)} daddr`;
    return [
      `${from}${daddr} ${set} goto ${to({ exit, devices })} ${comment}`,
      `${from}${daddr} & ${NO_ADDRESS[family]} != ${set} goto ${blocked} comment "the set was emptied: nobody knows what the names have"`,
    ];
  });
}

/** The same word for the same devices, whatever their order. */
export function ownersOf(devices: Destination["devices"]): string {
  if (devices.length === 0) return "all";
  const text = devices.toSorted().join();
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, HASH_LETTERS);
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
  const named = destinations
    .flatMap(({ devices, exit, named = [] }) => named.map((part) => ({ devices, exit, ...part })))
    .filter(({ exit, addresses }) => !isBlockedExit(exit) || addresses.length > 0);
  const groups = Map.groupBy(named, (each) => namedSet(each, 4));
  return [...groups.values()]
    .flatMap(([first, ...others]) => {
      if (first === undefined) return [];
      return [{ ...first, addresses: [first, ...others].flatMap(({ addresses }) => addresses) }];
    })
    .sort(inOrderOfLookUps);
}

/**
 * Where names share an address, the longest counts; of those with as many labels, the exits are in the order of their
 * names. What is direct comes last, because it leaves outside the tunnel.
 */
export function inOrderOfLookUps(
  one: Pick<Group, "exit" | "labels">,
  other: Pick<Group, "exit" | "labels">,
): number {
  const isDirect = ({ exit }: { exit: Exit }) => (exit.to === "direct" ? 1 : 0);
  const nameOf = ({ exit }: { exit: Exit }) => (exit.to === "tunnel" ? exit.name : "");
  const [name, otherName] = [nameOf(one), nameOf(other)];
  const byName = name < otherName ? -1 : name > otherName ? 1 : 0;
  return isDirect(one) - isDirect(other) || other.labels - one.labels || byName;
}

/** The same name as before a restart, so that the next service finds what is lost. */
function namedSet({ devices, exit, labels }: Omit<Group, "addresses">, family: Family): string {
  const to = exit.to === "tunnel" ? exit.name : exit.to;
  return `named_${ownersOf(devices)}_${to}_${labels}_ipv${family}`;
}
