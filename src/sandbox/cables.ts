import { lines } from "./lines.ts";
import type { Computer, Namespaces, NetworkCards } from "./topology.ts";

/** What the cables connect. */
export interface Home {
  namespaces: Namespaces;
  cards: NetworkCards;
  computers: readonly Computer[];
  /** The namespace of the phone on the internet; null if there is none. */
  phone: string | null;
}

/** One cable: a link in one namespace, and its other end in another. */
type Cable = [namespace: string, link: string, otherNamespace: string, otherLink: string];

/** The `ip -batch` text that creates all cables of the sandbox. */
export function cableText(home: Home): string {
  return lines(
    cablesOf(home).map(
      ([a, left, b, right]) => `link add ${left} netns ${a} type veth peer ${right} netns ${b}`,
    ),
  );
}

/** The ends of all cables, by namespace. */
export function linksOf(home: Home): Map<string, string[]> {
  const ends = cablesOf(home).flatMap(([a, left, b, right]) => [
    { namespace: a, link: left },
    { namespace: b, link: right },
  ]);
  const grouped = Map.groupBy(ends, (end) => end.namespace);
  return new Map([...grouped].map(([namespace, group]) => [namespace, group.map((end) => end.link)]));
}

/**
 * The ports of the switches, by switch. With two network cards the computers are not at the router's switch: a single
 * one is connected to the gateway, and several have a switch of their own.
 */
export function portsOf({ cards, computers }: Home): Record<string, string[]> {
  const ports = computers.map(portOf);
  if (cards === 1) return { switch: ["gateway", "router", ...ports] };
  return { switch: ["gateway", "router"], ...(ports.length > 1 && { home: ["lan", ...ports] }) };
}

function cablesOf(home: Home): Cable[] {
  const { namespaces: ns, cards, phone } = home;
  return [
    [ns.router, "wan0", ns.internet, "router"],
    [ns.vpn1, "wan0", ns.internet, "vpn1"],
    [ns.vpn2, "wan0", ns.internet, "vpn2"],
    ...(phone === null ? [] : [[phone, "wan0", ns.internet, "phone"] satisfies Cable]),
    [ns.router, "lan0", ns.switch, "router"],
    [ns.gateway, cards === 1 ? "lan0" : "wan0", ns.switch, "gateway"],
    ...lanCables(home),
  ];
}

function lanCables(home: Home): Cable[] {
  const { namespaces: ns, cards, computers } = home;
  if (cards === 2 && computers.length === 1) return [[ns.client, "lan0", ns.gateway, "lan0"]];
  return [
    ...(cards === 2 ? [[ns.gateway, "lan0", ns.switch, "lan"] satisfies Cable] : []),
    ...computers.map((each): Cable => [each.namespace, "lan0", ns.switch, portOf(each)]),
  ];
}

function portOf({ name }: Computer): string {
  return name.toLowerCase();
}
