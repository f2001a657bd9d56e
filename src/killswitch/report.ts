import type { Settings } from "../base/settings.ts";
import { meshesBeside, withMeshes } from "../network/entrances.ts";
import {
  closedToMeshes,
  type HostNetwork,
  networkBeside,
  networkIn,
  readNetwork,
  tunnelAddressesIn,
} from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { LEAVE_DIRECTLY } from "./destination-ways.ts";
import { DIRECT, ZONES } from "./direct.ts";
import { setFor } from "./exits.ts";
import { removalOf } from "./foreign-rule.ts";
import { OWN_NUMBERS, readAllRules, ruleDifferences, type ShownRules } from "./kernel-rules.ts";
import { chainsListed, elementsOf, endsInRefusal, FINAL_RULES, isDormant } from "./listing.ts";
import { isBetweenRule } from "./networks.ts";
import { isRelayRule } from "./relay.ts";
import { isRemoteZone } from "./remote-part.ts";
import { isRemoteRule } from "./remote-routing.ts";
import { isRouterRule } from "./router.ts";
import { DIRECT_RULES, isBarrier, isRoutedRule, type Rule, rulesFor, rulesOn } from "./routing-rules.ts";
import { listTable } from "./table.ts";

/** One part of the kill switch, as the kernel has it. */
export interface Part {
  name: string;
  holds: boolean;
  /** What was found, for people. */
  found: string;
  /** The command that ends it; missing if the part holds, or if the service repairs it. */
  remedy?: string;
}

export interface Inspection {
  /** Whether both layers are in place, and match the tunnel's state. */
  stands: boolean;
  /** Either layer alone blocks all traffic outside the tunnel. */
  firewall: boolean;
  routing: boolean;
  /** How many devices may leave outside the tunnel, because the operator allows it. */
  direct: number;
  /** Present if traffic to some destinations may, for the same reason. */
  destinations?: true;
  parts: Part[];
}

/** What the kernel should have, as far as the caller knows. */
export interface Expectation {
  network: HostNetwork;
  rules: readonly Rule[];
  /** Whether the table is what was loaded; null if the service does not run. */
  isAsLoaded: ((listing: string) => boolean) | null;
  /** Why the last change did not reach the kernel, or null. */
  fault: string | null;
}

/** The parts, grouped by their place in the kernel. */
export interface Found {
  table: readonly Part[];
  rules: readonly Part[];
  sysctls: SysctlParts;
  direct: number;
  /** Whether traffic to some destinations leaves outside the tunnel. */
  destinations: boolean;
}

/** The parts of each layer. */
export interface Layers {
  firewall: readonly Part[];
  routing: readonly Part[];
}

export interface SysctlParts {
  redirects: Part;
  forwarding: Part;
}

/** Reads every part of the kill switch from the kernel. */
export async function inspect(host: Host, expected: Expectation): Promise<Inspection> {
  const [listing, { ours, ahead }, sysctls] = await Promise.all([
    listTable(host),
    readAllRules(host),
    readSysctls(host, expected.network),
  ]);
  const table = tableParts(listing, expected.isAsLoaded);
  const direct = directIn(listing);
  const destinations = leadsOutside(listing);
  const more = direct === 0 && !destinations ? [] : rulesOn(expected.network.ipv6, DIRECT_RULES);
  // Only the service knows which rules between networks, to routed ones and for remote devices there should be.
  const isTheirs = (rule: Rule) =>
    isBetweenRule(rule) ||
    isRoutedRule(rule) ||
    isRemoteRule(rule) ||
    isRouterRule(rule) ||
    isRelayRule(rule);
  const rules = { ours: ours.filter((rule) => !isTheirs(rule)), ahead };
  const parts = ruleParts(rules, { ...expected, rules: [...expected.rules, ...more] });
  return inspectionOf({ table, rules: parts, sysctls, direct, destinations }, expected.fault);
}

/**
 * The same without a running service. Only the service knows what was loaded; everything else is in the kernel. `known`
 * is the network, or null if it is not known which interface was which.
 */
export async function inspectOffline(
  host: Host,
  known: HostNetwork | null,
  settings: Settings,
): Promise<Inspection> {
  const reading = await readNetwork(host);
  const network = known ?? networkIn(reading, settings);
  const inside = tunnelAddressesIn(reading, settings);
  const rules = rulesFor(
    withMeshes(meshesBeside(networkBeside(network, inside), closedToMeshes(reading, settings))),
  );
  return inspect(host, { network, rules, isAsLoaded: null, fault: null });
}

/** How many devices a listing of the table lets out of the tunnel. */
export function directIn(listing: string | null): number {
  const chains = chainsListed(listing ?? "");
  // Remote devices have no MAC address, but each has a zone.
  const remote = elementsOf(ZONES, chains).filter((zone) => isRemoteZone(Number(zone)));
  return elementsOf(setFor(DIRECT), chains).length + remote.length;
}

/** Whether a listing of the table lets traffic to some destinations out of the tunnel. */
export function leadsOutside(listing: string | null): boolean {
  return chainsListed(listing ?? "").has(LEAVE_DIRECTLY);
}

export function layersOf({ table, rules, sysctls }: Found): Layers {
  return { firewall: table, routing: [...rules, sysctls.redirects] };
}

