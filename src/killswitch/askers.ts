import { familyOf } from "../base/address.ts";
import { REFUSAL_MARK } from "../network/slot.ts";
import { isBlockedExit } from "../shared/exits.ts";
import { DIRECT } from "./direct.ts";
import { ASSIGNED, NO_DEVICE, setFor } from "./exits.ts";
import { clientLinks } from "./link.ts";
import { among, anyOf, chain, DNS, elementsLine, headerOf, isMarked, set, tableSet } from "./match.ts";
import { meshOf } from "./mesh.ts";
import { ASKER_PORTS } from "./own-resolver.ts";
import { type Asker, directDevices, type OwnResolver, type Policy } from "./policy.ts";
import { refuse } from "./strangers.ts";

/** All devices that have a port of their own or for which something is decided, and an entry that is no device. */
const ASKERS = "askers";
/** The map from each device to the zone of its queries, which has the number of its port. */
const ASKER_ZONES = "asker_zones";
/** The set of all ports at which the resolver listens. */
const RESOLVER_PORTS = "resolver_ports";
const ASK_RESOLVER = "ask_resolver";

/** They exist even without devices, so that a new device changes only elements. */
export function askerSets(policy: Policy): string[] {
  const { resolver } = policy;
  if (resolver === undefined) return [];
  const ports = portsOf(resolver);
  return [
    tableSet(ASKERS, "ether_addr", [...macsIn(policy, resolver), NO_DEVICE]),
    tableSet(RESOLVER_PORTS, "inet_service", ports.map(String)),
    mapOf(ASKER_ZONES, "ether saddr : ct original zone", zonesOf(resolver)),
    mapOf(
      ASKER_PORTS,
      "ct original zone : th dport",
      ports.map((port) => `${port} : ${port}`),
    ),
  ];
}

/**
 * Queries of the LAN go to the gateway itself, whichever resolver they are sent to. They are in no tunnel, and get no
 * mark, so that a query that is not redirected later is refused by both layers. Direct devices query outside, as
 * without the gateway's resolver.
 */
export function queriesForGateway(policy: Policy): string[] {
  if (policy.resolver === undefined) return [];
  const others = directDevices(policy).length === 0 ? "" : `ether saddr != @${setFor(DIRECT)} `;
  return [
    `${DNS} ${others}${isMarked(REFUSAL_MARK, "!=")} goto ${ASK_RESOLVER} comment "queries are for the gateway's own resolver"`,
  ];
}

/**
 * Puts the queries of each device into a zone of its own, by its MAC address: source addresses and whole connections can
 * be forged. The zone is that of one direction, so that answers find the connection. A device that is in the set and not
 * in the map is refused: it has no port yet, or the table is being replaced, when maps seem empty and sets do not (Linux
 * 6.18). Other devices share a zone, unless the set was emptied, and those of networks with a default exit of their own:
 * that zone is answered by the home's.
 */
export function askResolver(policy: Policy): string[] {
  const { resolver, networks = [] } = policy;
  if (resolver === undefined) return [];
  const own = networks.filter(({ exit }) => exit !== null).map((each) => each.interface);
  const [home = ""] = own.length === 0 ? [] : [`iifname != ${set(own)} `];
  const others = `ct original zone set ${resolver.port} accept`;
  return [
    chain(ASK_RESOLVER, null, [
      ...askersBehindRouters(policy, resolver),
      ...fromBlockedNetworks(policy),
      `ct original zone set ether saddr map @${ASKER_ZONES} accept comment "the zone tells which device asks"`,
      `${home}ether saddr & ${NO_DEVICE} @${ASKERS} ether saddr != @${ASKERS} ${others} comment "nothing is decided for this device"`,
      `${home}meta iiftype != ether ${others} comment "without a MAC address there are no devices"`,
      ...refuse('comment "nobody knows yet which device asks"'),
    ]),
  ];
}

/**
 * A device of a blocked network may have the MAC address of one that is on another network, where it would be answered. Those
 * with an exit or a rule of their own are.
 */
