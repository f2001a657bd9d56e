import { type Address, contains, mustParsePrefix, prefixOf } from "../base/address.ts";
import { MAX_TUNNELS } from "../network/slot.ts";
import { isBlockedExit } from "../shared/exits.ts";
import type { Connection, Direction, Host } from "../system/host.ts";
import { destinationExit, type Sender } from "./destination-exits.ts";
import { DESTINATION_ZONE, zoneOf } from "./direct.ts";
import { exitOfLink } from "./network-part.ts";
import type { DeviceAt, Exit, FirewallTunnel, Policy } from "./policy.ts";
import { FIRST_REMOTE_ZONE, homeAt, remoteAt, remoteZoneOf } from "./remote-part.ts";
import { hasRemotePort } from "./remote-socket.ts";

/** There are two for each tunnel. */
const LAST_TUNNEL_ZONE = 2 * MAX_TUNNELS;
/**
 * For this many ended connections at a time, the devices are told at once. For others, the device is told when it sends
 * something.
 */
const MAX_CHALLENGES = 512;
/** By then whoever has asked for the change mostly has the answer. */
const ANSWERED_WITHIN_MS = 10;
const PROTOCOLS = { tcp: 6, udp: 17 };
const DNS_PORT = 53;
/** Of DNS over TLS and QUIC. */
const SECURE_DNS_PORT = 853;

type Forward = Policy["forwards"][number];

/** An address of the remote devices' network that no device has. */
const NOBODY: Sender = { id: mustParsePrefix("0.0.0.0/32"), exit: { to: "blocked" } };

/**
 * Ends the connections that the policy no longer permits: those of a tunnel that has ended or has another address, of a
 * device that has another exit, or of a forwarded port that is closed. The kernel would keep some for days, and the
 * next user of the zone would have them. The firewall lets none of them out meanwhile.
 */
export class Connections {
  /** What the newest policy decides; null before the first, and after a look that failed. */
  private settledFor: unknown = null;
  /** Whether a look is to begin. */
  private isDue = false;
  /**
   * The newest policy. A look takes seconds if the table is full, and one with an older policy would end valid
   * connections.
   */
  private policy: Policy | null = null;
  private work: Promise<void> = Promise.resolve();
  /**
   * The forwarded ports since the last look. After a start, the ports that are not open again yet are not among them,
   * so their connections continue.
   */
  private forwards: Policy["forwards"] = [];
  /** Whether a look waits for the one before. Policies that come meanwhile need no further look. */
  private waits = false;

  constructor(
    private readonly host: Pick<Host, "endConnections" | "challenge" | "sleep">,
    private readonly deviceAt: DeviceAt,
  ) {}

  /**
   * Looks at the kernel's connections if the policy has changed what it permits, or in any case if asked to. Resolves
   * after the look.
   */
  settle(policy: Policy, isDue = false): Promise<void> {
    this.take(policy);
    if (this.isDue || isDue) this.begin();
    return this.work;
  }

  /** The same, a moment later, for a policy that is in force: the look takes the processor from the answer to the change. */
  async settleOnceAnswered(policy: Policy): Promise<void> {
    this.take(policy);
    if (!this.isDue) return;
    await this.host.sleep(ANSWERED_WITHIN_MS);
    if (this.isDue) this.begin();
  }

  /** What is due stays due, even if the next policy permits what the one before the last did. */
  private take(policy: Policy): void {
    const { lans, addresses, endpoints, devices, routed, defaultExit, forwards, remote } = policy;
    const { destinations, networks, resolver } = policy;
    const decides = {
      ...{ lans, addresses, endpoints, devices, routed, defaultExit },
      // Whom it answers changes with each device.
      ...{ forwards, remote, destinations, networks, isResolving: resolver !== undefined },
    };
    this.policy = policy;
    const isNew = (each: Forward) => !this.forwards.some((other) => Bun.deepEquals(each, other));
    this.forwards = [...this.forwards, ...forwards.filter(isNew)];
    this.isDue ||= !Bun.deepEquals(decides, this.settledFor);
    this.settledFor = decides;
  }

