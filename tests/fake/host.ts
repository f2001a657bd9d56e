import type { Address } from "../../src/base/address.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { type Mac, parseMac } from "../../src/base/mac.ts";
import { nextTurn } from "../../src/base/queue.ts";
import type { BoundSocket, BoundTo, SocketHandlers } from "../../src/system/bound-socket.ts";
import type {
  Connection,
  Direction,
  Downloaded,
  ElementChange,
  Heard,
  Host,
  HttpsAnswer,
  LinkSocket,
  OpenRelay,
  Path,
  PinnedRequest,
  ProcedureCall,
  RelayPlace,
  ResolverPath,
  RouterPath,
  RunOptions,
  SpeedPlace,
  UdpPlace,
  UdpSocket,
  Watch,
} from "../../src/system/host.ts";
import { Clock } from "./clock.ts";
import { Datagrams } from "./datagrams.ts";
import { type Family, Iproute2, type NeighbourState } from "./iproute2.ts";
import { Listening } from "./listening.ts";
import { Nftables } from "./nftables.ts";
import type { Internet } from "./peer.ts";
import { unknown } from "./refusal.ts";
import { FakeRelays } from "./relays.ts";
import { Tc } from "./tc.ts";
import { Wireguard } from "./wireguard.ts";

/** The programs that the gateway lets watch. */
const MONITORS = ["nft monitor", "ip monitor label link address route rule", "ip monitor label neigh"];
/** What stands for `changeElements` among the commands. */
export const CHANGE_ELEMENTS = "(change elements)";
const DISABLE_IPV6 = "/proc/sys/net/ipv6/conf/all/disable_ipv6";

/**
 * A machine small enough to read: it understands the commands that the gateway sends and throws at any other. Here are
 * its clock, its files, its failures and its events; the rest is iproute2's, nftables' and WireGuard's.
 */
export class FakeHost implements Host, Internet {
  /** Whether the kernel makes WireGuard interfaces itself; if not, `userspace` does. */
  native = true;
  readonly userspace = "wireguard-go";
  busy = false;
  /** Whether a program that prints events ends as soon as it is started. */
  refusesWatches = false;
  oneWay = false;
  /** The interface of the IPv4 default route. */
  defaultRoute: string | null = "up0";
  /** Whether `nft` says what it has loaded, as it was asked to. */
  echoes = true;
  /** Whether a route leads to the servers without a default route. */
  hostRoute = false;
  /** Whether the kernel's events get lost, as when there are more than anyone can read. */
  mute = false;
  /** How long they are on their way. */
  toldAfterMs = 0;
  /** Whether a `sleep` lasts until `pass` has let its time go by; else all sleeping is done at once. */
  patient = false;
  readonly silent = new Set<string>();
  readonly deaf = new Set<string>();
  readonly hollow = new Set<string>();
  readonly roundTrips = new Map<string, number>();
  readonly names = new Map<string, string[]>();
  /** What hosts of the LAN say that they are called, by address. */
  readonly hostNames = new Map<string, string>();
  /** Resolvers that answer, and the longest packets that reach them, in bytes. */
  readonly resolvers = new Map<string, number>();
  /** What the next questions to a tunnel's resolver take, in milliseconds; null, and all after that, are lost. */
  readonly trips: (number | null)[] = [];
  /** Where these questions went. */
  readonly tripsTo: ResolverPath[] = [];
  /** The same for the uplink's router. */
  readonly routerTrips: (number | null)[] = [];
  readonly routerTripsTo: RouterPath[] = [];
  /** Hosts that answer echo requests, and the longest packets that reach them, in bytes. */
  readonly echoing = new Map<string, number>();
  /** What the internet answers to a URL; it is silent to all others, for ever. */
  readonly pages = new Map<string, HttpsAnswer>();
  readonly files = new Map<string, string>([
    [DISABLE_IPV6, "0\n"],
    ["/proc/sys/net/netfilter/nf_conntrack_max", "262144\n"],
    ["/proc/sys/net/netfilter/nf_conntrack_count", "100\n"],
  ]);
  readonly commands: string[] = [];
  /** The lines given to `ip -batch`. */
  readonly batched: string[] = [];
  /** Called with every command and every `sleep`, before it happens. */
  onEvent: (event: string) => void = () => {};
  /** Whether the command that comes now fails, and whether it has had its effect by then; `late` is killed after it. */
  fails: (count: number) => "before" | "after" | "late" | null = () => null;
  /** How many turns of the event loop's queue a command takes; what runs beside it gets ahead meanwhile. */
  turns: (command: string) => number = () => 1;
  /** What a command waits for before it has its effect, so that a test can hold it up. */
  holds: (command: string) => Promise<void> | null = () => null;