function fromBlockedNetworks({ networks = [], destinations = [] }: Policy): string[] {
  const blocked = networks.filter(({ exit }) => isBlockedExit(exit)).map((each) => each.interface);
  const ruled = destinations.flatMap((each) => each.devices).filter(isMac);
  const others = ruled.length === 0 ? "" : ` ether saddr != ${anyOf([...new Set(ruled)].sort())}`;
  return among("iifname", blocked).flatMap((from) =>
    refuse('comment "the network is blocked"', `${from} ether saddr != @${ASSIGNED}${others} `),
  );
}

/**
 * A network's packets come only from its routers; hosts on the cable have no exit of their own. What comes by a mesh has
 * the address that the mesh has proven: its devices without an exit of their own are one asker.
 */
function askersBehindRouters(policy: Policy, { askers }: OwnResolver): string[] {
  const meshes = policy.lans.flatMap(({ mesh, prefixes }) => (mesh ? prefixes : []));
  return [...policy.routed.map(({ prefix }) => prefix), ...meshes].flatMap((prefix) => {
    const mesh = meshOf(prefix, policy)?.interface;
    const from = `${mesh === undefined ? "" : `iifname "${mesh}" `}${headerOf(familyOf(prefix))} saddr ${prefix} `;
    const { port = null, routers = [] } = askers.find(({ id }) => id === prefix) ?? {};
    if (mesh !== undefined) return fromMesh(from, port);
    const sender =
      routers === null
        ? `ether saddr & ${NO_DEVICE} @${ASSIGNED} ether saddr != @${ASSIGNED}`
        : `ether saddr ${anyOf(routers.toSorted())}`;
    return [
      ...(port === null || routers?.length === 0
        ? []
        : [`${from}${sender} ct original zone set ${port} accept comment "a network behind another router"`]),
      ...refuse('comment "no router leads to this network"', from),
    ];
  });
}

function fromMesh(from: string, port: number | null): string[] {
  const comment = 'comment "a mesh has proven the address"';
  return [
    ...(port === null ? [] : [`${from}ct original zone set ${port} accept ${comment}`]),
    ...refuse(comment, from),
  ];
}

/**
 * What is sent to one of the resolver's ports directly was not assigned to a device. Hosts outside the LAN get no
 * answer.
 */
export function refuseUnasked(policy: Policy): string[] {
  if (policy.resolver === undefined) return [];
  return [
    chain("own_resolver", "type filter hook input priority filter - 10; policy accept;", [
      `th dport @${RESOLVER_PORTS} meta l4proto { tcp, udp } goto only_redirected comment "the resolver's own ports"`,
    ]),
    chain("only_redirected", null, [
      'ct direction original ct status dnat accept comment "redirected queries"',
      ...among("iifname", ["lo", ...clientLinks(policy)]).flatMap((from) =>
        refuse('comment "the firewall has not told who asks"', `${from} `),
      ),
      'drop comment "hosts outside the LAN get no answer"',
    ]),
  ];
}

function portsOf({ port, askers }: OwnResolver): number[] {
  return [port, ...askers.flatMap((asker) => asker.port ?? [])].sort((a, b) => a - b);
}

function zonesOf({ askers }: OwnResolver): string[] {
  return askers.flatMap(({ id, port }) => (port === null || !isMac(id) ? [] : [`${id} : ${port}`])).sort();
}

/** What is decided for a device counts for its queries from the same transaction on. */
function macsIn({ devices, destinations = [] }: Policy, { askers }: OwnResolver): Asker["id"][] {
  const decided = [...devices.map(({ id }) => id), ...destinations.flatMap((each) => each.devices)];
  return [...askers.map(({ id }) => id), ...decided].filter(isMac);
}

function isMac(id: Asker["id"]): boolean {
  return !id.includes("/");
}

function mapOf(name: string, type: string, elements: readonly string[]): string {
  return `  map ${name} {\n    typeof ${type}\n${elementsLine(elements)}  }\n`;
}
