import type { Host } from "../system/host.ts";
import { isFor, matches, refusesRest, rulesFrom } from "./obstacles.ts";
import { chainsOfOthers } from "./table.ts";

/** A chain of another program that keeps the LAN from a TCP port of this machine, and the command that opens it. */
export interface BlockedPort {
  chain: string;
  port: number;
  remedies: readonly string[];
}

/** Rules that do not concern a device's TCP connection to this machine. */
const NOT_FOR_IT = /\b(udp|icmpv?6?|mark|status)\b|\bdaddr (2[2-5]\d\.|ff|type (?!local))/;

/** Chains for incoming packets that refuse what no rule accepts, and have no rule that accepts the LAN's to a port. */
export async function closedTo(
  host: Host,
  lans: readonly string[],
  ports: readonly number[],
): Promise<BlockedPort[]> {
  const closed: BlockedPort[] = [];
  for (const { chain, drops } of await chainsOfOthers(host, ["input"])) {
    const [family = "", table = "", name = ""] = chain.split(" ");
    const listing = await host.run(["nft", "-s", "list", "table", family, table]);
    if (!drops && !refusesRest(listing, name)) continue;
    const isUfw = /chain ufw6?-/.test(listing);
    for (const port of ports) {
      const rules = rulesFrom(listing, name).filter((rule) => isFor(rule, "new") && accepts(rule, port));
      const shut = lans.filter((lan) => !rules.some((rule) => matches(rule, "iif", lan)));
      if (shut.length === 0) continue;
      const remedies = shut.map((lan) => remedyFor({ family, table, name, isUfw }, lan, port));
      closed.push({ chain, port, remedies });
    }
  }
  return closed;
}

function accepts(rule: string, port: number): boolean {
  const [match = ""] = rule.split(' comment "');
  if (!/ accept$/.test(` ${match}`) || NOT_FOR_IT.test(match)) return false;
  const [, not, ports] = /\b(?:tcp|th) dport (!= )?(\{[^}]*\}|\S+)/.exec(match) ?? [];
  if (ports === undefined) return !/\bsport\b/.test(match);
  const named = [...ports.matchAll(/(\d+)(?:-(\d+))?/g)].some(
    ([, first = "", last = first]) => Number(first) <= port && port <= Number(last),
  );
  return named === (not === undefined);
}

function remedyFor(
  { family, table, name, isUfw }: { family: string; table: string; name: string; isUfw: boolean },
  lan: string,
  port: number,
): string {
  if (isUfw) return `ufw allow in on ${lan} to any port ${port} proto tcp`;
  if (table !== "filter" || name !== "INPUT")
    return `nft insert rule ${family} ${table} ${name} iifname ${lan} tcp dport ${port} accept`;
  return `${family === "ip6" ? "ip6tables" : "iptables"} -I INPUT -i ${lan} -p tcp --dport ${port} -j ACCEPT`;
}
