import { mustParsePrefix, overlap, type Prefix } from "../base/address.ts";
import { hasCarrier, type Reading } from "./host-network.ts";

/** Of systemd-networkd: the uplink of a flashed gateway, and of no other one. */
export const UPLINK_FILE = "/etc/systemd/network/cable.network";

/** Their names with `net.ifnames=0`, as the flashed image has them. */
const PORT = /^eth\d{1,2}$/;
const RADIO = /^wlan\d{1,2}$/;
/** Each look asks at all of them. */
export const MAX_PORTS = 8;

/** A network port of a flashed gateway. */
export interface Port {
  name: string;
  hasCarrier: boolean;
}

/** A port at which a DHCP server was looked for. */
export interface AskedPort extends Port {
  answers: boolean;
}

/** Where the ports lead. With one cable, the uplink is the LAN too. */
export interface PortRoles {
  uplink: string;
  lans: readonly string[];
}

export function portsIn({ addresses }: Pick<Reading, "addresses">): Port[] {
  return addresses
    .filter(({ ifname, link_type }) => PORT.test(ifname) && link_type === "ether")
    .map((link) => ({ name: link.ifname, hasCarrier: hasCarrier(link) }))
    .sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }))
    .slice(0, MAX_PORTS);
}

/** The Wi-Fi cards of a flashed gateway, without those that root has connected to a network. */
export function radiosIn({ addresses }: Pick<Reading, "addresses">): string[] {
  const radios = addresses.filter(({ ifname, link_type }) => RADIO.test(ifname) && link_type === "ether");
  return radios.flatMap((radio) => (hasCarrier(radio) ? [] : radio.ifname)).sort();
}

/**
 * Which port is the uplink: the only one at which a DHCP server answers. If something else is plugged in beside it, the other
 * ports are the LAN's. If servers answer at several, all lead to one router, or it cannot be told: then one cable is used.
 * Null if nothing answers.
 */
export function rolesFor(ports: readonly AskedPort[], formerUplink: string): PortRoles | null {
  const answering = ports.filter(({ answers }) => answers).map(({ name }) => name);
  const uplink = answering.includes(formerUplink) ? formerUplink : answering[0];
  if (uplink === undefined) return null;
  const others = ports.filter(({ name }) => name !== uplink);
  const hasLan = answering.length === 1 && others.some((port) => port.hasCarrier);
  return { uplink, lans: hasLan ? others.map(({ name }) => name) : [uplink] };
}

export function isOneCable({ uplink, lans }: PortRoles): boolean {
  return lans.includes(uplink);
}

export const NOT_FLASHED =
  "only a flashed gateway has such ports; type: sudo portcullis setup --lan … --uplink …";

/** Why the ports of these names cannot have these roles; null if they can. */
export function rolesFault({ uplink, lans }: PortRoles, names: readonly string[]): string | null {
  const unknown = [uplink, ...lans].find((name) => !names.includes(name));
  if (unknown !== undefined)
    return `there is no network port ${unknown}; there are: ${names.join(", ") || "none"}`;
  const twice = lans.find((name, at) => lans.indexOf(name) !== at);
  if (twice !== undefined) return `${twice} is named twice`;
  if (lans.includes(uplink) && lans.length > 1)
    return `${uplink} is the uplink: name other ports for the LAN, or this one alone for one cable`;
  return null;
}

/** 192.168.x.0/24, or where all of that is taken, 172.28.x.0/24: providers of tunnels use 10.0.0.0/8. */
const BLOCKS = ["192.168", "172.28"];
/** Routers rarely have these. */
const [FIRST, LAST] = [73, 254];

interface OwnAddress {
  interface: string;
  prefix: Prefix;
  isLeased: boolean;
}

/** The addresses that the gateway has given the ports of these names, and takes back when they get other roles. */
export function givenIn<Own extends OwnAddress>(addresses: readonly Own[], lans: readonly string[]): Own[] {
  return addresses.filter(({ interface: name, isLeased }) => !isLeased && lans.includes(name));
}

/** Those of all others, leased or not: a lease without an end looks like an address that nobody has leased. */
export function prefixesBeside(addresses: readonly OwnAddress[], given: readonly OwnAddress[]): Prefix[] {
  const isGiven = (each: OwnAddress) =>
    given.some((one) => one.interface === each.interface && one.prefix === each.prefix);
  return addresses.filter((each) => !isGiven(each)).map(({ prefix }) => prefix);
}

/** The gateway's addresses in `count` networks that do not overlap a taken one; fewer if there is no room. */
export function freeNetworks(count: number, taken: readonly Prefix[]): Prefix[] {
  const all = BLOCKS.flatMap((block) =>
    Array.from({ length: LAST - FIRST + 1 }, (_, at) => mustParsePrefix(`${block}.${FIRST + at}.1/24`)),
  );
  return all.filter((own) => taken.every((other) => !overlap(own, other))).slice(0, count);
}
