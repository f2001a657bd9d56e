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
 * The table in text for `nft -f -`. A packet costs a few look-ups, however many devices are limited. What a device sends
 * is known by its MAC address. The same packet marks its connection, and so what it receives is known by the mark,
 * whatever addresses it uses. Before it sends, and after a limit has ended, the mark says nothing: then what it receives
 * is known by its address, and else counts as everybody else's.
 */
export function limitsFor(limited: readonly Limited[], inside: readonly string[]): string {
  const links = `{ ${inside.map((link) => `"${link}"`).join(", ")} }`;
  const numbers = [...new Set([OTHERS, ...limited.map(({ number }) => number)])];
  const shared = othersIn(limited);
  // After the rate, so that what that drops is not counted.
  const hasQuota = limited.some((each) => each.quota !== null);
  const quota = (way: Way) => (hasQuota ? `    quota name ct mark map @quotas goto over_${way}\n` : "");
  return `${NO_LIMITS}table ${LIMITS_TABLE} {
  set numbers {
    type mark
    elements = { ${numbers.join(", ")} }
  }

${WAYS.map((way) => limitObjects(limited, way)).join("")}${quotasOf(limited)}${numbersOf(limited).join("")}${WAYS.map((way) => limitMap(limited, way)).join("")}  chain forwarded {
    type filter hook forward priority filter + 5; policy accept;
    iifname ${links} goto sent
    goto received
  }

  chain sent {
    oifname ${links} ct direction reply goto received comment "between two devices, who began counts"
    ct mark set ether saddr map @macs goto up
    ct mark set ip saddr map @road_4 goto up
    ct mark set ip6 saddr map @road_6 goto up
    ct mark set ${OTHERS} goto up
  }

  chain up {
    limit name ct mark map @up drop
${quota("up")}  }

  chain received {
    ct mark != @numbers jump unsent
    limit name ct mark map @down drop
${quota("down")}  }

${hasQuota ? WAYS.map((way) => overChain(limited, way)).join("") : ""}${overUnsent(shared)}  chain unsent {
    ct mark set ip daddr map @to_4 return
    ct mark set ip6 daddr map @to_6 return
${shared?.rate.down == null ? "" : `    limit name "down_${OTHERS}" drop\n`}${shared?.quota ? `    quota name "${shared.quota.name}" goto over_unsent\n` : ""}  }
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
function ownersOf(limited: readonly Limited[], family: 4 | 6): string[] {
  const owners = new Map(
    limited.flatMap(({ number, addresses }) =>
      addresses.filter((each) => familyOf(each) === family).map((each) => [each, number] as const),
    ),
  );
  return [...owners].map(([address, number]) => `${address} : ${number}`).toSorted();
}

/** Removes the table, whether it is there or not. */
export const NO_LIMITS = `add table ${LIMITS_TABLE}\ndelete table ${LIMITS_TABLE}\n`;

const WAYS = ["down", "up"] as const;
type Way = (typeof WAYS)[number];

function limitObjects(limited: readonly Limited[], way: Way): string {
  return limited
    .flatMap(({ number, rate, quota }) => [
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

function othersIn(limited: readonly Limited[]): Limited | null {
  return limited.find(({ number }) => number === OTHERS) ?? null;
}

/** Its own quota, or the one that it shares. */
function quotaFor({ quota }: Limited, shared: Limited | null): Limited["quota"] {
  return quota ?? shared?.quota ?? null;
}

/** What happens to a packet that is over a quota. Whoever is not named here is blocked. */
function overChain(limited: readonly Limited[], way: Way): string {
  const isSlow = limited.some(({ quota }) => slowOf(quota) !== null);
  const isSpared = limited.some(({ quota }) => quota !== null && quota.atEnd !== "blocked");
  return `  chain over_${way} {
${isSlow ? `    limit name ct mark map @over_${way} drop\n` : ""}${isSpared ? "    ct mark @spared return\n" : ""}    drop
  }

`;
}

/** The same for what comes for an address that no device is known to have: its connection has no mark yet. */
function overUnsent(shared: Limited | null): string {
  const quota = shared?.quota ?? null;
  if (quota === null) return "";
  const slow = slowOf(quota)?.down == null ? "" : `    limit name "over_down_${OTHERS}" drop\n`;
  return `  chain over_unsent {\n${slow}${quota.atEnd === "blocked" ? "    drop\n" : ""}  }\n\n`;
}

function limitMap(limited: readonly Limited[], way: Way): string {
  const others = othersIn(limited)?.rate[way] ?? null;
  return mapOf(
    way,
    "mark : limit",
    limited.flatMap(({ number, rate, isShared }) => {
      if (rate[way] !== null) return [`${number} : "${way}_${number}"`];
      return isShared && others !== null ? [`${number} : "${way}_${OTHERS}"`] : [];
    }),
  );
}

/** Nothing without one. */
function quotasOf(limited: readonly Limited[]): string {
  const all = limited.flatMap(({ quota }) => (quota === null ? [] : [quota]));
  if (all.length === 0) return "";
  const objects = all.map(
    ({ name, bytes, used }) => `  quota ${name} {\n    over ${bytes} bytes used ${used} bytes\n  }\n\n`,
  );
  const shared = othersIn(limited);
  const elements = limited.flatMap((each) => {
    const quota = quotaFor(each, shared);
    return quota === null ? [] : [`${each.number} : "${quota.name}"`];
  });
  return `${objects.join("")}${mapOf("quotas", "mark : quota", elements)}${sparedOf(limited)}${slowMapsOf(limited)}`;
}

/** Who is not blocked after a quota. */
function sparedOf(limited: readonly Limited[]): string {
  const shared = othersIn(limited);
  const spared = limited.filter((each) => (quotaFor(each, shared)?.atEnd ?? "blocked") !== "blocked");
  if (spared.length === 0) return "";
  const elements = spared.map(({ number }) => number).join(", ");
  return `  set spared {\n    type mark\n    elements = { ${elements} }\n  }\n\n`;
}

function slowMapsOf(limited: readonly Limited[]): string {
  if (limited.every(({ quota }) => slowOf(quota) === null)) return "";
  const shared = othersIn(limited);
  const elements = (way: Way) =>
    limited.flatMap((each) => {
      if (slowOf(quotaFor(each, shared))?.[way] == null) return [];
      return [`${each.number} : "over_${way}_${each.quota === null ? OTHERS : each.number}"`];
    });
  return WAYS.map((way) => mapOf(`over_${way}`, "mark : limit", elements(way))).join("");
}

function numbersOf(limited: readonly Limited[]): string[] {
  const road = limited.filter(({ mac }) => mac === null);
  return [
    mapOf(
      "macs",
      "ether_addr : mark",
      limited.flatMap(({ number, mac }) => (mac === null ? [] : [`${mac} : ${number}`])),
    ),
    mapOf("road_4", "ipv4_addr : mark", ownersOf(road, 4)),
    mapOf("road_6", "ipv6_addr : mark", ownersOf(road, 6)),
    mapOf("to_4", "ipv4_addr : mark", []),
    mapOf("to_6", "ipv6_addr : mark", []),
  ];
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
  return listing?.includes("limit name ") === true;
}