  private begin(): void {
    const { policy } = this;
    this.isDue = false;
    if (policy !== null && !this.waits) this.work = this.work.then(() => this.look(policy));
    this.waits = true;
  }

  private async look(asked: Policy): Promise<void> {
    this.waits = false;
    const newest = () => this.policy ?? asked;
    try {
      const ended = await this.host.endConnections((each) =>
        isOver(each, newest(), this.deviceAt, this.forwards),
      );
      this.forwards = newest().forwards;
      await this.host.challenge(toTell(ended, newest()));
    } catch {
      // The kernel does not have the module. Connections then end by themselves, and their packets are still refused.
      this.settledFor = null;
    }
  }
}

/**
 * Whether the policy no longer permits a connection. The gateway's connections outside the tunnels are left alone.
 * `former` are the forwarded ports that the policy may have closed.
 */
export function isOver(
  connection: Connection,
  policy: Policy,
  deviceAt: DeviceAt,
  former: Policy["forwards"],
): boolean {
  const { zone, original, reply } = connection;
  if (hasRemotePort(connection, policy)) return true;
  const own = () => ownExit(connection, policy, deviceAt);
  if (zone === DESTINATION_ZONE) {
    const exit = own();
    return exit !== undefined && exit?.to !== "direct";
  }
  if (zone >= FIRST_REMOTE_ZONE)
    return !directZonesIn(policy).has(zone) || isUnredirected(connection, policy) || own() != null;
  if (zone === 0) return isOfFormerRemote(connection, policy) || isPastResolver(connection, policy);
  if (zone > LAST_TUNNEL_ZONE) return false;
  if ([original.source, reply.source].some((address) => policy.addresses.includes(address))) return false;
  const tunnels = policy.endpoints.filter((tunnel) => tunnel.zone === zone);
  // Inside a tunnel, a device of the LAN may claim any address as its own.
  if (tunnels.some(({ addresses }) => addresses.includes(original.source))) return false;
  const inward = tunnels.find(({ addresses }) => addresses.includes(original.destination));
  if (inward !== undefined)
    return !isForwarded(connection, inward, policy.forwards) && isForwarded(connection, inward, former);
  const outward = tunnels.find(({ addresses }) => addresses.includes(reply.destination));
  if (outward === undefined || isPastNames(connection, policy)) return true;
  const exit = own();
  if (exit === undefined) return false;
  return isElsewhere(exit ?? senderAt(original.source, policy, deviceAt)?.exit ?? null, outward);
}

/**
 * Whether these are a device's queries to the gateway, begun by a packet that came while the firewall was replaced, so
 * that no rule redirected it. A device that keeps asking from the same port would never be answered.
 */
function isUnredirected({ protocol, original, isRedirected }: Connection, policy: Policy): boolean {
  const isQuery = protocol === PROTOCOLS.udp && original.destinationPort === DNS_PORT;
  const own = [...policy.addresses, ...(policy.remote?.addresses ?? [])];
  return isQuery && !isRedirected && own.includes(original.destination);
}

/** Whether these are such queries that the gateway's own resolver should answer. */
function isPastResolver(connection: Connection, policy: Policy): boolean {
  return (
    policy.resolver !== undefined &&
    !policy.addresses.includes(connection.original.source) &&
    isUnredirected(connection, policy)
  );
}

/** Whether a device of the LAN encrypts its queries, past the gateway's own resolver: as a known one, that would go on. */
function isPastNames({ protocol, original }: Connection, { resolver, remote }: Policy): boolean {
  const isQuery = isOfPorts(protocol) && original.destinationPort === SECURE_DNS_PORT;
  return resolver !== undefined && isQuery && remoteAt(remote, original.source) === undefined;
}

/** Whether the protocol has ports. */
function isOfPorts(protocol: number): boolean {
  return protocol === PROTOCOLS.tcp || protocol === PROTOCOLS.udp;
}

