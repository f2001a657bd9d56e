/** The kernel resources that belong to one tunnel. */
export interface Slot {
  /** Slots are numbered from 0. */
  number: number;
  /** Two interfaces, so that a switch can connect to the next server while the previous one still carries traffic. */
  links: readonly [string, string];
  /** Conntrack zones of the two interfaces; never 0, which is the zone of everything outside the tunnels. */
  zones: readonly [number, number];
  /** Number of the routing table with only the tunnel's routes. */
  table: number;
  /** Firewall mark of the tunnel's own packets, in WireGuard's sense, within `MARK_MASK`. */
  mark: number;
}

/**
 * The gateway's bits of a firewall mark. The others belong to other programs: 0x2000 to the port mapping of CNI, 0x4000
 * and 0x8000 to Kubernetes, 0xff0000 to Tailscale.
 */
export const MARK_MASK = 0x1fff;
/** The same bits without the three that distinguish the slots. */
export const ANY_SLOT_MASK = 0x18ff;
/** The same without the bit that distinguishes packets of direct devices from those of tunnels. */
export const ANY_EXIT_MASK = 0x18fe;
const FIRST_MARK = 0x104c;
/** Set in the mark of packets that go through a tunnel, and not in the mark of the tunnel's own packets. */
const EXIT_BIT = 0x2;
const SLOT_BIT = 8;
const FIRST_TABLE = 20556;

/**
 * This mark belongs to no slot. It marks rejections to a device that used a public IPv6 address of the LAN. They return
 * only to the LAN.
 */
export const REFUSAL_MARK = 0x104d;

/**
 * This mark belongs to no slot either. It marks packets to and from a device with the exit `direct`. Its lowest bit is
 * set, which is clear in all marks of slots.
 */
export const DIRECT_MARK = 0x104f;

/**
 * This mark belongs to no slot either. It marks the packets of the socket at which remote devices come in. Its
 * lowest bit is set, too.
 */
export const REMOTE_MARK = 0x114d;

/**
 * This mark belongs to no slot either. It marks the service's requests to the home router, to let remote devices
 * in. Its lowest bit is set, too.
 */
export const ROUTER_MARK = 0x124d;

/**
 * This mark belongs to no slot either. It marks the connections of relays to servers: the kernel lets only a program
 * with CAP_NET_ADMIN or CAP_NET_RAW set a mark (net/core/sock.c). Its lowest bit is set, too.
 */
export const RELAY_MARK = 0x134d;

/** The slot of the tunnel `main`. */
export const MAIN_SLOT = 0;

/** As many as the bits of a mark that distinguish them can tell apart. */
export const MAX_TUNNELS = 8;

/** After those of the slots comes the table with the routes to networks behind other routers of the LAN. */
export const ROUTED_TABLE = FIRST_TABLE + MAX_TUNNELS;

/** After that comes the table with the routes to the LAN's own prefixes. */
export const LAN_TABLE = ROUTED_TABLE + 1;

/** Whether a routing table belongs to the gateway, which alone puts routes into it. */
export function isOwnTable(table: number): boolean {
  return table >= FIRST_TABLE && table <= LAN_TABLE;
}

/** Every slot, whether a tunnel uses it or not. */
export function allSlots(base: string): Slot[] {
  return Array.from({ length: MAX_TUNNELS }, (_, number) => slotOf(number, base));
}

/** The names that interfaces of tunnels can have. */
export function allLinks(base: string): string[] {
  return allSlots(base).flatMap(({ links }) => links);
}

/** The name of the interface from which packets of remote devices come. */
export function remoteLinkOf(base: string): string {
  return `${base}r`;
}

/** The names that the gateway's own interfaces can have. */
export function ownLinks(base: string): string[] {
  return [...allLinks(base), remoteLinkOf(base)];
}

/** The slot with that number; `base` is the base name of all tunnels' interfaces. */
export function slotOf(number: number, base: string): Slot {
  const first = 2 * number;
  return {
    number,
    links: [`${base}${first}`, `${base}${first + 1}`],
    zones: [first + 1, first + 2],
    table: tableOf(number),
    mark: markOf(number),
  };
}

export function tableOf(slot: number): number {
  return FIRST_TABLE + slot;
}

/** The number of the slot with that mark. */
export function slotIn(mark: number): number {
  return (mark >> SLOT_BIT) & (MAX_TUNNELS - 1);
}

export function markOf(slot: number): number {
  return FIRST_MARK | (slot << SLOT_BIT);
}

/** Whether packets of another program with this mark could be taken for the gateway's, or the gateway's for them. */
export function isOwnMark(mark: number, mask: number): boolean {
  const own = Array.from({ length: MAX_TUNNELS }, (_, slot) => markOf(slot));
  const all = [
    ...[...own, ...own.map(exitMarkOf)],
    ...[REFUSAL_MARK, DIRECT_MARK, REMOTE_MARK, ROUTER_MARK, RELAY_MARK],
  ];
  const bits = mask & MARK_MASK;
  return bits !== 0 && all.some((each) => (each & bits) === (mark & bits));
}

/** The mark of packets that go through a tunnel, from the mark of the tunnel's own packets. */
export function exitMarkOf(mark: number): number {
  return mark | EXIT_BIT;
}
