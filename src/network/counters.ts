import { type Address, familyOf, type Prefix, parseAddress } from "../base/address.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import type { Host } from "../system/host.ts";
import { listNft, type NftElement, type NftObject } from "../system/nft.ts";
import { DEVICE_MARK_HASH, markOfDevice } from "./device-mark.ts";
import type { Lan } from "./lan.ts";

/** A separate table, which counts and never drops. The kill switch replaces its own table, but not this one. */
export const COUNTERS_TABLE = "inet portcullis_traffic";

/**
 * The most elements of each set. There are fewer known devices, and they are in the sets before others can be:
 * invented MAC addresses take nobody's place.
 */
export const MAX_COUNTED = 4_096;
/** What is silent for longer is counted from zero, so the figures must be read more often. */
const TIMEOUT_SECONDS = 86_400;
/** It is harmless to list elements that have timed out, and the kernel need not search for them each second. */
const COLLECTED_EVERY_SECONDS = 600;

/** A full table takes a tenth of it on a Pi. */
const LISTED_WITHIN_MS = 3_000;

/** The owner of a counter of the kernel. */
export type Counted = { mac: Mac } | { mark: number } | { address: Address } | { network: Prefix };

/** Bytes that the gateway has forwarded from a device, or to it. */
export interface Count {
  /** The same in each reading. */
  key: string;
  of: Counted;
  way: "sent" | "received";
  bytes: number;
}

export interface Counts {
  /** The number of the table: each new one has another number, and counts from zero. */
  table: number;
  counts: Count[];
  /**
   * Addresses behind other routers that have sent something, and how many milliseconds ago, in whole seconds. Those of a
   * mesh are in no such network.
   */
  heard: { network: Prefix | null; address: Address; msAgo: number }[];
  /** Whether a set has no room for more. */
  isFull: boolean;
}

/** Where packets of devices come from. */
export interface Links {
  /** The interfaces of the LAN. */
  lans: readonly string[];
  /** The interface of remote devices; null while none may come. */
  remote: string | null;
  /** The meshes: there a device is its address. */
  meshes: readonly Pick<Lan, "interface" | "prefixes">[];
  uplink: string | null;
  /** Networks behind other routers of the LAN, the most specific first. */
  networks: readonly Prefix[];
}

/**
 * The table in text for `nft -f -`. Loading it again keeps what was counted. Packets add the elements, and count after the
 * filter, so refused ones are not counted.
 *
 * A device of the LAN is its MAC address, whatever addresses it uses. What it receives is known by its connections: the
 * first packet of each sets the connection's mark, and NAT chains see only that one. What begins outside is counted by
 * the address that it is led to. A remote device is its addresses, which WireGuard has proven, and a network behind
 * another router is its prefix, as in the firewall.
 */
export function countersFor(links: Links, known: readonly Mac[] = []): string {
  const { lans, remote, meshes, networks } = links;
  const [from, to] = [on("iifname", lans), on("oifname", lans)];
  const { modulus, seed, offset } = DEVICE_MARK_HASH;
  const mark = `ct mark set jhash ether saddr mod ${modulus} seed 0x${seed.toString(16)} offset ${offset}`;
  return `add table ${COUNTERS_TABLE}
flush table ${COUNTERS_TABLE}
table ${COUNTERS_TABLE} {
${setOf("sent", "ether_addr", known)}
${setOf("received", "mark", [...new Set(known.map(markOfDevice))].map(String))}
${familySets("inward")}
${remote === null ? "" : addressSets("road")}${meshes.length === 0 ? "" : `${addressSets("mesh")}${heardSets()}`}${networks.map(networkOf).join("")}  chain begun {
    type nat hook prerouting priority dstnat - 10; policy accept;
${rulesOf(from.map((link) => `${link} ${mark} comment "the connections of a device"`))}  }

${hearing(meshes)}  chain count {
    type filter hook forward priority filter + 10; policy accept;
${rulesOf(countingRules(links, from, to))}  }

  chain inward {
    update @inward_4 { ip daddr }
    update @inward_6 { ip6 daddr }
  }
}
`;
}

/** A packet between a remote device and the LAN counts for both devices. */
function countingRules(links: Links, from: string[], to: string[]): string[] {
  const { lans, remote, meshes, uplink, networks } = links;
  const byAddress = [
    ...(remote === null ? [] : addressRules("road", remote)),
    ...meshes.flatMap((mesh) => addressRules("mesh", mesh.interface)),
  ];
  // On an interface that is also the uplink, the connection tells answers of the internet from what the LAN sends.
  const answers =
    uplink !== null && lans.includes(uplink) ? to.map((link) => `iifname "${uplink}" ${link}`) : [];
  return [
    ...byAddress,
    ...answers.flatMap(repliesTo),
    ...answers.map((link) => `${link} ct direction reply goto inward`),
    ...networks.flatMap((each) =>
      from.map((link) => `${link} ${header(each, "saddr")} goto ${nameOf("from", each)}`),
    ),
    ...from.map((link) => `${link} update @sent { ether saddr } accept`),
    ...networks.flatMap((each) =>
      to.map((link) => `${link} ${header(each, "daddr")} counter name "${nameOf("to", each)}" accept`),
    ),
    ...to.flatMap(repliesTo),
    ...to.map((link) => `${link} goto inward`),
  ];
}

/** Without a mark, the connection began before there was this table. */
function repliesTo(link: string): string[] {
  return [`${link} ct direction reply ct mark != 0 update @received { ct mark } accept`];
}