function isForwarded(
  { protocol, original, reply }: Connection,
  tunnel: FirewallTunnel,
  forwards: Policy["forwards"],
): boolean {
  return forwards.some(
    (forward) =>
      forward.interface === tunnel.interface &&
      PROTOCOLS[forward.protocol] === protocol &&
      forward.inside === original.destinationPort &&
      forward.to === reply.source &&
      forward.port === reply.sourcePort,
  );
}

/**
 * Whether a remote device or another home may no longer have this connection to the LAN or to the gateway. The next
 * device with its address would get the replies.
 */
function isOfFormerRemote({ original, reply }: Connection, { remote, addresses }: Policy): boolean {
  const home = homeAt(remote, original.source);
  if (home !== undefined) return !home.reaches.includes(reply.source);
  const device = remoteAt(remote, original.source);
  const isGateways = [...addresses, ...(remote?.addresses ?? [])].includes(original.source);
  return !isGateways && (device === null || (device?.lan === false && !isDns(original)));
}

function isDns({ destinationPort }: Direction): boolean {
  return destinationPort === DNS_PORT;
}

/** The exit that the destination has of its own, as `destinationExit` tells it. DNS takes the exit of the device. */
function ownExit(
  { protocol, original }: Connection,
  policy: Policy,
  deviceAt: DeviceAt,
): Exit | null | undefined {
  const { source, destination, destinationPort } = original;
  const exit = destinationExit(policy, destination, senderAt(source, policy, deviceAt));
  const isQuery = isOfPorts(protocol) && [DNS_PORT, SECURE_DNS_PORT].includes(destinationPort);
  return isQuery && !isBlockedExit(exit) ? null : exit;
}

function isElsewhere(exit: Exit | null, { tunnel }: FirewallTunnel): boolean {
  return exit !== null && !(exit.to === "tunnel" && exit.name === tunnel);
}

/** Null if no known device has the address. */
function senderAt(address: Address, policy: Policy, deviceAt: DeviceAt): Sender | null {
  const network = policy.routed.find(({ prefix }) => contains(prefix, address));
  if (network !== undefined) return { id: network.prefix, exit: network.exit };
  const remote = remoteAt(policy.remote, address);
  if (remote !== undefined) return remote ?? NOBODY;
  const id = deviceAt(address);
  const lan = policy.lans.find(({ prefixes }) => prefixes.some((prefix) => contains(prefix, address)));
  const ofNetwork = exitOfLink(policy, lan?.interface);
  if (lan?.mesh) return { id: prefixOf(address), exit: ofNetwork };
  return id && { id, exit: policy.devices.find((device) => device.id === id)?.exit ?? ofNetwork };
}

/** This holds even while the uplink is down. */
function directZonesIn({ devices, remote }: Policy): ReadonlySet<number> {
  return new Set([
    ...devices.flatMap(({ id, exit }) => (exit.to === "direct" ? [zoneOf(id)] : [])),
    ...(remote?.devices ?? []).flatMap(({ id, exit }) => (exit.to === "direct" ? [remoteZoneOf(id)] : [])),
  ]);
}

/**
 * Looks no further than necessary. It takes some microseconds to find out whether an address is the LAN's, and a table
 * has many.
 */
function toTell(ended: readonly Connection[], policy: Policy): Direction[] {
  const told: Direction[] = [];
  for (const each of ended) {
    if (told.length >= MAX_CHALLENGES) break;
    told.push(...asSeenBy(policy, each));
  }
  return told;
}

/**
 * The address that the device takes for the other end, towards the device. Empty if no device may wait for more of it.
 */
function asSeenBy({ lans }: Policy, { isOpen, original, reply }: Connection): Direction[] {
  if (!isOpen) return [];
  const isOnLan = (address: Address) =>
    lans.some(({ prefixes }) => prefixes.some((prefix) => contains(prefix, address)));
  if (isOnLan(original.source))
    return [
      {
        ...{ source: original.destination, sourcePort: original.destinationPort },
        ...{ destination: original.source, destinationPort: original.sourcePort },
      },
    ];
  if (!isOnLan(reply.source)) return [];
  return [
    {
      ...{ source: reply.destination, sourcePort: reply.destinationPort },
      ...{ destination: reply.source, destinationPort: reply.sourcePort },
    },
  ];
}
