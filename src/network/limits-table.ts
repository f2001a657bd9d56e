import { type Address, familyOf } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import type { Host } from "../system/host.ts";
import { listNft, type NftObject } from "../system/nft.ts";

/**
 * A separate table that only drops: nothing passes because of it, whatever it contains. The kill switch replaces its own
 * table, and a replaced limit begins again. It exists only while something is limited.
 */
export const LIMITS_TABLE = "inet portcullis_limits";

/** Bytes a second to and from a device; null if that way is free. */
export interface ByteRate {
  down: number | null;
  up: number | null;
}

/** A device with a limit, or everybody else. */
export interface Limited {
  /** The mark of the connections. */
  number: number;
  /** Null for a device on the road, which has none, and for everybody else. */
  mac: Mac | null;
  /** What it has now, as far as is known. Those of a device on the road are proven by WireGuard. */
  addresses: readonly Address[];
  rate: ByteRate;
  /** Whether it has none of its own: everybody else's counts, if there is one. */
  isShared: boolean;
  /**
   * What it may send and receive together, has already, and what it has after that. Without one, everybody else's counts,
   * if there is one.
   */
  quota: { name: string; bytes: number; used: number; atEnd: "blocked" | "told" | ByteRate } | null;
}

/** The mark of the connections of devices without a limit or a quota of their own, which together can have one. */
export const OTHERS = 1;

/**
 * The kernel's bucket holds what may pass in a second, and this. Packets are joined to one of up to 64 KiB (GRO), which
 * would never fit into the bucket of a slow device.
 */
const BURST_BYTES = 65_536;

/**
 * The table in text for `nft -f -`. A packet costs one look-up, however many devices are limited: it leads to a chain of
 * its device. What a device sends is known by its MAC address. The same packet marks its connection, and so what it
 * receives is known by the mark, whatever addresses it uses. Before it sends, and after a limit has ended, the mark says
 * nothing: then what it receives is known by its address, and else counts as everybody else's.
 */
export function limitsFor(limited: readonly Limited[], inside: readonly string[]): string {
  const links = `{ ${inside.map((link) => `"${link}"`).join(", ")} }`;
  const others = limited.find(({ number }) => number === OTHERS) ?? NO_OTHERS;
  const all = [others, ...limited.filter((each) => each !== others)];
  const road = limited.filter(({ mac, number }) => mac === null && number !== OTHERS);
  const objects = [...all.map(limitsOf), ...all.map(quotaOf)].join("");
  const chains = all.map((each) => chainsOf(each, others)).join("");
  const onTheRoad = road.length === 0 ? "" : "    ip saddr vmap @road_4\n    ip6 saddr vmap @road_6\n";
  return `${NO_LIMITS}table ${LIMITS_TABLE} {
${objects}${chains}${mapsOf(all, road)}  chain forwarded {
    type filter hook forward priority filter + 5; policy accept;
    iifname ${links} goto sent
    goto received
  }

  chain sent {
    ct direction reply oifname ${links} goto received comment "between two devices, who began counts"
    ether saddr vmap @macs
${onTheRoad}    goto up_${OTHERS}
  }

  chain received {
    ct mark vmap @connections
    ct mark set ip daddr map @to_4 ct mark vmap @connections
    ct mark set ip6 daddr map @to_6 ct mark vmap @connections
    goto down_${OTHERS}
  }
}
`;
}

/**
 * The addresses that devices receive at, in text for `nft -f -`, before they send. Addresses change often: if the table were replaced
 * for them, every limit would begin again.
 */
export function addressesFor(limited: readonly Limited[]): string {
  return ([4, 6] as const)
    .map((family) => {
      const map = `${LIMITS_TABLE} to_${family}`;
      const owners = ownersOf(limited, family);
      const added = owners.length === 0 ? "" : `add element ${map} { ${owners.join(", ")} }\n`;
      return `flush map ${map}\n${added}`;
    })
    .join("");
}

/** Of two devices with one address, one has it: the kernel refuses both. */
function ownersOf(
  limited: readonly Limited[],
  family: 4 | 6,
  valueFor: (number: number) => string = String,
): string[] {
  const owners = new Map(
    limited.flatMap(({ number, addresses }) =>
      addresses.filter((each) => familyOf(each) === family).map((each) => [each, number] as const),
    ),
  );
  return [...owners].map(([address, number]) => `${address} : ${valueFor(number)}`).toSorted();
}

/** Removes the table, whether it is there or not. */
export const NO_LIMITS = `add table ${LIMITS_TABLE}\ndelete table ${LIMITS_TABLE}\n`;

const WAYS = ["down", "up"] as const;
type Way = (typeof WAYS)[number];

