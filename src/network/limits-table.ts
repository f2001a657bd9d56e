import { type Address, familyOf } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import type { Host } from "../system/host.ts";
import { listNft, type NftObject } from "../system/nft.ts";
import { DEVICE_MARK_HASH } from "./device-mark.ts";

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

/** What is limited together. */
export interface Metered {
  rate: ByteRate;
  /** What may be sent and received together, what has been already, and what follows then. */
  quota: { name: string; bytes: number; used: number; atEnd: "blocked" | "told" | ByteRate } | null;
}

/** A network of the LAN with a limit. What each of its devices has holds beside it. */
export interface LimitedNetwork extends Metered {
  interface: string;
}

/** A device with a limit, or all others. Without a quota, that of all others counts, if there is one. */
export interface Limited extends Metered {
  /** The mark of its connections; `OTHERS` for all others. */
  number: number;
  /** Null for a remote device, which has none, and for all others. */
  mac: Mac | null;
  /** What it has now, as far as is known. Those of a remote device are proven by WireGuard. */
  addresses: readonly Address[];
  /** Whether it has no rate of its own: that of all others counts, if there is one. */
  isShared: boolean;
}

/** Stands for all devices without a limit or a quota of their own, which together can have one. */
export const OTHERS = 1;

/**
 * The kernel's bucket holds what may pass in a second, and this. Packets are joined to one of up to 64 KiB (GRO), which
 * would never fit into the bucket of a slow device.
 */
const BURST_BYTES = 65_536;

/** A limit has bytes a second, a quota bytes, and what was used of them. */
interface LimitObject {
  kind: "limit" | "quota";
  bytes: number;
  used?: number;
}

/**
 * The table by names. What changes is changed alone, in one transaction: each quota goes on counting meanwhile, and no
 * other limit begins again.
 */
export interface Limiting {
  objects: ReadonlyMap<string, LimitObject>;
  chains: ReadonlyMap<string, readonly string[]>;
  maps: ReadonlyMap<string, { type: string; elements: ReadonlyMap<string, string> }>;
}

/**
 * A packet costs one look-up, however many devices are limited: it leads to a chain of its device. What a device sends is
 * known by its MAC address, and what it receives by the mark of the connection, whatever addresses it uses. A connection
 * without a mark began outside: until its device has sent something, the address tells.
 */
export function limitingOf(
  limited: readonly Limited[],
  inside: readonly string[],
  networks: readonly LimitedNetwork[] = [],
): Limiting {
  const others = limited.find(({ number }) => number === OTHERS) ?? NO_OTHERS;
  const all = [others, ...limited.filter((each) => each !== others)];
  const remote = limited.filter(({ mac, number }) => mac === null && number !== OTHERS);
  const byNetwork = networkChains(networks);
  const metered = [
    ...all.map((each) => [`${each.number}`, each] as const),
    ...networks.map((each) => [networkName(each.interface), each] as const),
  ];
  return {
    objects: new Map([...metered.flatMap(limitsOf), ...metered.flatMap(([, each]) => quotaOf(each))]),
    chains: new Map([
      ...all.flatMap((each) => chainsOf(each, others, byNetwork)),
      ...commonChains(inside, remote.length > 0, limited.length > 0, byNetwork),
      ...byNetwork,
    ]),
    maps: new Map(mapsOf(all, remote)),
  };
}

/** In names of the kernel's objects, which an interface may have characters that they may not. */
export function networkName(link: string): string {
  return `network_${Buffer.from(link).toString("hex")}`;
}

/** The chain that all forwarded packets pass. */
const HOOKED = "forwarded";
const HOOK = "type filter hook forward priority filter + 5; policy accept;";

/** The whole table in text for `nft -f -`. */
export function limitsFor({ objects, chains, maps }: Limiting): string {
  const blocks = [
    ...[...objects].map(([name, object]) => block(object.kind, name, [objectText(object)])),
    ...[...chains].map(([name, rules]) =>
      block("chain", name, [...(name === HOOKED ? [HOOK] : []), ...rules]),
    ),
    ...[...maps].map(([name, { type, elements }]) => {
      const listed = [...elements].map(([key, value]) => `${key} : ${value}`).join(", ");
      // nft refuses a list of none.
      return block("map", name, [`type ${type}`, ...(listed === "" ? [] : [`elements = { ${listed} }`])]);
    }),
  ];
  return `${NO_LIMITS}table ${LIMITS_TABLE} {\n${blocks.join("\n")}}\n`;
}

