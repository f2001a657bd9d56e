import type { Host } from "../system/host.ts";
import { chainsListed } from "./listing.ts";
import { chainsOfOthers } from "./table.ts";

/** The interfaces that the LAN's packets pass on their way out. */
export interface ForwardingPath {
  lans: readonly string[];
  /** The interfaces that tunnels use. */
  tunnels: readonly string[];
  /** Base name of the tunnel's interfaces. */
  base: string;
  /** The uplink if devices go through it, outside the tunnel; null otherwise. */
  uplink: string | null;
}

/** A chain of another program that drops what the LAN sends. */
export interface Obstacle {
  /** Family, table and name, as nft prints them. */
  chain: string;
  drops: readonly Dropped[];
  /** The commands that let the LAN through. */
  remedies: readonly string[];
}

/** What a chain drops. */
type Dropped = keyof typeof DROPS;

const DROPS = {
  tunnels: "what the LAN sends into the tunnel",
  uplink: "what direct devices send to the uplink",
  udp: "what the LAN sends into the tunnel over UDP",
};

/**
 * `wg-quick` gives each UDP packet the mark of its connection there, and so replaces the mark that leads to the exit.
 */
const WG_QUICK = /^\S+ wg-quick-(\S+) premangle$/;

/**
 * Chains of other programs (ufw, Docker, firewalld) that refuse forwarded packets, by policy or by their last rule, and
 * have no rule that accepts the LAN's. Chains of `wg-quick` are included, because their marks have the same effect.
 * Runs one command, and one more for each chain of another program on that hook.
 */
export async function obstaclesTo(host: Host, path: ForwardingPath): Promise<Obstacle[]> {
  const { lans, tunnels, uplink } = path;
  const obstacles: Obstacle[] = [];
  for (const { chain, hook, drops } of await chainsOfOthers(host, ["forward", "prerouting"])) {
    const [, link] = WG_QUICK.exec(chain) ?? [];
    if (link !== undefined) obstacles.push({ chain, drops: ["udp"], remedies: [`wg-quick down ${link}`] });
    if (hook !== "forward") continue;
    const [family = "", table = "", name = ""] = chain.split(" ");
    const listing = await host.run(["nft", "-s", "list", "table", family, table]);
    if (!drops && !refusesRest(listing, name)) continue;
    const dropped = (["tunnels", "uplink"] as const).filter(
      (way) =>
        !letsThrough(listing, name, lans, way === "tunnels" ? tunnels : uplink === null ? [] : [uplink]),
    );
    if (dropped.length === 0) continue;
    const found = { listing, family, table, name };
    const remedies = new Set(dropped.flatMap((way) => remediesFor(found, way, path)));
    obstacles.push({ chain, drops: dropped, remedies: [...remedies] });
  }
  return obstacles;
}

/** What is dropped, by which chains, and which commands let it through. */
export function summaryOf(obstacles: readonly Obstacle[]): {
  drops: Dropped[];
  chains: string;
  remedy: string;
} {
  const distinct = <Text>(texts: readonly Text[]) => [...new Set(texts)];
  // Sorted, because programs load their tables again in any order, which is no change.
  const chains = obstacles.map(({ chain }) => chain).sort();
  return {
    drops: distinct(obstacles.flatMap(({ drops }) => drops)),
    chains: chains.join(", "),
    remedy: distinct(obstacles.flatMap(({ remedies }) => remedies)).join("; "),
  };
}

/** The same as a part of a sentence. */
export function dropsText(drops: readonly Dropped[]): string {
  return drops.map((each) => DROPS[each]).join(", and ");
}

/** Whether the rules that a packet passes in a chain accept what the LAN sends by these interfaces, and the replies. */
export function letsThrough(
  listing: string,
  chain: string,
  lans: readonly string[],
  ways: readonly string[],
): boolean {
  const rules = rulesFrom(listing, chain).filter(acceptsAnything);
  const passes = (rule: string, from: string, to: string) =>
    matches(rule, "iif", from) && matches(rule, "oif", to);
  return lans.every((lan) =>
    ways.every(
      (way) =>
        rules.some((rule) => isFor(rule, "new") && passes(rule, lan, way)) &&
        rules.some((rule) => isFor(rule, "established") && passes(rule, way, lan)),
    ),
  );
}

