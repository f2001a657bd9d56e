import { lines } from "./lines.ts";
import type { Arms, Namespaces } from "./topology.ts";

/** One cable: a link in one namespace, and its other end in another. */
type Cable = [namespace: string, link: string, otherNamespace: string, otherLink: string];

/** The `ip -batch` text that creates all cables of the sandbox. */
export function cableText(ns: Namespaces, arms: Arms): string {
  return lines(
    cablesOf(ns, arms).map(
      ([a, left, b, right]) => `link add ${left} netns ${a} type veth peer ${right} netns ${b}`,
    ),
  );
}

/** The ends of all cables, by namespace. */
export function linksOf(ns: Namespaces, arms: Arms): Map<string, string[]> {
  const ends = cablesOf(ns, arms).flatMap(([a, left, b, right]) => [
    { namespace: a, link: left },
    { namespace: b, link: right },
  ]);
  const grouped = Map.groupBy(ends, (end) => end.namespace);
  return new Map([...grouped].map(([namespace, group]) => [namespace, group.map((end) => end.link)]));
}

function cablesOf(ns: Namespaces, arms: Arms): Cable[] {
  const outside: Cable[] = [
    [ns.router, "wan0", ns.internet, "router"],
    [ns.vpn1, "wan0", ns.internet, "vpn1"],
    [ns.vpn2, "wan0", ns.internet, "vpn2"],
    [ns.router, "lan0", ns.switch, "router"],
  ];
  const oneCard: Cable[] = [
    [ns.gateway, "lan0", ns.switch, "gateway"],
    [ns.client, "lan0", ns.switch, "client"],
  ];
  const twoCards: Cable[] = [
    [ns.gateway, "wan0", ns.switch, "gateway"],
    [ns.client, "lan0", ns.gateway, "lan0"],
  ];
  return [...outside, ...(arms === 1 ? oneCard : twoCards)];
}