const NO_OTHERS: Limited = {
  ...{ number: OTHERS, mac: null, addresses: [] },
  ...{ rate: { down: null, up: null }, isShared: false, quota: null },
};

function limitsOf({ number, rate, quota }: Limited): string {
  return WAYS.flatMap((way) => [
    { name: `${way}_${number}`, bytes: rate[way] },
    { name: `over_${way}_${number}`, bytes: slowOf(quota)?.[way] ?? null },
  ])
    .map(({ name, bytes }) =>
      bytes === null
        ? ""
        : `  limit ${name} {\n    rate over ${bytes} bytes/second burst ${BURST_BYTES} bytes\n  }\n\n`,
    )
    .join("");
}

/** The rate after a quota; null if there is none. */
function slowOf(quota: Limited["quota"]): ByteRate | null {
  return typeof quota?.atEnd === "object" ? quota.atEnd : null;
}

function quotaOf({ quota }: Limited): string {
  return quota === null
    ? ""
    : `  quota ${quota.name} {\n    over ${quota.bytes} bytes used ${quota.used} bytes\n  }\n\n`;
}

/** What a packet of the device passes, each way. The quota comes after the rate: what that drops is not counted. */
function chainsOf(each: Limited, others: Limited): string {
  return WAYS.map((way) => {
    const marked = way === "up" ? [`ct mark set ${each.number}`] : [];
    const rules = [...marked, ...rateRule(each, others, way), ...quotaRule(each, others, way)];
    return `  chain ${way}_${each.number} {\n${rules.map((rule) => `    ${rule}\n`).join("")}  }\n\n`;
  }).join("");
}

function rateRule({ number, rate, isShared }: Limited, others: Limited, way: Way): string[] {
  if (rate[way] !== null) return [`limit name "${way}_${number}" drop`];
  return isShared && others.rate[way] !== null ? [`limit name "${way}_${OTHERS}" drop`] : [];
}

function quotaRule(each: Limited, others: Limited, way: Way): string[] {
  const { number, quota } = each.quota === null ? others : each;
  if (quota === null) return [];
  const over = `quota name "${quota.name}"`;
  if (quota.atEnd === "blocked") return [`${over} drop`];
  // It counts, too, if nothing happens afterwards.
  return slowOf(quota)?.[way] == null ? [over] : [`${over} limit name "over_${way}_${number}" drop`];
}

function mapsOf(all: readonly Limited[], road: readonly Limited[]): string {
  return [
    mapOf(
      "connections",
      "mark : verdict",
      all.map(({ number }) => `${number} : goto down_${number}`),
    ),
    mapOf(
      "macs",
      "ether_addr : verdict",
      all.flatMap(({ number, mac }) => (mac === null ? [] : [`${mac} : goto up_${number}`])),
    ),
    mapOf("road_4", "ipv4_addr : verdict", ownersOf(road, 4, chainUp)),
    mapOf("road_6", "ipv6_addr : verdict", ownersOf(road, 6, chainUp)),
    mapOf("to_4", "ipv4_addr : mark", []),
    mapOf("to_6", "ipv6_addr : mark", []),
  ].join("");
}

function chainUp(number: number): string {
  return `goto up_${number}`;
}

function mapOf(name: string, type: string, elements: readonly string[]): string {
  // nft refuses a list of none.
  const listed = elements.length === 0 ? "" : `    elements = { ${elements.join(", ")} }\n`;
  return `  map ${name} {\n    type ${type}\n${listed}  }\n\n`;
}

/** Replaces the table or the addresses in one transaction. */
export async function loadLimits(host: Pick<Host, "run">, text: string): Promise<void> {
  await host.run(["nft", "-f", "-"], { stdin: text });
}

/** The table as the kernel has it, without what changes with each packet; null without one. */
export function listLimits(host: Pick<Host, "run">): Promise<string | null> {
  return host.run(["nft", "-s", "list", "table", ...LIMITS_TABLE.split(" ")]).catch(() => null);
}

/** The bytes that each quota in the kernel has counted, by its name; what is over the quota is left out. */
export async function readQuotas(host: Pick<Host, "run">): Promise<ReadonlyMap<string, number>> {
  const table = LIMITS_TABLE.split(" ");
  const listed = await listNft(host, ["quotas", "table", ...table]).catch((): NftObject[] => []);
  return new Map(listed.flatMap(({ quota }) => (quota ? [[quota.name, quota.used ?? 0]] : [])));
}

/** Whether a table that is listed so limits anything. Without rules it stands, and does not. */
export function isLimiting(listing: string | null): boolean {
  return listing?.includes("vmap @connections") === true;
}