/** Whether the last rule of a chain refuses every packet that comes to it. */
export function refusesRest(listing: string, chain: string): boolean {
  const [last = ""] = chainsListed(listing).get(chain)?.at(-1)?.split(' comment "') ?? [];
  return /^(counter )?(drop|reject)( with [\w -]+)?$/.test(last);
}

/** The rules of the chain, and of all chains that it jumps to. */
export function rulesFrom(listing: string, start: string): string[] {
  const chains = chainsListed(listing);
  const reached = [start];
  for (const name of reached) {
    for (const rule of chains.get(name) ?? []) {
      const next = /\b(?:jump|goto) (\S+)/.exec(rule)?.[1];
      if (next !== undefined && !reached.includes(next)) reached.push(next);
    }
  }
  return reached.flatMap((name) => chains.get(name) ?? []);
}

/** Whether a rule accepts every packet, not only those of one protocol, port, destination or kind. */
function acceptsAnything(rule: string): boolean {
  const [match = ""] = rule.split(' comment "');
  return (
    / accept$/.test(` ${match}`) && !/\b(tcp|udp|th|icmpv?6?|l4proto|daddr|mark|limit|status)\b/.test(match)
  );
}

export function isFor(rule: string, state: "new" | "established"): boolean {
  const [, states] = /\bct state (.*)/.exec(rule) ?? [];
  return states === undefined || states.includes(state);
}

/** Whether a rule applies to packets of that interface: it names the interface, or none. */
export function matches(rule: string, key: "iif" | "oif", link: string): boolean {
  const [, not, words] = new RegExp(`\\b${key}(?:name)? (!= )?(\\{[^}]*\\}|"[^"]*")`).exec(rule) ?? [];
  if (words === undefined) return true;
  const names = [...words.matchAll(/"([^"]*)"/g)].map(([, name = ""]) => name);
  const named = names.some((name) =>
    name.endsWith("*") ? link.startsWith(name.slice(0, -1)) : name === link,
  );
  return named === (not === undefined);
}

interface FoundChain {
  listing: string;
  family: string;
  table: string;
  name: string;
}

function remediesFor(found: FoundChain, way: "tunnels" | "uplink", path: ForwardingPath): string[] {
  const { listing, family, table, name } = found;
  // Its chains for IPv6 begin with ufw6-.
  if (/chain ufw6?-/.test(listing)) return ["ufw default allow routed"];
  const rules = way === "tunnels" ? tunnelRules(path.base) : uplinkRules(path);
  if (table !== "filter" || name !== "FORWARD") {
    const inserted = rules.map(({ nft }) => `insert rule ${family} ${table} ${name} ${nft} accept`);
    return [`nft '${inserted.join("; ")}'`];
  }
  const program = family === "ip6" ? "ip6tables" : "iptables";
  const chain = listing.includes("chain DOCKER-USER {") ? "DOCKER-USER" : name;
  return rules.map(({ iptables }) => `${program} -I ${chain} ${iptables} -j ACCEPT`);
}

function tunnelRules(base: string): { nft: string; iptables: string }[] {
  return [
    { nft: `oifname "${base}*"`, iptables: `-o ${base}+` },
    { nft: `iifname "${base}*"`, iptables: `-i ${base}+` },
  ];
}

function uplinkRules({ lans, uplink }: ForwardingPath): { nft: string; iptables: string }[] {
  return lans.flatMap((lan) => [
    { nft: `iifname "${lan}" oifname "${uplink}"`, iptables: `-i ${lan} -o ${uplink}` },
    {
      nft: `iifname "${uplink}" oifname "${lan}" ct state established,related`,
      iptables: `-i ${uplink} -o ${lan} -m conntrack --ctstate RELATED,ESTABLISHED`,
    },
  ]);
}