  private drawn = 0;
  private readonly iproute2 = new Iproute2(this);
  private readonly nftables = new Nftables(this);
  readonly links = this.iproute2.links;
  readonly routes = this.iproute2.routes;
  readonly toldMtus = this.iproute2.toldMtus;
  /** Those of every tunnel, by number. */
  readonly routingTables = this.iproute2.tables;
  readonly rules = this.iproute2.rules;
  readonly neighbours = this.iproute2.neighbours;
  readonly answering = this.iproute2.answering;
  readonly tables = this.nftables.tables;
  readonly tc = new Tc(this.links);
  private readonly wireguard = new Wireguard(this.links, this);

  /** What the kernel tracks. */
  connections: readonly Connection[] = [];
  /** Those whose destination has been made to answer. */
  readonly challenged: Direction[] = [];

  /** What is heard of other machines on a link. */
  readonly listening = new Listening();
  readonly datagrams = new Datagrams();
  readonly relays = new FakeRelays();
  /** What was downloaded to measure a tunnel, and what comes of it. */
  readonly downloads: SpeedPlace[] = [];
  download = (_: SpeedPlace, __: (bytes: number, ms: number) => void): Promise<Downloaded> =>
    Promise.reject(new GatewayError("unable", "nothing answers"));
  /** What services inside tunnels answer, by `address:port`; nothing listens elsewhere. */
  readonly services = new Map<string, (call: ProcedureCall) => Uint8Array | Promise<Uint8Array>>();

  private readonly clock: Clock;
  private readonly watchers = new Set<{
    program: string;
    hears: ReadonlySet<string>;
    onLine: (line: string) => void;
    onExit: () => void;
  }>();

  constructor(at = Date.UTC(2026, 0, 1)) {
    this.clock = new Clock(at, (ms) => this.wireguard.elapse(ms));
  }

  async startDaemon(argv: readonly string[]): Promise<void> {
    await this.run(argv);
  }

  async run(argv: readonly string[], options: RunOptions = {}): Promise<string> {
    const stdin = options.stdin instanceof Promise ? await options.stdin : (options.stdin ?? "");
    const command = argv.join(" ");
    const printed = await this.effect(command, () => {
      if (command === "ip -batch -") this.batched.push(...stdin.trimEnd().split("\n"));
      return this.execute(command, stdin);
    });
    if (printed !== "") options.onPrinting?.();
    return printed;
  }

  /** As tests set it; unknown otherwise. */
  generation: number | null = null;

  async firewallGeneration(): Promise<number | null> {
    return this.generation;
  }

  async changeElements(changes: readonly ElementChange[]): Promise<void> {
    await this.effect(CHANGE_ELEMENTS, () => this.nftables.changeElements(changes));
  }

  /** Does what a command does, unless the test has something else in mind for it. */
  private async effect(command: string, work: () => string): Promise<string> {
    const failure = this.fails(this.commands.push(command));
    this.onEvent(command);
    for (let turn = this.turns(command); turn > 0; turn--) await null;
    const held = this.holds(command);
    if (held !== null) await held;
    if (failure === "before") throw new GatewayError("kernel_refused", `${command}: made to fail`);
    const answer = work();
    if (failure === "after")
      throw new GatewayError("kernel_refused", `${command}: made to fail after its effect`);
    if (failure === "late") throw new GatewayError("timed_out", `${command} did not finish within 30 s`);
    return answer;
  }

  /** How many programs watch. */
  get watching(): number {
    return this.watchers.size;
  }

