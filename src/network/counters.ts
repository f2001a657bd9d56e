import { type Address, parseAddress } from "../base/address.ts";
import type { Host } from "../system/host.ts";
import { listNft, type NftElement, type NftObject } from "../system/nft.ts";

/** A separate table, which counts and never drops. The kill switch replaces its own table, but not this one. */
export const COUNTERS_TABLE = "inet portcullis_traffic";

/** The most addresses in each set; others are not counted until the table is made again. */
export const MAX_COUNTED = 4_096;
/** An address that is silent for longer is counted from zero, so the figures must be read more often. */
const TIMEOUT_SECONDS = 86_400;
/** It is harmless to list addresses that have timed out, and the kernel need not search for them each second. */
const COLLECTED_EVERY_SECONDS = 600;

/** A full table takes a tenth of it on a Pi. */
const LISTED_WITHIN_MS = 3_000;

/** What the gateway has forwarded for one address of the LAN. */
export interface Count {
  address: Address;
  /** Bytes from and to it. */
  sent: number;
  received: number;
  /** Milliseconds since its last packet, in whole seconds; null if it has sent none. */
  heardMsAgo: number | null;
}

export interface Counts {
  /** The number of the table: each new one has another number, and counts from zero. */
  table: number;
  counts: Count[];
}

/** The interfaces of the LAN, the one from which devices on the road come, and the one to the internet. */
export interface Links {
  lans: readonly string[];
  /** Null while none may come. */
  remote: string | null;
  uplink: string | null;
}

/**
 * The table in text for `nft -f -`. Loading it again keeps the elements of its sets. Packets add the elements, so that
 * nobody has to know the addresses of a device. They are counted after the filter, so refused packets are not counted.
 */
export function countersFor(links: Links): string {
  const sets = WAYS.flatMap(({ set }) => [setOf(`${set}_4`, 4), setOf(`${set}_6`, 6)]);
  // A packet between the road and the LAN counts for both devices.
  const rules = ([4, 6] as const).flatMap((family) => [
    ...WAYS.flatMap((way) => (links.remote === null ? [] : remoteRule(way, family, links.remote))),
    ...WAYS.flatMap((way) => rulesOf(way, family, links)),
  ]);
  return `add table ${COUNTERS_TABLE}
flush table ${COUNTERS_TABLE}
table ${COUNTERS_TABLE} {
${sets.join("\n")}
  chain count {
    type filter hook forward priority filter + 10; policy accept;
${rules.map((rule) => `    ${rule}\n`).join("")}  }
}
`;
}

const WAYS = [
  { set: "sent", link: "iifname", direction: "original", field: "saddr" },
  { set: "received", link: "oifname", direction: "reply", field: "daddr" },
] as const;
type Way = (typeof WAYS)[number];

function setOf(name: string, family: 4 | 6): string {
  return `  set ${name} {
    type ipv${family}_addr
    size ${MAX_COUNTED}
    flags dynamic,timeout
    counter
    timeout ${TIMEOUT_SECONDS}s
    gc-interval ${COLLECTED_EVERY_SECONDS}s
  }
`;
}

function remoteRule(way: Way, family: 4 | 6, remote: string): string {
  return `${way.link} "${remote}" ${updateOf(way, family)}`;
}

/** On an interface that is also the uplink, a connection's direction tells the LAN from the internet. */
function rulesOf(way: Way, family: 4 | 6, { lans, uplink }: Links): string[] {
  const { link, direction } = way;
  const own = lans.filter((name) => name !== uplink).map((name) => `"${name}"`);
  const matches = [
    ...(own.length === 0 ? [] : [`${link} ${own.length === 1 ? own[0] : `{ ${own.join(", ")} }`}`]),
    ...(uplink !== null && lans.includes(uplink) ? [`${link} "${uplink}" ct direction ${direction}`] : []),
  ];
  return matches.map((match) => `${match} ${updateOf(way, family)} accept`);
}

function updateOf({ set, field }: Way, family: 4 | 6): string {
  return `update @${set}_${family} { ${family === 4 ? "ip" : "ip6"} ${field} }`;
}

/** Makes the table as it should be now, and keeps what it has counted if possible. */
export async function loadCounters(host: Pick<Host, "run">, links: Links): Promise<void> {
  const stdin = countersFor(links);
  const load = (text: string) => host.run(["nft", "-f", "-"], { stdin: text });
  // The table has sets of another version, or of another program.
  await load(stdin).catch(() => replaceCounters(host, links));
}

/** The same with empty sets. */
export async function replaceCounters(host: Pick<Host, "run">, links: Links): Promise<void> {
  const stdin = `add table ${COUNTERS_TABLE}\ndelete table ${COUNTERS_TABLE}\n${countersFor(links)}`;
  await host.run(["nft", "-f", "-"], { stdin });
}

/** Null without the table. */
export async function readCounters(host: Pick<Host, "run">): Promise<Counts | null> {
  const nftables = await listNft(host, ["table", ...COUNTERS_TABLE.split(" ")], {
    timeoutMs: LISTED_WITHIN_MS,
  }).catch((): NftObject[] => []);
  if (nftables.length === 0) return null;
  const counts = new Map<Address, Count>();
  for (const { set } of nftables)
    for (const { elem } of set?.elem ?? []) if (elem) take(counts, set?.name ?? "", elem);
  const table = nftables.flatMap((each) => each.table?.handle ?? [])[0] ?? 0;
  return { table, counts: [...counts.values()] };
}

function take(counts: Map<Address, Count>, set: string, { val, expires = 0, counter }: NftElement): void {
  const address = typeof val === "string" ? parseAddress(val) : null;
  if (address === null) return;
  const count = counts.get(address) ?? { address, sent: 0, received: 0, heardMsAgo: null };
  const bytes = counter?.bytes ?? 0;
  if (set.startsWith("received_")) counts.set(address, { ...count, received: bytes });
  else counts.set(address, { ...count, sent: bytes, heardMsAgo: 1_000 * (TIMEOUT_SECONDS - expires) });
}