function addressRules(name: "road" | "mesh", link: string): string[] {
  return ([4, 6] as const).flatMap((family) => [
    `iifname "${link}" update @${name}_sent_${family} { ${HEADERS[family]} saddr }`,
    `oifname "${link}" update @${name}_received_${family} { ${HEADERS[family]} daddr }`,
  ]);
}

function addressSets(name: "road" | "mesh"): string {
  return `${familySets(`${name}_sent`)}\n${familySets(`${name}_received`)}\n`;
}

function heardSets(): string {
  return ([4, 6] as const)
    .map((family) => `${setOf(`mesh_heard_${family}`, `ipv${family}_addr`, [], false)}\n`)
    .join("");
}

/** Ahead of the filter: a device that is blocked is to be seen, too. */
function hearing(meshes: Links["meshes"]): string {
  if (meshes.length === 0) return "";
  const rules = meshes.flatMap(({ interface: link, prefixes }) =>
    prefixes.map((prefix) => {
      const family = familyOf(prefix);
      return `iifname "${link}" ${header(prefix, "saddr")} update @mesh_heard_${family} { ${HEADERS[family]} saddr }`;
    }),
  );
  return `  chain heard {
    type filter hook prerouting priority raw - 10; policy accept;
${rulesOf(rules)}  }

`;
}

/** Its counters, and which of its addresses were heard; if the set of those is full, the bytes count all the same. */
function networkOf(network: Prefix): string {
  const [from, heard] = [nameOf("from", network), nameOf("heard", network)];
  const family = familyOf(network);
  return `  counter ${from} {
  }

  counter ${nameOf("to", network)} {
  }

${setOf(heard, `ipv${family}_addr`, [], false)}
  chain ${from} {
    counter name "${from}"
    update @${heard} { ${HEADERS[family]} saddr }
  }

`;
}

const HEADERS = { 4: "ip", 6: "ip6" } as const;

function header(network: Prefix, field: "saddr" | "daddr"): string {
  return `${HEADERS[familyOf(network)]} ${field} ${network}`;
}

function nameOf(what: "from" | "to" | "heard", network: Prefix): string {
  return `${what}_${network.replaceAll(/[^0-9a-f]/g, "_")}`;
}

function on(key: "iifname" | "oifname", links: readonly string[]): string[] {
  const names = links.map((name) => `"${name}"`);
  if (names.length === 0) return [];
  return [`${key} ${names.length === 1 ? names[0] : `{ ${names.join(", ")} }`}`];
}

function rulesOf(rules: readonly string[]): string {
  return rules.map((rule) => `    ${rule}\n`).join("");
}

function familySets(name: string): string {
  return `${setOf(`${name}_4`, "ipv4_addr")}\n${setOf(`${name}_6`, "ipv6_addr")}`;
}

function setOf(name: string, type: string, elements: readonly string[] = [], counts = true): string {
  // nft refuses a list of none.
  const listed = elements.length === 0 ? "" : `    elements = { ${elements.join(", ")} }\n`;
  return `  set ${name} {
    type ${type}
    size ${MAX_COUNTED}
    flags dynamic,timeout
${counts ? "    counter\n" : ""}    timeout ${TIMEOUT_SECONDS}s
    gc-interval ${COLLECTED_EVERY_SECONDS}s
${listed}  }
`;
}

/** Null without the table. */
export async function readCounters(
  host: Pick<Host, "run">,
  networks: readonly Prefix[],
): Promise<Counts | null> {
  const nftables = await listNft(host, ["table", ...COUNTERS_TABLE.split(" ")], {
    timeoutMs: LISTED_WITHIN_MS,
  }).catch((): NftObject[] => []);
  if (nftables.length === 0) return null;
  const table = nftables.flatMap((each) => each.table?.handle ?? [])[0] ?? 0;
  const read: Counts = { table, counts: [], heard: [], isFull: false };
  const named = new Map(
    networks.flatMap((network) =>
      (["from", "to", "heard"] as const).map((what) => [nameOf(what, network), { what, network }] as const),
    ),
  );
  for (const { set, counter } of nftables) {
    const own = named.get(counter?.name ?? set?.name ?? "");
    if (counter && own) read.counts.push(networkCount(counter.name, own, counter.bytes));
    for (const { elem } of set?.elem ?? []) if (set && elem) take(read, set.name, elem, own?.network);
    read.isFull ||= (set?.elem?.length ?? 0) >= MAX_COUNTED;
  }
  return read;
}

function networkCount(key: string, { what, network }: { what: string; network: Prefix }, bytes = 0): Count {
  return { key, of: { network }, way: what === "from" ? "sent" : "received", bytes };
}

function take(
  read: Counts,
  set: string,
  { val, expires = 0, counter }: NftElement,
  network: Prefix | undefined,
): void {
  const address = typeof val === "string" ? parseAddress(val) : null;
  if (network !== undefined || set.startsWith("mesh_heard_")) {
    const msAgo = 1_000 * (TIMEOUT_SECONDS - expires);
    if (address !== null) read.heard.push({ network: network ?? null, address, msAgo });
    return;
  }
  const of = countedIn(set, val, address);
  const way = set === "sent" || /^(road|mesh)_sent_/.test(set) ? "sent" : "received";
  if (of !== null) read.counts.push({ key: `${set} ${val}`, of, way, bytes: counter?.bytes ?? 0 });
}

/** Null for another program's element. */
function countedIn(set: string, val: unknown, address: Address | null): Counted | null {
  if (set === "received") return typeof val === "number" ? { mark: val } : null;
  if (address !== null) return /^(inward|(road|mesh)_(sent|received))_[46]$/.test(set) ? { address } : null;
  const mac = set === "sent" && typeof val === "string" ? parseMac(val) : null;
  return mac === null ? null : { mac };
}
