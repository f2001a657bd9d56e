import type { Address } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import type { RelaySpec } from "../transports/list.ts";
import type { BoundSocket, BoundTo, SocketHandlers } from "./bound-socket.ts";

/**
 * The only interface between the gateway and the machine. `LinuxHost` is the real one; tests use a fake kernel
 * instead. Nothing outside `system/` spawns a program, reads a clock or uses a file of the machine.
 */
export interface Host {
  /**
   * Runs a program to its end and returns what it printed.
   * Throws `GatewayError`: `timed_out` if it does not finish in time, `kernel_refused` if a kernel tool exits non-zero,
   * `unable` if another program does or if it cannot be started. The message names the program and, unless `secret`,
   * quotes the reason that it gave.
   */
  run(argv: readonly string[], options?: RunOptions): Promise<string>;
  /** What `ip -j` lists for these words, without starting it; null if only `ip` can tell. */
  listed?(words: readonly string[]): Promise<readonly unknown[] | null>;
  /** Removes a link, without starting `ip`; false if the kernel refuses, which only `ip` explains. */
  deleteLink?(name: string): Promise<boolean>;
  /**
   * Starts a program that outlives this one, in a session of its own. Resolves once `isUp` says that it works, or when
   * it has put itself into the background. Throws as `run` does.
   */
  startDaemon(
    argv: readonly string[],
    environment: Readonly<Record<string, string>>,
    isUp: () => Promise<boolean>,
  ): Promise<void>;
  /**
   * Starts a program that prints events, and calls back for each line, of errors too, until `stop` is called. Without a
   * limit every line is read.
   */
  watch(
    argv: readonly string[],
    onLine: (line: string) => void,
    onExit: () => void,
    limit?: LineLimit,
  ): Watch;
  /**
   * The text of a file, or the beginning of it; null if it cannot be read. `/proc/sys` is that of the served namespace.
   */
  read(path: string, mostBytes?: number): Promise<string | null>;
  /** Writes a setting below `/proc/sys`, of the served namespace. */
  writeSysctl(path: string, value: string): Promise<void>;
  /** Sends a request of WireGuard's cross-platform interface to a local socket; null if there is no answer. */
  exchange(socketPath: string, request: string): Promise<string | null>;
  /** Looks up the IPv4 and IPv6 addresses of a DNS name at `resolvers`, from UDP port `sourcePort` only. */
  lookup(name: string, resolvers: readonly string[], sourcePort: number): Promise<string[]>;
  /** Asks a host of the LAN for its name, by multicast DNS; null if it does not tell. The text may be anything. */
  hostName(address: string): Promise<string | null>;
  /**
   * Sends a resolver one query for each size, padded to an IP packet of that size; returns the sizes that were
   * answered, whatever the answer.
   */
  probeResolver(resolver: string, sizes: readonly number[]): Promise<number[]>;
  /** A UDP socket that is bound to a link and a peer. Throws `GatewayError("unable")` if no route leads there. */
  boundUdp(to: BoundTo, handlers: SocketHandlers): Promise<BoundSocket>;
  /** The same over TCP. What is sent before the connection is open waits for it. */
  boundTcp(to: BoundTo, handlers: SocketHandlers): Promise<BoundSocket>;
  /**
   * Sends a resolver one small query; returns the milliseconds until its answer, whatever that is, or null. Throws
   * `GatewayError("unable")` if nothing leads that way.
   */
  roundTrip(way: ResolverPath): Promise<number | null>;
  /**
   * Sends an ARP request for a router's address; returns the milliseconds until its answer, or null. Throws
   * `GatewayError("unable")` if the link is gone.
   */
  routerRoundTrip(way: RouterPath): Promise<number | null>;
  /**
   * Sends ICMP echo requests of these sizes, in bytes of the IP packet, that no router may fragment; returns the longest
   * that was answered, or null. Throws `GatewayError("unable")` if the kernel does not permit it; an abort ends it early.
   */
  probePath(path: Path, sizes: readonly number[], signal?: AbortSignal): Promise<number | null>;
  /**
   * Listens to other machines of a link. Throws `GatewayError("unable")` if there is no such link or the kernel
   * does not permit it.
   */
  listenOn(link: string, heard: Heard): Promise<LinkSocket>;
  /**
   * Opens a UDP socket, for the family of its own address or its peer's. Throws `GatewayError("unable")` if there is no such link or address, or if the port is
   * in use.
   */
  openUdp(place: UdpPlace): Promise<UdpSocket>;
  /** Opens a relay, which connects by itself, again and again. Throws `GatewayError("unable")`. */
  openRelay(place: RelayPlace): Promise<OpenRelay>;
  /**
   * Calls a procedure of a service inside a tunnel (gRPC, over HTTP/2 without TLS), and returns its answer. Throws
   * `GatewayError`: `timed_out` without an answer in time, `unable` if nothing listens there or it refuses. An abort
   * throws the signal's reason.
   */
  call(call: ProcedureCall, signal?: AbortSignal): Promise<Uint8Array>;
  /**
   * Ends the tracked connections that `isOver` names, and returns them: the next packet of one begins a new connection.
   * Throws `GatewayError("kernel_refused")`.
   */
  endConnections(isOver: (connection: Connection) => boolean): Promise<Connection[]>;
  /** The MAC address that the kernel has for an address on a link; null for none. */
  macAt(address: Address, link: string): Mac | null;
  /**
   * Changes elements of the firewall's sets and maps, in one transaction and without starting a program. Resolves once
   * the kernel has it. Throws `GatewayError`: `kernel_refused` if nothing has changed, `timed_out` if that is unknown.
   */
  changeElements(changes: readonly ElementChange[]): Promise<void>;
  /** The number of the firewall's last change, as `nft monitor` reports it; null if the kernel does not tell. */
  firewallGeneration(): Promise<number | null>;
  /**
   * Makes the destination of each TCP connection send a packet of it, if it still has it: in the name of the source it
   * gets one that no connection expects, which it has to answer (RFC 5961, section 4).
   */
  challenge(connections: readonly Direction[]): Promise<void>;
  /**
   * Sends one request over HTTPS, to the given addresses and no others; over plain HTTP only to private addresses.
   * Throws `GatewayError("unable")` if there is no answer. An abort throws the signal's reason, and nothing more is sent.
   */
  https(request: PinnedRequest, signal?: AbortSignal): Promise<HttpsAnswer>;
  /**
   * Downloads from an address by one link only, as much as comes in a bounded time, and keeps nothing of it; `onBytes` gets
   * how much has come in how many milliseconds. Throws `GatewayError("unable")`. An abort throws the signal's reason, and
   * ends the connection.
   */
  measureDownload(
    place: SpeedPlace,
    onBytes: (bytes: number, ms: number) => void,
    signal: AbortSignal,
  ): Promise<Downloaded>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds on a clock that never jumps. */
  monotonic(): number;
  /** Milliseconds since the machine has started. */
  age(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Lets the event loop go round once: whatever is due runs first. */
  nextTurn(): Promise<void>;
  /** From 0 up to, but not including, 1. Not for secrets. */
  random(): number;
}

/** The only way to a resolver. */
export interface ResolverPath {
  /** The only interface that queries may go through. */
  link: string;
  /** Their firewall mark. */
  mark: number;
  address: string;
}

/** A router on a cable, and this machine's own address there, both of IPv4. */
export interface RouterPath {
  link: string;
  own: string;
  router: string;
}

/** Where echo requests go. */
export interface Path {
  address: string;
  /** The only interface that they may go through. */
  link: string;
}

/** A connection as the kernel tracks it (conntrack). */
export interface Connection {
  /** The number of the IP protocol. */
  protocol: number;
  /** 0 unless the firewall has given it another. */
  zone: number;
  /** As its first packet came in. */
  original: Direction;
  /** As replies come in: from where NAT has led it, to the source that NAT has given it. */
  reply: Direction;
  /** Whether NAT has changed its destination. */
  isRedirected: boolean;
  /** For TCP, whether one end may still wait for the other. */
  isOpen: boolean;
}

/** What the elements of a set or map are, as nft calls it. */
export type ElementType =
  | "ipv4_addr"
  | "ipv6_addr"
  | "ipv4_addr . inet_service"
  | "ipv6_addr . inet_service"
  | "ether_addr"
  | "ct original zone"
  | "ether_addr : verdict"
  | "nf_proto"
  | "inet_service"
  | "ether saddr : ct original zone"
  | "ct original zone : th dport";

/** Elements that a set or map of the firewall gets or loses. */
export interface ElementChange {
  verb: "add" | "delete";
  /** Of the family `inet`. */
  table: string;
  set: string;
  type: ElementType;
  /** As nft writes them. A verdict is `goto` and a chain of the table; an element is deleted whatever its data. */
  elements: readonly string[];
}

/** The ports are 0 where the protocol has none. */
export interface Direction {
  source: Address;
  sourcePort: number;
  destination: Address;
  destinationPort: number;
}

/** What can be listened to. The packets have a valid header, and anything in the rest. */
export type Heard =
  | "arp replies"
  | "dhcp replies"
  | "dhcp requests"
  | "router advertisements"
  | "router solicitations";

/** Sends and receives packets on one link, past the firewall and routing. */
export interface LinkSocket {
  /** The link's own MAC address. */
  readonly mac: string;
  /** Sends a packet, from its IP header on, to a MAC address. */
  send(to: string, packet: Uint8Array): void;
  /** What has come in since the last call, or the first part of it; null if the link no longer exists. */
  received(): Received[] | null;
  close(): void;
}

export interface Received {
  /** The sender's MAC address. */
  from: string;
  /** From the IP header on. */
  packet: Uint8Array;
}

/** Where a UDP socket is. */
export interface UdpPlace {
  /** The only interface by which it sends and receives. */
  link: string;
  /** The firewall mark of what it sends. */
  mark?: number;
  /** Its own address and port; any if absent. */
  own?: { address: string; port: number };
  /** The only one it exchanges packets with; anyone if absent. */
  peer?: { address: string; port: number };
}

export interface UdpSocket {
  /** To the peer, or to anyone if it has none. */
  send(bytes: Uint8Array, to?: { address: string; port: number }): void;
  /** What has come in since the last call, or the first part of it; `refused` if nothing listens at the peer. */
  received(): Datagram[] | "refused";
  close(): void;
}

/** What is downloaded, and the only way to it. */
export interface SpeedPlace {
  link: string;
  /** The firewall mark of what is sent. */
  mark: number;
  /** Tried in turn. */
  addresses: readonly Address[];
  /** Of https. The server has to prove its host. */
  url: string;
  mostBytes: number;
  /** From the first byte of the answer. */
  mostMs: number;
}

/** What has come after the first piece, in the time from that to the last one. */
export interface Downloaded {
  bytes: number;
  ms: number;
}

/** A relay of WireGuard's packets to a server. */
export interface RelayPlace {
  /** The firewall mark of what is sent to the server. */
  mark: number;
  /** The server's. */
  address: string;
  port: number;
  way: RelaySpec;
}

export interface OpenRelay {
  /** Where WireGuard reaches it, on loopback. */
  port: number;
  /** WireGuard's own port, at which it has to listen. What comes from any other on this machine is dropped. */
  wireguardPort: number;
  /** Why there is no connection to the server; null if there is one, if that is not known yet, and by UDP. */
  fault(): RelayFault | null;
  close(): void;
}

/** `foreign`: something else answers in the server's place, such as a hotel's login page. */
export type RelayFault = "refused" | "foreign";

/** A call of a procedure, and the only way to its service. */
export interface ProcedureCall {
  link: string;
  /** The firewall mark of what is sent. */
  mark: number;
  address: string;
  port: number;
  /** `/package.Service/Method`. */
  path: string;
  message: Uint8Array;
  /** The longest time until the last byte of the answer. */
  withinMs: number;
}

export interface Datagram {
  /** The sender's. */
  address: string;
  port: number;
  bytes: Uint8Array;
}

export interface RunOptions {
  /**
   * Text for standard input; key material travels this way only. If it is still to come, the program is started
   * meanwhile, and killed if it does not come; `wg setconf` cannot read such text.
   */
  stdin?: string | Promise<string>;
  /** The program handles keys: its standard error is not quoted. */
  secret?: boolean;
  timeoutMs?: number;
  /** Once this has been printed, the program has done its work: its end is not waited for. */
  until?: string;
  /** With `until`: called once it has printed anything. `nft` prints its echo only after the kernel's commit. */
  onPrinting?: () => void;
  /** Once this is on its standard error, the program has failed: its end is not waited for either. */
  failure?: string;
  /** Kills the program when aborted. */
  signal?: AbortSignal;
}

export interface HttpsRequest {
  url: string;
  method: "GET" | "POST" | "PUT" | "DELETE";
  headers: Record<string, string>;
  body?: string;
  /** The server's addresses, if they are known; otherwise its name is looked up. */
  addresses?: readonly Address[];
  /** The only authority whose certificates count, in PEM; if absent, the well-known ones. */
  authority?: string;
  /** The longest time until the last byte of the answer; if absent, what the largest server list takes. */
  withinMs?: number;
  /** The longest body of the answer; if absent, that of the largest server list. */
  mostBytes?: number;
  /** Only the status matters: the body of the answer is not read, and is empty here. */
  onlyStatus?: true;
}

/** A request and the addresses to send it to: the gateway looks up names itself. */
export interface PinnedRequest extends Omit<HttpsRequest, "addresses"> {
  addresses: readonly string[];
  /** TCP source port of the connection; any if absent. */
  sourcePort?: number;
  /** This machine's addresses of which it may come; any if absent. Without one of the server's family it fails. */
  ownAddresses?: readonly string[];
}

export interface HttpsAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

/** Sends a request to a server on the internet. Throws `GatewayError("unable")` if there is no answer. */
export type Send = (request: HttpsRequest) => Promise<HttpsAnswer>;

/** Bounds what a program costs whose output strangers can cause. What it prints beyond that waits, then is dropped. */
export interface LineLimit {
  linesPerSecond: number;
  /** Called after lines were dropped, and again once there is nothing more to drop. */
  onDropped: () => void;
}

export interface Watch {
  stop(): void;
}