  watch(argv: readonly string[], onLine: (line: string) => void, onExit: () => void): Watch {
    const command = argv.join(" ");
    if (!MONITORS.includes(command)) unknown(command);
    if (this.refusesWatches) {
      queueMicrotask(onExit);
      return { stop: () => {} };
    }
    const watcher = { program: argv[0] ?? "", hears: new Set(argv), onLine, onExit };
    this.watchers.add(watcher);
    return { stop: () => void this.watchers.delete(watcher) };
  }

  async read(path: string): Promise<string | null> {
    const [, name = "", file = ""] =
      /^\/sys\/class\/net\/(.+?)\/(statistics\/[rt]x_(?:packets|bytes)|uevent)$/.exec(path) ?? [];
    return file === "" ? (this.files.get(path) ?? null) : this.wireguard.file(name, file);
  }

  async writeSysctl(path: string, value: string): Promise<void> {
    this.files.set(path, `${value}\n`);
  }

  async exchange(socketPath: string, request: string): Promise<string | null> {
    const name = /^\/var\/run\/wireguard\/(.+)\.sock$/.exec(socketPath)?.[1] ?? "";
    if (!this.wireguard.listens(name)) return null;
    this.onEvent(request.startsWith("set=1") ? "uapi set" : "uapi get");
    return this.wireguard.exchange(name, request);
  }

  async hostName(address: string): Promise<string | null> {
    this.onEvent(`host name ${address}`);
    return this.hostNames.get(address) ?? null;
  }

  async lookup(name: string): Promise<string[]> {
    this.onEvent(`lookup ${name}`);
    const addresses = this.names.get(name);
    if (addresses === undefined) throw new GatewayError("unable", `no resolver answered for ${name}`);
    return addresses;
  }

  async probeResolver(resolver: string, sizes: readonly number[]): Promise<number[]> {
    this.onEvent(`probe ${resolver} ${sizes}`);
    const longest = this.resolvers.get(resolver) ?? -1;
    return sizes.filter((size) => size <= longest);
  }

  /** The tunnels' resolvers answer that there is nothing. At the others nobody listens. */
  async boundUdp({ peer }: BoundTo, { onData, onEnd }: SocketHandlers): Promise<BoundSocket> {
    const send = (query: Uint8Array) => {
      const answer = Uint8Array.from(query);
      answer[2] = (answer[2] ?? 0) | 0x80;
      queueMicrotask(() => (this.resolvers.has(peer.address) ? onData(answer) : onEnd()));
      return true;
    };
    return { send, close: () => {} };
  }

  async boundTcp({ peer }: BoundTo): Promise<BoundSocket> {
    throw new GatewayError("unable", `nobody listens at ${peer.address}`);
  }

  async roundTrip(way: ResolverPath): Promise<number | null> {
    this.tripsTo.push(way);
    return this.trips.shift() ?? null;
  }

  async routerRoundTrip(way: RouterPath): Promise<number | null> {
    this.routerTripsTo.push(way);
    return this.routerTrips.shift() ?? null;
  }

  async probePath({ address }: Path, sizes: readonly number[]): Promise<number | null> {
    this.onEvent(`echo ${address} ${sizes}`);
    const longest = this.echoing.get(address) ?? -1;
    const answered = sizes.filter((size) => size <= longest);
    return answered.length === 0 ? null : Math.max(...answered);
  }

  async listenOn(link: string, heard: Heard): Promise<LinkSocket> {
    return this.listening.open(link, heard);
  }

  async openUdp(place: UdpPlace): Promise<UdpSocket> {
    return this.datagrams.open(place);
  }

  /** The kernel connects no marked socket before a routing rule leads it somewhere. */
  async openRelay(place: RelayPlace): Promise<OpenRelay> {
    const { address, port } = place;
    const isKept = this.rules["-4"].some((rule) => rule.includes(" unreachable"));
    const isLed = this.rules["-4"].some(
      (rule) => rule.includes(`to ${address}/32 `) && rule.includes(` dport ${port} lookup main`),
    );
    if (isKept && !isLed) throw new GatewayError("unable", `no socket can send to ${address}`);
    return this.relays.open(place);
  }