/** What turns one table into the other, in text for `nft -f -`. */
export function limitsChange(before: Limiting, after: Limiting): string {
  const objects = { old: objectsBeside(before, after), new: objectsBeside(after, before) };
  // The kernel removes no object that a rule uses.
  const names = objects.old.map(([name]) => `"${name}"`);
  const chains = [...after.chains].filter(
    ([name, rules]) =>
      !Bun.deepEquals(rules, before.chains.get(name)) ||
      rules.some((rule) => names.some((object) => rule.includes(object))),
  );
  const gone = [...before.chains.keys()].filter((name) => !after.chains.has(name));
  const flushed = [...gone, ...chains.map(([name]) => name).filter((name) => before.chains.has(name))];
  const added = chains.map(([name]) => name).filter((name) => !before.chains.has(name));
  const lines = [
    ...flushed.map((name) => `flush chain ${LIMITS_TABLE} ${name}`),
    ...elementsBeside(before, after).map((each) => `delete ${each}`),
    ...gone.map((name) => `delete chain ${LIMITS_TABLE} ${name}`),
    ...objects.old.map(([name, { kind }]) => `delete ${kind} ${LIMITS_TABLE} ${name}`),
    ...objects.new.map(
      ([name, object]) => `add ${object.kind} ${LIMITS_TABLE} ${name} { ${objectText(object)} }`,
    ),
    ...added.map((name) => `add chain ${LIMITS_TABLE} ${name}`),
    ...chains.flatMap(([name, rules]) => rules.map((rule) => `add rule ${LIMITS_TABLE} ${name} ${rule}`)),
    ...elementsBeside(after, before).map((each) => `add ${each}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** The objects of one table that the other does not have so. What was used is ignored: it changes all the time. */
function objectsBeside(one: Limiting, other: Limiting) {
  return [...one.objects].filter(([name, { bytes }]) => other.objects.get(name)?.bytes !== bytes);
}

function elementsBeside(one: Limiting, other: Limiting): string[] {
  return [...one.maps].flatMap(([map, { elements }]) =>
    [...elements]
      .filter(([key, value]) => other.maps.get(map)?.elements.get(key) !== value)
      .map(([key, value]) => `element ${LIMITS_TABLE} ${map} { ${key} : ${value} }`),
  );
}

function block(kind: string, name: string, lines: readonly string[]): string {
  return `  ${kind} ${name} {\n${lines.map((line) => `    ${line}\n`).join("")}  }\n`;
}

function objectText({ kind, bytes, used = 0 }: LimitObject): string {
  return kind === "limit"
    ? `rate over ${bytes} bytes/second burst ${BURST_BYTES} bytes`
    : `over ${bytes} bytes used ${used} bytes`;
}

/**
 * The addresses that devices receive at, in text for `nft -f -`, before they send. Addresses change often: if the table were replaced
 * for them, every limit would begin again.
 */
export function addressesFor(limited: readonly Limited[]): string {
  return ([4, 6] as const)
    .map((family) => {
      const map = `${LIMITS_TABLE} to_${family}`;
      const owners = ownersOf(limited, family, String).map((owner) => owner.join(" : "));
      const added = owners.length === 0 ? "" : `add element ${map} { ${owners.join(", ")} }\n`;
      return `flush map ${map}\n${added}`;
    })
    .join("");
}

/** Of two devices with one address, one has it: the kernel refuses both. */
function ownersOf(
  limited: readonly Limited[],
  family: 4 | 6,
  valueFor: (number: number) => string,
): Named<string> {
  const owners = new Map(
    limited.flatMap(({ number, addresses }) =>
      addresses.filter((each) => familyOf(each) === family).map((each) => [each, number] as const),
    ),
  );
  return [...owners].map(([address, number]) => [address, valueFor(number)] as const).toSorted();
}

/** Removes the table, whether it is there or not. */
export const NO_LIMITS = `add table ${LIMITS_TABLE}\ndelete table ${LIMITS_TABLE}\n`;

const DIRECTIONS = ["down", "up"] as const;
type Direction = (typeof DIRECTIONS)[number];
type Named<Value> = readonly (readonly [name: string, value: Value])[];

const NO_OTHERS: Limited = {
  ...{ number: OTHERS, mac: null, addresses: [] },
  ...{ rate: { down: null, up: null }, isShared: false, quota: null },
};

function quotaOf({ quota }: Metered): Named<LimitObject> {
  return quota === null ? [] : [[quota.name, { kind: "quota", bytes: quota.bytes, used: quota.used }]];
}

function limitsOf([name, { rate, quota }]: readonly [string, Metered]): Named<LimitObject> {
  const all = DIRECTIONS.flatMap((way) => [
    [`${way}_${name}`, rate[way]] as const,
    [`over_${way}_${name}`, slowOf(quota)?.[way] ?? null] as const,
  ]);
  return all.flatMap(([name, bytes]) => (bytes === null ? [] : [[name, { kind: "limit", bytes }] as const]));
}

/** The rate after a quota; null if there is none. */
function slowOf(quota: Metered["quota"]): ByteRate | null {
  return typeof quota?.atEnd === "object" ? quota.atEnd : null;
}

/** The chains of networks: what each device may do comes between. */
const RATES = "network_rates";
const QUOTAS = "network_quotas";

function commonChains(
  inside: readonly string[],
  isAnyRemote: boolean,
  isAnyDevice: boolean,
  byNetwork: ReadonlyMap<string, readonly string[]>,
): Named<readonly string[]> {
  const links = `{ ${inside.map((link) => `"${link}"`).join(", ")} }`;
  const { modulus, seed, offset } = DEVICE_MARK_HASH;
  const hash = `jhash ether saddr mod ${modulus} seed 0x${seed.toString(16)} offset ${offset}`;
  const sent = [
    `ct direction reply oifname ${links} goto received comment "between two devices, who began counts"`,
    "ether saddr vmap @macs",
    ...(isAnyRemote ? ["ip saddr vmap @road_4", "ip6 saddr vmap @road_6"] : []),
    `ct mark 0 ct mark set ${hash}`,
    `goto up_${OTHERS}`,
  ];
  const received = [
    "ct mark vmap @connections",
    `ct mark != 0 goto down_${OTHERS}`,
    "ct mark set ip daddr map @to_4 ct mark vmap @connections",
    "ct mark set ip6 daddr map @to_6 ct mark vmap @connections",
    `goto down_${OTHERS}`,
  ];
  const devices = [`iifname ${links} goto sent`, "goto received"];
  const jumpTo = (chain: string) => (byNetwork.has(chain) ? [`jump ${chain}`] : []);
  return [
    ...(byNetwork.size === 0
      ? [[HOOKED, devices] as const]
      : [
          ["by_device", devices] as const,
          [HOOKED, [...(isAnyDevice ? ["jump by_device"] : jumpTo(RATES)), ...jumpTo(QUOTAS)]] as const,
        ]),
    ["sent", sent],
    ["received", received],
  ];
}

/** What a packet of the device passes, each way. The quota comes after the rates: what they drop is not counted. */
function chainsOf(
  each: Limited,
  others: Limited,
  byNetwork: ReadonlyMap<string, readonly string[]>,
): Named<readonly string[]> {
  const rates = byNetwork.has(RATES) ? [`jump ${RATES}`] : [];
  return DIRECTIONS.map((way) => {
    const marked = way === "up" && each.number !== OTHERS ? [`ct mark set ${each.number}`] : [];
    return [
      `${way}_${each.number}`,
      [...marked, ...rateRule(each, others, way), ...rates, ...quotaRule(each, others, way)],
    ] as const;
  });
}

function rateRule({ number, rate, isShared }: Limited, others: Limited, way: Direction): string[] {
  if (rate[way] !== null) return [`limit name "${way}_${number}" drop`];
  return isShared && others.rate[way] !== null ? [`limit name "${way}_${OTHERS}" drop`] : [];
}

function quotaRule(each: Limited, others: Limited, way: Direction): string[] {
  const { number, quota } = each.quota === null ? others : each;
  return quotaText(quota, `${number}`, way);
}

function quotaText(quota: Metered["quota"], name: string, way: Direction): string[] {
  if (quota === null) return [];
  const over = `quota name "${quota.name}"`;
  if (quota.atEnd === "blocked") return [`${over} drop`];
  // It counts, too, if nothing happens afterwards.
  return slowOf(quota)?.[way] == null ? [over] : [`${over} limit name "over_${way}_${name}" drop`];
}

/** What all devices of a network pass together; a chain without rules is not there. */
function networkChains(networks: readonly LimitedNetwork[]): ReadonlyMap<string, readonly string[]> {
  const chains = [
    [RATES, networks.flatMap((each) => [...usedUpRules(each), ...networkRules(each, networkRate)])],
    [QUOTAS, networks.flatMap((each) => networkRules(each, networkQuota))],
  ] as const;
  return new Map(chains.filter(([, rules]) => rules.length > 0));
}

function networkRules(
  network: LimitedNetwork,
  rulesOf: (network: LimitedNetwork, way: Direction) => string[],
): string[] {
  return DIRECTIONS.flatMap((way) =>
    rulesOf(network, way).flatMap((rule) =>
      matchesOf(network.interface, way).map((match) => `${match} ${rule}`),
    ),
  );
}

/** A packet that comes and goes by the same interface counts once: for what began its connection. */
function matchesOf(link: string, way: Direction): string[] {
  const [here, there, direction] = way === "up" ? ["iif", "oif", "original"] : ["oif", "iif", "reply"];
  return [
    `${here}name "${link}" ${there}name != "${link}"`,
    `${here}name "${link}" ${there}name "${link}" ct direction ${direction}`,
  ];
}

function networkRate({ interface: link, rate }: LimitedNetwork, way: Direction): string[] {
  return rate[way] === null ? [] : [`limit name "${way}_${networkName(link)}" drop`];
}

function networkQuota({ interface: link, quota }: LimitedNetwork, way: Direction): string[] {
  return quotaText(quota, networkName(link), way);
}

/** What is dropped because the network's quota is known to be used up does not count for the quota of its device. */
function usedUpRules({ interface: link, quota }: LimitedNetwork): string[] {
  if (quota === null || quota.atEnd !== "blocked" || quota.used < quota.bytes) return [];
  return [`iifname "${link}" drop`, `oifname "${link}" drop`];
}

function mapsOf(
  all: readonly Limited[],
  remote: readonly Limited[],
): Named<{ type: string; elements: ReadonlyMap<string, string> }> {
  const own = all.filter(({ number }) => number !== OTHERS);
  const map = (name: string, type: string, elements: Named<string>) =>
    [name, { type, elements: new Map(elements) }] as const;
  return [
    map(
      "connections",
      "mark : verdict",
      own.map(({ number }) => [`${number}`, `goto down_${number}`]),
    ),
    map(
      "macs",
      "ether_addr : verdict",
      own.flatMap(({ number, mac }) => (mac === null ? [] : [[mac, chainUp(number)] as const])),
    ),
    map("road_4", "ipv4_addr : verdict", ownersOf(remote, 4, chainUp)),
    map("road_6", "ipv6_addr : verdict", ownersOf(remote, 6, chainUp)),
    map("to_4", "ipv4_addr : mark", []),
    map("to_6", "ipv6_addr : mark", []),
  ];
}

function chainUp(number: number): string {
  return `goto up_${number}`;
}

/** Changes the table in one transaction. */
export async function loadLimits(host: Pick<Host, "run">, text: string): Promise<void> {
  await host.run(["nft", "-f", "-"], { stdin: text });
}

/** The bytes that each quota in the kernel has counted, by its name; what is over the quota is left out. */
export async function readQuotas(host: Pick<Host, "run">): Promise<ReadonlyMap<string, number>> {
  const table = LIMITS_TABLE.split(" ");
  const listed = await listNft(host, ["quotas", "table", ...table]).catch((): NftObject[] => []);
  return new Map(listed.flatMap(({ quota }) => (quota ? [[quota.name, quota.used ?? 0]] : [])));
}
