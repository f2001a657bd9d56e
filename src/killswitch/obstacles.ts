import type { Host } from "../system/host.ts";
import { chainsListed } from "./listing.ts";
import { chainsOfOthers } from "./table.ts";

/** The interfaces that the LAN's packets pass on their way into the tunnel. */
export interface Passage {
  lans: readonly string[];
  /** The interfaces that tunnels use. */
  tunnels: readonly string[];
  /** Base name of the tunnel's interfaces. */
  base: string;
}

/** A chain of another program that drops what the LAN sends into the tunnel. */
export interface Obstacle {
  /** Family, table and name, as nft prints them. */
  chain: string;
  /** The command that lets the LAN through. */
  remedy: string;
}

/**
 * Chains of other programs (ufw, Docker, firewalld) that refuse forwarded packets, by policy or by their last rule, and
 * have no rule that accepts the LAN's. Runs one command, and one more for each chain of another program on that hook.
 */
export async function obstaclesTo(host: Host, passage: Passage): Promise<Obstacle[]> {
  const obstacles: Obstacle[] = [];
  for (const { chain, drops } of await chainsOfOthers(host, ["forward"])) {
    const [family = "", table = "", name = ""] = chain.split(" ");
    const listing = await host.run(["nft", "-s", "list", "table", family, table]);
    if (!drops && !refusesRest(listing, name)) continue;
    if (letsThrough(listing, name, passage)) continue;
    obstacles.push({ chain, remedy: remedyFor(listing, { family, table, name }, passage) });
  }
  return obstacles;
}

/** Whether the rules that a packet passes in a chain accept what the LAN sends, and the replies. */
export function letsThrough(listing: string, chain: string, { lans, tunnels }: Passage): boolean {
  const rules = rulesFrom(listing, chain).filter(acceptsAnything);
  const passes = (rule: string, from: string, to: string) =>
    matches(rule, "iif", from) && matches(rule, "oif", to);
  return lans.every((lan) =>
    tunnels.every(
      (tunnel) =>
        rules.some((rule) => isFor(rule, "new") && passes(rule, lan, tunnel)) &&
        rules.some((rule) => isFor(rule, "established") && passes(rule, tunnel, lan)),
    ),
  );
}

/** Whether the last rule of a chain refuses every packet that comes to it. */
function refusesRest(listing: string, chain: string): boolean {
  const [last = ""] = chainsListed(listing).get(chain)?.at(-1)?.split(' comment "') ?? [];
  return /^(counter )?(drop|reject)( with [\w -]+)?$/.test(last);
}

/** The rules of the chain, and of all chains that it jumps to. */
function rulesFrom(listing: string, start: string): string[] {
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

function isFor(rule: string, state: "new" | "established"): boolean {
  const [, states] = /\bct state (.*)/.exec(rule) ?? [];
  return states === undefined || states.includes(state);
}

/** Whether a rule applies to packets of that interface: it names the interface, or none. */
function matches(rule: string, key: "iif" | "oif", link: string): boolean {
  const [, not, words] = new RegExp(`\\b${key}(?:name)? (!= )?(\\{[^}]*\\}|"[^"]*")`).exec(rule) ?? [];
  if (words === undefined) return true;
  const names = [...words.matchAll(/"([^"]*)"/g)].map(([, name = ""]) => name);
  const named = names.some((name) =>
    name.endsWith("*") ? link.startsWith(name.slice(0, -1)) : name === link,
  );
  return named === (not === undefined);
}

function remedyFor(
  listing: string,
  { family, table, name }: { family: string; table: string; name: string },
  { base }: Passage,
): string {
  if (listing.includes("chain ufw-")) return "ufw default allow routed";
  if (table !== "filter" || name !== "FORWARD") {
    const rules = ["oifname", "iifname"].map(
      (key) => `insert rule ${family} ${table} ${name} ${key} "${base}*" accept`,
    );
    return `nft '${rules.join("; ")}'`;
  }
  const program = family === "ip6" ? "ip6tables" : "iptables";
  const chain = listing.includes("chain DOCKER-USER {") ? "DOCKER-USER" : name;
  return ["-o", "-i"].map((way) => `${program} -I ${chain} ${way} ${base}+ -j ACCEPT`).join("; ");
}