  async measureDownload(
    place: SpeedPlace,
    onBytes: (bytes: number, ms: number) => void,
    signal: AbortSignal,
  ): Promise<Downloaded> {
    this.downloads.push(place);
    const stopped = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => stopped.reject(signal.reason));
    return Promise.race([this.download(place, onBytes), stopped.promise]);
  }

  async call(call: ProcedureCall): Promise<Uint8Array> {
    const place = `${call.address}:${call.port}`;
    this.onEvent(`call ${place} by ${call.link} within ${call.withinMs}`);
    const answer = this.services.get(place);
    if (answer === undefined) throw new GatewayError("unable", `${place} takes no connections`);
    return answer(call);
  }

  macAt(address: Address, link: string): Mac | null {
    const row = this.neighbours.get(address);
    return row?.dev === link ? parseMac(row.lladdr ?? "") : null;
  }

  async endConnections(isOver: (connection: Connection) => boolean): Promise<Connection[]> {
    const ended = this.connections.filter(isOver);
    this.connections = this.connections.filter((each) => !ended.includes(each));
    return ended;
  }

  async challenge(connections: readonly Direction[]): Promise<void> {
    this.challenged.push(...connections);
  }

  async https(request: PinnedRequest, signal?: AbortSignal): Promise<HttpsAnswer> {
    const { url, addresses, sourcePort, ownAddresses: own } = request;
    this.onEvent(
      `https ${url} at ${addresses} from ${sourcePort ?? "any port"}${own === undefined ? "" : ` of ${own}`}`,
    );
    const page = this.pages.get(url);
    if (page !== undefined) return page;
    const { promise, reject } = Promise.withResolvers<never>();
    signal?.addEventListener("abort", () => reject(signal.reason));
    return promise;
  }

  now(): number {
    return this.clock.now();
  }

  monotonic(): number {
    return this.clock.monotonic();
  }

  age(): number {
    return this.clock.monotonic();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.onEvent("sleep");
    if (!signal?.aborted && !this.patient) this.clock.elapse(ms);
    await (this.patient && !signal?.aborted ? this.clock.sleep(ms, signal) : null);
  }

  async nextTurn(): Promise<void> {
    await nextTurn();
  }

  /** The same numbers for each machine (mulberry32), so that a test plays the same again. */
  random(): number {
    this.drawn = (this.drawn + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.drawn ^ (this.drawn >>> 15), 1 | this.drawn);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Lets time go by; who sleeps wakes in order, and has done its work before the next wakes. */
  pass(ms: number): Promise<void> {
    return this.clock.pass(ms);
  }

  /** Someone, or the time service, sets the date. */
  setClock(aheadMs: number): void {
    this.clock.setDate(aheadMs);
  }

  /** The gateway's process is gone, with all that it waited for. */
  kill(): void {
    this.clock.clear();
    this.watchers.clear();
  }

  /** The programs that watch end, or one of them. */
  endWatches(only?: "nft" | "ip"): void {
    const ended = [...this.watchers].filter(({ program }) => only === undefined || program === only);
    for (const watcher of ended) this.watchers.delete(watcher);
    for (const { onExit } of ended) onExit();
  }

  /** The text of `table inet portcullis`, or null where there is none. */
  get table(): string | null {
    return this.nftables.table;
  }

  /** The gateway has forwarded so much for an element of the counters' sets. */
  carry(...counted: Parameters<Nftables["carry"]>): void {
    this.nftables.carry(...counted);
  }

  /** It has been silent for a day. */
  expire(set: string, address: string): void {
    this.nftables.expire(set, address);
  }

  /** Another program removes the counters' table. */
  removeCounters(): void {
    this.nftables.removeCounters();
  }

  /** Another program does this to one of the gateway's tables beside the firewall's. */
  meddle(...given: Parameters<Nftables["meddle"]>): void {
    this.nftables.meddle(...given);
  }

  /** Another program removes the bounds of each device. */
  removeBounds(): void {
    this.nftables.removeBounds();
  }

  /** The table that limits devices, or null where there is none. */
  get limitsTable(): string | null {
    return this.nftables.limits;
  }

  /** Each device with a quota sends and receives so much. */
  useQuotas(bytes: number): void {
    this.nftables.use(bytes);
  }

  /** Another program removes the limits of devices. */
  removeLimits(): void {
    this.nftables.removeLimits();
  }

  /** Another program removes the firewall's table. */
  get arpTable(): string | null {
    return this.nftables.arp;
  }

  removeArpTable(): void {
    this.nftables.removeArpTable();
  }

  removeTable(): void {
    this.nftables.removeTable();
  }

  /** Another program puts a rule in front of a chain. */
  changeElement(verb: "add" | "delete", set: string, element: string): void {
    this.nftables.changeElement(verb, set, element);
  }

  /** Another program puts a rule in front of a chain. */
  insertRule(chain: string, rule: string): void {
    this.nftables.insertRule(chain, rule);
  }

  /** Another program puts a rule in the place of another. */
  replaceRule(rule: string, other: string): void {
    this.nftables.replaceRule(rule, other);
  }

  /** Another program loads a table of its own, or removes it. */
  setOtherTable(name: string, listing: string | null): void {
    this.nftables.setOtherTable(name, listing);
  }

  /** Another program takes the rules out of all chains. */
  flushTable(): void {
    this.nftables.flushTable();
  }

  /** Another program switches the firewall's table off. */
  switchTableOff(): void {
    this.nftables.switchTableOff();
  }

  /** Another program adds a routing rule, or removes one of ours; the text is what `ip rule` takes. */
  changeRule(verb: "add" | "del", family: Family, text: string): void {
    this.iproute2.changeRule(verb, family, text);
  }

  /** A host on a cable is heard, stops answering, or is forgotten. */
  setNeighbour(address: string, device: string, mac: string, state: NeighbourState): void {
    this.iproute2.setNeighbour(address, device, mac, state);
  }

  removeLink(name: string): void {
    this.iproute2.deleteLink(name);
  }

  removeRoute(prefix: string, table?: number): void {
    this.iproute2.removeRoute(prefix, table);
  }

  removeAddress(name: string, address: string): void {
    this.iproute2.removeAddress(name, address);
  }

  /** The uplink's cable is put in or pulled; the default route stays, as the kernel keeps it. */
  plug(carrier: boolean): void {
    this.iproute2.link("up0").carrier = carrier;
    this.tell("ip", `[LINK]3: up0: <${carrier ? "" : "NO-CARRIER,"}BROADCAST,MULTICAST,UP> mtu 1500`);
  }

  /** The uplink's default route comes or goes. */
  setDefaultRoute(link: string | null): void {
    this.defaultRoute = link;
    this.tell("ip", `[ROUTE]${link === null ? "Deleted " : ""}default via 198.51.100.1 dev up0 `);
  }

  /** As a kernel that was started without IPv6: it has no rules of it. */
  removeIpv6(): void {
    this.files.delete(DISABLE_IPV6);
  }

  get hasIpv6(): boolean {
    return this.files.has(DISABLE_IPV6);
  }

  get online(): boolean {
    const way = this.defaultRoute ?? (this.hostRoute ? "up0" : null);
    const link = way === null ? undefined : this.links.get(way);
    return link?.up === true && link.carrier;
  }

  /** The kernel tells those who watch. */
  tell(program: "nft" | "ip", line: string): void {
    const told = () => {
      for (const { program: its, hears, onLine } of [...this.watchers])
        if (its === program && (its === "nft" || hears.has("neigh") === line.startsWith("[NEIGH]")))
          onLine(line);
    };
    if (this.mute) return;
    if (this.toldAfterMs === 0) told();
    else this.clock.after(this.toldAfterMs, told);
  }

  private execute(command: string, stdin: string): string {
    const [program, ...words] = command.split(" ");
    if (program === "nft") return this.nftables.run(command, stdin);
    if (program === "wg") return this.wireguard.run(command, stdin);
    if (program === "ip") return this.iproute2.run(command, stdin);
    if (program === "tc") return this.tc.run(command, stdin);
    const [link, ...more] = words;
    if (program !== this.userspace || link === undefined || more.length > 0) return unknown(command);
    return this.iproute2.addLink(link, true);
  }
}
