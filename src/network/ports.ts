import { hasCarrier, type Reading } from "./host-network.ts";

/** Their names with `net.ifnames=0`, as the flashed image has them. */
const PORT = /^eth\d{1,2}$/;
const RADIO = /^wlan\d{1,2}$/;
/** Each look asks at all of them. */
const MAX_PORTS = 8;

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