export function inspectionOf(found: Found, fault: string | null): Inspection {
  const { direct, destinations } = found;
  const layers = layersOf(found);
  const firewall = allHold(layers.firewall);
  const routing = allHold(layers.routing);
  const last = part("last change", fault === null, "is in the kernel", `failed: ${fault}`);
  const some = direct === 1 ? "1 leaves" : `${direct} leave`;
  const who = [
    ...(direct === 0 ? [] : [`${some} outside the tunnel`]),
    ...(destinations ? ["traffic to some destinations leaves outside the tunnel"] : []),
  ];
  const leaving =
    who.length === 0 ? "none leaves outside the tunnel" : `${who.join(", and ")}, as allowed on the gateway`;
  const directs = part(
    "direct devices",
    firewall || routing,
    leaving,
    "nothing keeps any device inside the tunnel",
  );
  const parts = [...layers.firewall, ...layers.routing, last, found.sysctls.forwarding, directs];
  return {
    ...{ stands: firewall && routing && last.holds, firewall, routing, direct },
    ...(destinations && { destinations }),
    parts,
  };
}

/** One line that says why the kill switch cannot be relied on, or null. `foreignRule` describes a rule ahead of ours. */
export function faultIn({ firewall, stands, parts }: Inspection, foreignRule: string | null): string | null {
  if (!firewall) return "the kill switch's rules are not in the kernel, or another program has altered them";
  if (foreignRule !== null) return foreignRule;
  const broken = parts.find((part) => !part.holds);
  return stands ? null : `a part of the kill switch is not in place: ${broken?.name}: ${broken?.found}`;
}

export function allHold(parts: readonly Part[]): boolean {
  return parts.every((part) => part.holds);
}

export function tableParts(listing: string | null, isAsLoaded: Expectation["isAsLoaded"]): Part[] {
  const chains = chainsListed(listing ?? "");
  const trouble = listing === null ? "is missing" : "is switched off (flags dormant)";
  const awake = listing !== null && !isDormant(chains);
  const table = part("firewall table", awake, "inet portcullis is in the kernel", trouble);
  if (listing === null) return [table];
  const refusals = (Object.keys(FINAL_RULES) as (keyof typeof FINAL_RULES)[]).map((name) =>
    part(
      `chain ${name}`,
      endsInRefusal(chains, name),
      `hooked, drops by policy, and ends in "${verdictOf(chains.get(name)?.at(-1))}"`,
      "does not end in a rule that refuses everything else",
    ),
  );
  if (isAsLoaded === null) return [table, ...refusals];
  const same = isAsLoaded(listing);
  const unaltered = part("firewall rules", same, "are as the service loaded them", "have been altered");
  return [table, ...refusals, unaltered];
}

export function ruleParts(
  { ours: present, ahead }: ShownRules,
  { rules: wanted, network }: Pick<Expectation, "rules" | "network">,
): Part[] {
  const families = ([4, 6] as const).map((family) => {
    const ours = (rules: readonly Rule[]) => rules.filter((rule) => rule.family === family);
    const differences = ruleDifferences(ours(present), ours(wanted));
    const blocks = ours(wanted).some(isBarrier) || (family === 6 && network.ipv6 === "missing");
    return part(
      `routing rules, IPv${family}`,
      differences === 0 && blocks,
      "send everything except WireGuard, DHCP and the LAN into the tunnel, or nowhere without a tunnel",
      blocks
        ? `${differences} of the rules ${OWN_NUMBERS} are missing or altered`
        : "do not block: the kill switch is off",
    );
  });
  const first = part(
    "rules ahead",
    ahead.length === 0,
    "no other program's rule comes before them",
    `another program's rule comes before the kill switch's: ${ahead[0]?.priority} ${ahead[0]?.text}`,
  );
  return [...families, ahead.length === 0 ? first : { ...first, remedy: removalOf(ahead) }];
}

export async function readSysctls(host: Host, network: HostNetwork): Promise<SysctlParts> {
  const [redirects, forwarding] = await Promise.all([redirectsPart(host, network), forwardingPart(host)]);
  return { redirects, forwarding };
}

async function redirectsPart(host: Host, { lans, uplink }: HostNetwork): Promise<Part> {
  const names = new Set(["all", ...lans.map((lan) => lan.interface), ...(uplink === null ? [] : [uplink])]);
  const on: string[] = [];
  for (const name of names) {
    const value = await host.read(`/proc/sys/net/ipv4/conf/${name}/send_redirects`);
    if (value?.trim() === "1") on.push(name);
  }
  const sent = `net.ipv4.conf.${on[0]}.send_redirects is 1: redirects may lead clients past the gateway`;
  return part("ICMP redirects", on.length === 0, "none are sent", sent);
}

async function forwardingPart(host: Host): Promise<Part> {
  const value = await host.read("/proc/sys/net/ipv4/ip_forward");
  return part(
    "forwarding",
    value?.trim() === "1",
    "on: LAN clients are served",
    "off: LAN clients are not served",
  );
}

function part(name: string, holds: boolean, yes: string, no: string): Part {
  return { name, holds, found: holds ? yes : no };
}

/** The first word of a rule that is only a verdict; listings spell the rest in numbers. */
function verdictOf(rule = ""): string {
  return rule.split(" ")[0] ?? "";
}
