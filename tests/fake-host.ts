import { GatewayError } from "../src/errors.ts";
import { chainsListed } from "../src/firewall/audit.ts";
import type { Host, HttpsAnswer, PinnedRequest, RunOptions, Watch } from "../src/system/host.ts";
import { publicKeyOf } from "../src/wireguard/key.ts";

/** A network interface; `device` is what WireGuard was told, if it is one of WireGuard's. */
export interface FakeLink {
  up: boolean;
  carrier: boolean;
  mtu: number;
  addresses: string[];
  userspace: boolean;
  device: FakeDevice | null;
}

interface FakeDevice {
  privateKey: string;
  fwmark: number;
  peer: FakePeer | null;
  /** More peers, where the gateway asks several servers at once. */
  others: FakePeer[];
}

interface FakePeer {
  publicKey: string;
  endpoint: string;
  keepalive: number;
  /** As WireGuard shows it: milliseconds since 1970, 0 is none yet. */
  latestHandshake: number;
  /** Since when the interface knows it, on the monotone clock. */
  knownAt: number;
  /** Of that handshake and of the last packet out, on the monotone clock. */
  metAt: number;
  sentAt: number;
  /** Since when data waits for a word of the server; null where it does not. */
  askedAt: number | null;
  sent: Count;
  received: Count;
}

interface Count {
  bytes: number;
  packets: number;
}

/** What WireGuard is told through either of its doors. */
interface FakeConfig {
  privateKey: string;
  fwmark: number;
  peers: Pick<FakePeer, "publicKey" | "endpoint" | "keepalive">[];
}

type Family = "-4" | "-6";

/** Clients send, and get an answer, this often while `busy`. */
const DATA_EVERY_MS = 100;
const DATA_BYTES = 128;
const KEEPALIVE_BYTES = 32;
/** A peer that has nothing to send answers data by a keepalive after this long (KEEPALIVE_TIMEOUT). */
const PASSIVE_KEEPALIVE_MS = 10_000;
/** WireGuard shakes hands again with the first packet after this long (REKEY_AFTER_TIME). */
const REKEY_AFTER_MS = 120_000;
const HANDSHAKE_BYTES = { initiation: 148, response: 92 };

/** The programs that the gateway lets watch. */
const MONITORS = ["nft monitor", "ip monitor label link address route rule"];

/**
 * A kernel small enough to read: it understands the commands that the gateway sends and throws at any other.
 * As in the real one a batch ends at its first bad line, and an interface takes its routes with it.
 */
export class FakeHost implements Host {
  /** Whether the kernel makes WireGuard interfaces itself; if not, `userspace` does. */
  native = true;
  readonly userspace = "wireguard-go";
  readonly links = new Map<string, FakeLink>();
  /** The tunnel's routing table: prefix to interface. */
  readonly routes = new Map<string, string>();
  readonly rules: Record<Family, string[]> = { "-4": [], "-6": [] };
  /** The text of `table inet portcullis`, or null where there is none. */
  table: string | null = null;
  /** Every table that ever stood. */
  readonly tables: (string | null)[] = [];
  /** Whether clients send through the tunnel. */
  busy = false;
  /** Whether what clients send asks for no answer: the server's WireGuard then says within 10 s that it lives. */
  oneWay = false;
  /** The interface of the IPv4 default route. */
  defaultRoute: string | null = "up0";
  /** Whether the kernel's events get lost, as when there are more than anyone can read. */
  mute = false;
  /** How long they are on their way. */
  toldAfterMs = 0;
  /** Whether a `sleep` lasts until `pass` has let its time go by; else all sleeping is done at once. */
  patient = false;
  /** Endpoints, `address:port`, that answer no handshake. */
  readonly silent = new Set<string>();
  /** Milliseconds that the first handshake with an endpoint takes; no time where none is given. */
  readonly roundTrips = new Map<string, number>();
  readonly names = new Map<string, string[]>();
  /** What the internet answers to a URL; it is silent to all others, for ever. */
  readonly pages = new Map<string, HttpsAnswer>();
  readonly files = new Map<string, string>();
  readonly commands: string[] = [];
  /** Called with every command and every `sleep`, before it happens. */
  onEvent: (event: string) => void = () => {};
  /** Whether the command that comes now fails, and whether it has had its effect by then. */
  fails: (count: number) => "before" | "after" | null = () => null;

  /** How many turns of the event loop's queue a command takes; what runs beside it gets ahead meanwhile. */
  turns: (command: string) => number = () => 1;

  private readonly sleepers = new Set<{ until: number; wake: () => void }>();
  private readonly watchers = new Set<{
    program: string;
    onLine: (line: string) => void;
    onExit: () => void;
  }>();
  /** How far the clock that tells the date is ahead of the monotone one. */
  private ahead = 0;

  constructor(private clock = Date.UTC(2026, 0, 1)) {
    for (const name of ["lo", "lan0", "up0"]) this.links.set(name, emptyLink({ up: true }));
    this.files.set("/proc/sys/net/ipv6/conf/all/disable_ipv6", "0\n");
  }

  async run(argv: readonly string[], { stdin = "" }: RunOptions = {}): Promise<string> {
    const command = argv.join(" ");
    const failure = this.fails(this.commands.push(command));
    this.onEvent(command);
    for (let turn = this.turns(command); turn > 0; turn--) await null;
    if (failure === "before") throw new GatewayError("unable", `${command}: made to fail`);
    const answer = this.execute(argv, command, stdin);
    if (failure === "after") throw new GatewayError("unable", `${command}: made to fail after its effect`);
    return answer;
  }

  watch(argv: readonly string[], onLine: (line: string) => void, onExit: () => void): Watch {
    const command = argv.join(" ");
    if (!MONITORS.includes(command)) unknown(command);
    const watcher = { program: argv[0] ?? "", onLine, onExit };
    this.watchers.add(watcher);
    return { stop: () => void this.watchers.delete(watcher) };
  }

  async read(path: string): Promise<string | null> {
    const [, name = "", file = ""] = /^\/sys\/class\/net\/(.+?)\/(.+)$/.exec(path) ?? [];
    const way = /^statistics\/([rt]x)_packets$/.exec(file)?.[1];
    if (way === undefined && file !== "uevent") return this.files.get(path) ?? null;
    const link = this.links.get(name);
    if (link === undefined || link.userspace || link.device === null) return null;
    if (way === undefined) return `DEVTYPE=wireguard\nINTERFACE=${name}\n`;
    const peers = peersOf(this.observed(link, link.device));
    const packets = peers.map((peer) => (way === "rx" ? peer.received : peer.sent).packets);
    return `${packets.reduce((sum, number) => sum + number, 0)}\n`;
  }

  async writeSysctl(path: string, value: string): Promise<void> {
    this.files.set(path, `${value}\n`);
  }

  async exchange(socketPath: string, request: string): Promise<string | null> {
    const name = /^\/var\/run\/wireguard\/(.+)\.sock$/.exec(socketPath)?.[1] ?? "";
    const link = this.links.get(name);
    if (!link?.userspace || link.device === null) return null;
    this.onEvent(request.startsWith("set=1") ? "uapi set" : "uapi get");
    if (request === "get=1\n\n") return uapiOf(this.observed(link, link.device));
    return request.startsWith("set=1\n") ? this.configure(link, uapiConfig(request)) : unknown(request);
  }

  async lookup(name: string): Promise<string[]> {
    this.onEvent(`lookup ${name}`);
    const addresses = this.names.get(name);
    if (addresses === undefined) throw new GatewayError("unable", `no resolver answered for ${name}`);
    return addresses;
  }

  async https({ url, addresses, sourcePort }: PinnedRequest, signal?: AbortSignal): Promise<HttpsAnswer> {
    this.onEvent(`https ${url} at ${addresses} from ${sourcePort ?? "any port"}`);
    const page = this.pages.get(url);
    if (page !== undefined) return page;
    const { promise, reject } = Promise.withResolvers<never>();
    signal?.addEventListener("abort", () => reject(signal.reason));
    return promise;
  }

  now(): number {
    return this.clock + this.ahead;
  }

  monotonic(): number {
    return this.clock;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.onEvent("sleep");
    if (!signal?.aborted && !this.patient) this.elapse(ms);
    await (this.patient && !signal?.aborted ? this.woken(ms, signal) : null);
  }

  /** Lets time go by; who sleeps wakes in order, and has done its work before the next wakes. */
  async pass(ms: number): Promise<void> {
    const until = this.clock + ms;
    for (await idle(); ; await idle()) {
      const [first] = [...this.sleepers].sort((a, b) => a.until - b.until);
      if (first === undefined || first.until > until) break;
      this.elapse(Math.max(0, first.until - this.clock));
      this.sleepers.delete(first);
      first.wake();
    }
    this.elapse(until - this.clock);
  }

  /** Someone, or the time service, sets the date. */
  setClock(aheadMs: number): void {
    this.ahead = aheadMs;
  }

  /** The gateway's process is gone, with all that it waited for. */
  kill(): void {
    this.sleepers.clear();
    this.watchers.clear();
  }

  /** The programs that watch end, as when the kernel has more to tell than they can read. */
  endWatches(): void {
    const ended = [...this.watchers];
    this.watchers.clear();
    for (const { onExit } of ended) onExit();
  }

  /** Another program removes the firewall's table. */
  removeTable(): void {
    this.table = null;
    this.tellOfTable("delete table inet portcullis");
  }

  /** Another program puts a rule in front of a chain. */
  insertRule(chain: string, rule: string): void {
    const head = new RegExp(`( {2}chain ${chain} \\{\n.*\n)`);
    this.table = this.table?.replace(head, `$1    ${rule}\n`) ?? null;
    this.tellOfTable("insert rule inet portcullis output accept");
  }

  /** Another program adds a routing rule, or removes one of ours; the text is what `ip rule` takes. */
  changeRule(verb: "add" | "del", family: Family, text: string): void {
    this.rule(family, verb === "add", text);
  }

  removeLink(name: string): void {
    this.deleteLink(name);
  }

  removeRoute(prefix: string): void {
    const link = this.routes.get(prefix);
    this.routes.delete(prefix);
    this.tell("ip", `[ROUTE]Deleted ${prefix} dev ${link} table 20556 scope link `);
  }

  removeAddress(name: string, address: string): void {
    const { addresses } = this.link(name);
    addresses.splice(addresses.indexOf(address), 1);
    this.tell("ip", `[ADDR]Deleted 9: ${name}    inet ${address} scope global noprefixroute ${name}`);
  }

  /** The uplink's cable is put in or pulled; the default route stays, as the kernel keeps it. */
  plug(carrier: boolean): void {
    this.link("up0").carrier = carrier;
    this.tell("ip", `[LINK]3: up0: <${carrier ? "" : "NO-CARRIER,"}BROADCAST,MULTICAST,UP> mtu 1500`);
  }

  /** The uplink's default route comes or goes. */
  setDefaultRoute(link: string | null): void {
    this.defaultRoute = link;
    this.tell("ip", `[ROUTE]${link === null ? "Deleted " : ""}default via 192.0.2.254 dev up0 `);
  }

  private tellOfTable(line: string): void {
    this.tell("nft", line);
    this.tell("nft", "# new generation 7 by process 4711 (nft)");
  }

  /** The kernel tells those who watch. */
  tell(program: "nft" | "ip", line: string): void {
    const told = () => {
      for (const watcher of [...this.watchers]) if (watcher.program === program) watcher.onLine(line);
    };
    if (this.mute) return;
    if (this.toldAfterMs === 0) told();
    else this.sleepers.add({ until: this.clock + this.toldAfterMs, wake: told });
  }

  private async woken(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper = { until: this.clock + ms, wake: resolve };
    this.sleepers.add(sleeper);
    signal?.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    this.sleepers.delete(sleeper);
  }

  private elapse(ms: number): void {
    for (const { up, device } of this.links.values()) {
      if (up && device?.peer) this.converse(device.peer, this.clock + ms);
    }
    this.clock += ms;
  }

  /** What goes out through WireGuard until then, and what comes back. */
  private converse(peer: FakePeer, until: number): void {
    if (!this.online) return;
    const answers = !this.silent.has(peer.endpoint);
    const data = this.busy ? Math.floor(until / DATA_EVERY_MS) - Math.floor(this.clock / DATA_EVERY_MS) : 0;
    count(peer.sent, data, DATA_BYTES);
    if (answers && !this.oneWay) count(peer.received, data, DATA_BYTES);
    if (answers && this.oneWay) this.acknowledge(peer, data, until);
    if (data > 0) peer.sentAt = until;
    const keepaliveMs = peer.keepalive * 1_000;
    const keepalives = keepaliveMs === 0 ? 0 : Math.floor((until - peer.sentAt) / keepaliveMs);
    count(peer.sent, keepalives, KEEPALIVE_BYTES);
    peer.sentAt += keepalives * keepaliveMs;
    if (peer.sentAt - peer.metAt >= REKEY_AFTER_MS && data + keepalives > 0 && answers) {
      this.shakeHands(peer, peer.sentAt);
    }
  }

  private acknowledge(peer: FakePeer, data: number, until: number): void {
    if (data > 0) peer.askedAt ??= Math.floor(until / DATA_EVERY_MS) * DATA_EVERY_MS;
    if (peer.askedAt === null || until - peer.askedAt < PASSIVE_KEEPALIVE_MS) return;
    count(peer.received, 1, KEEPALIVE_BYTES);
    peer.askedAt = null;
  }

  private shakeHands(peer: FakePeer, at: number): void {
    count(peer.sent, 1, HANDSHAKE_BYTES.initiation);
    count(peer.received, 1, HANDSHAKE_BYTES.response);
    Object.assign(peer, { metAt: at, sentAt: at, latestHandshake: at + this.ahead });
  }

  private get online(): boolean {
    const link = this.defaultRoute === null ? undefined : this.links.get(this.defaultRoute);
    return link?.up === true && link.carrier;
  }

  private execute(argv: readonly string[], command: string, stdin: string): string {
    const words = argv.slice(1);
    if (command === "nft -e -s -f -") return this.loadTable(stdin);
    if (command === "nft -s list table inet portcullis")
      return this.table ?? fail("No such file or directory");
    if (argv[0] === this.userspace && argv.length === 2) return this.addLink(argv[1] ?? "", true);
    if (argv[0] === "wg") return this.wireguard(words, stdin);
    if (argv[0] === "ip") return this.ip(words, command, stdin);
    return unknown(command);
  }

  private loadTable(text: string): string {
    const replace = "add table inet portcullis\ndelete table inet portcullis\n";
    if (!text.startsWith(replace)) unknown(text);
    const table = text.slice(replace.length);
    if (table !== "" && !table.startsWith("table inet portcullis {\n")) unknown(table);
    this.table = table === "" ? null : table;
    this.tables.push(this.table);
    this.tellOfTable("add table inet portcullis");
    return echoOf(table);
  }

  /** As a kernel that was started without IPv6: it has no rules of it. */
  removeIpv6(): void {
    this.files.delete("/proc/sys/net/ipv6/conf/all/disable_ipv6");
  }

  private ip(words: readonly string[], command: string, stdin: string): string {
    const hasIpv6 = this.files.has("/proc/sys/net/ipv6/conf/all/disable_ipv6");
    if (!hasIpv6 && /^ip (-j -6 rule|-6 )/.test(command)) fail("Address family not supported by protocol");
    const show = /^ip -j (-4|-6) (rule show|route show default|route show table 20556)$/.exec(command);
    if (show) return JSON.stringify(this.shown(show[1] as Family, show[2] ?? ""));
    const batch = /^ip (?:(-4|-6) )?-batch -$/.exec(command);
    if (batch) {
      for (const line of stdin.trimEnd().split("\n")) this.line(line, batch[1] as Family | undefined);
      return "";
    }
    if (command === "ip -j link show")
      return JSON.stringify([...this.links.keys()].map((ifname) => ({ ifname })));
    if (command === "ip -j address show") return JSON.stringify([...this.links].map(addressesOf));
    if (words.slice(0, 4).join(" ") === "-j address show dev" && words.length === 5) {
      const name = words[4] ?? "";
      return JSON.stringify([addressesOf([name, this.link(name)])]);
    }
    if (words.slice(0, 3).join(" ") === "link del dev" && words.length === 4)
      return this.deleteLink(words[3] ?? "");
    return unknown(command);
  }

  private shown(family: Family, what: string): unknown[] {
    if (what === "rule show") return this.rules[family].map(ruleJson);
    if (what === "route show default") return family === "-4" ? this.defaultRoutes() : [];
    return [...this.routes]
      .filter(([prefix]) => prefix.includes(":") === (family === "-6"))
      .map(([dst, dev]) => ({ dst, dev }));
  }

  private defaultRoutes(): unknown[] {
    const dev = this.defaultRoute;
    if (dev === null) return [];
    return [{ dst: "default", dev, flags: this.links.get(dev)?.carrier ? [] : ["linkdown"] }];
  }

  /** One line of `ip -batch`. */
  private line(line: string, family: Family | undefined): string {
    const words = line.split(" ");
    const [, , first = "", second = ""] = words;
    const device = words[words.indexOf("dev") + 1] ?? "";
    if (/^link add dev \S+ type wireguard$/.test(line)) {
      return this.native ? this.addLink(second, false) : fail("Unknown device type");
    }
    if (/^address replace \S+ dev \S+ noprefixroute( nodad)?$/.test(line)) {
      const { addresses } = this.link(device);
      if (!addresses.includes(first)) addresses.push(first);
      this.tell("ip", `[ADDR]9: ${device}    inet ${first} scope global noprefixroute ${device}`);
      return "";
    }
    if (/^link set dev \S+ mtu \d+ up$/.test(line)) {
      Object.assign(this.link(second), { mtu: Number(words[5]), up: true });
      this.tell("ip", `[LINK]9: ${second}: <POINTOPOINT,NOARP,UP,LOWER_UP> mtu ${words[5]}`);
      return "";
    }
    if (/^route replace \S+ dev \S+ table 20556$/.test(line)) {
      if (!this.link(device).up) fail("Network is down");
      this.routes.set(first, device);
      this.tell("ip", `[ROUTE]${first} dev ${device} table 20556 scope link `);
      return "";
    }
    if (/^route del \S+ table 20556$/.test(line))
      return this.routes.delete(first) ? "" : fail("No such process");
    const rule = /^rule (add|del) (priority \d+.*)$/.exec(line);
    if (rule && family !== undefined) return this.rule(family, rule[1] === "add", rule[2] ?? "");
    return unknown(line);
  }

  /** As the real one, `del` takes the first rule that all its words fit. */
  private rule(family: Family, add: boolean, text: string): string {
    const rules = this.rules[family];
    if (add) {
      if (rules.includes(text)) fail("File exists");
      rules.push(text);
      this.tell("ip", `[RULE]${text}`);
      return "";
    }
    const words = text.split(" ");
    const first = rules.findIndex((rule) => words.every((word) => rule.split(" ").includes(word)));
    if (first < 0) fail("No such file or directory");
    rules.splice(first, 1);
    this.tell("ip", `[RULE]Deleted ${text}`);
    return "";
  }

  private addLink(name: string, userspace: boolean): string {
    if (this.links.has(name)) fail("File exists");
    this.links.set(
      name,
      emptyLink({ userspace, device: { privateKey: "", fwmark: 0, peer: null, others: [] } }),
    );
    this.tell("ip", `[LINK]9: ${name}: <POINTOPOINT,NOARP> mtu 1420 qdisc noop state DOWN`);
    return "";
  }

  private deleteLink(name: string): string {
    if (!this.links.delete(name)) fail(`Cannot find device "${name}"`);
    for (const [prefix, dev] of this.routes) if (dev === name) this.routes.delete(prefix);
    this.tell("ip", `[LINK]Deleted 9: ${name}: <POINTOPOINT,NOARP> mtu 1420 qdisc noop state DOWN`);
    return "";
  }

  private link(name: string): FakeLink {
    return this.links.get(name) ?? fail(`Cannot find device "${name}"`);
  }

  private wireguard([verb = "", name = "", last = ""]: readonly string[], stdin: string): string {
    const link = this.links.get(name);
    if (link?.device == null) return fail("No such device");
    if (verb === "show" && last === "dump") return dumpOf(this.observed(link, link.device));
    if (verb !== "setconf" || last !== "/dev/stdin") return unknown(`wg ${verb} ${last}`);
    const [own = "", ...peers] = stdin.split("[Peer]");
    const valueIn = (text: string, key: string) =>
      new RegExp(`^${key} = (.*)$`, "m").exec(text)?.[1] ?? fail(`no ${key}`);
    return this.configure(link, {
      privateKey: valueIn(own, "PrivateKey"),
      fwmark: Number(valueIn(own, "FwMark")),
      peers: peers.map((text) => ({
        publicKey: valueIn(text, "PublicKey"),
        endpoint: valueIn(text, "Endpoint"),
        keepalive: Number(valueIn(text, "PersistentKeepalive")),
      })),
    });
  }

  private configure(link: FakeLink, { privateKey, fwmark, peers }: FakeConfig): string {
    const nothing = () => ({ bytes: 0, packets: 0 });
    const times = { latestHandshake: 0, metAt: 0, knownAt: this.clock, sentAt: this.clock, askedAt: null };
    const [peer = null, ...others] = peers.map((told) => ({
      ...told,
      ...times,
      sent: nothing(),
      received: nothing(),
    }));
    link.device = { privateKey, fwmark, peer, others };
    return "errno=0\n\n";
  }

  /** A peer that is reached for the first time shakes hands. */
  private observed(link: FakeLink, device: FakeDevice): FakeDevice {
    for (const peer of peersOf(device)) {
      const takes = this.roundTrips.get(peer.endpoint);
      const at = takes === undefined ? this.clock : peer.knownAt + takes;
      const meets = link.up && peer.latestHandshake === 0 && this.online && at <= this.clock;
      if (meets && !this.silent.has(peer.endpoint)) this.shakeHands(peer, at);
    }
    return device;
  }
}

/** All that can be done without time going by is done. */
function idle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function count(so: Count, packets: number, bytesEach: number): void {
  so.packets += packets;
  so.bytes += packets * bytesEach;
}

function peersOf({ peer, others }: FakeDevice): FakePeer[] {
  return peer === null ? [] : [peer, ...others];
}

function emptyLink(link: Partial<FakeLink>): FakeLink {
  return { up: false, carrier: true, mtu: 1500, addresses: [], userspace: false, device: null, ...link };
}

function addressesOf([ifname, { up, carrier, mtu, addresses }]: [string, FakeLink]): unknown {
  const info = addresses.map((address) => address.split("/"));
  return {
    ifname,
    mtu,
    link_type: ifname === "lo" ? "loopback" : "ether",
    flags: up ? ["UP", carrier ? "LOWER_UP" : "NO-CARRIER"] : [],
    addr_info: info.map(([local, prefixlen]) => ({ local, prefixlen: Number(prefixlen) })),
  };
}

/** `ip -j rule show` of what `ip rule add` was told. */
function ruleJson(text: string): unknown {
  const words = text.split(" ");
  const after = (word: string) => (words.includes(word) ? words[words.indexOf(word) + 1] : undefined);
  const [dst, dstlen] = after("to")?.split("/") ?? [];
  const number = (word: string) => (after(word) === undefined ? {} : { [word]: Number(after(word)) });
  return {
    ...number("priority"),
    src: "all",
    ...(dst === undefined ? {} : { dst, ...(dstlen === undefined ? {} : { dstlen: Number(dstlen) }) }),
    ...(after("fwmark") === undefined ? {} : { fwmark: after("fwmark") }),
    ...(after("iif") === undefined ? {} : { iif: after("iif") }),
    ...(after("oif") === undefined ? {} : { oif: after("oif") }),
    ...(after("suppress_prefixlength") === undefined
      ? {}
      : { suppress_prefixlen: Number(after("suppress_prefixlength")) }),
    ...(after("ipproto") === undefined ? {} : { ipproto: after("ipproto") }),
    ...number("sport"),
    ...number("dport"),
    ...(after("lookup") === undefined ? { action: words.at(-1) } : { table: after("lookup") }),
  };
}

function dumpOf(device: FakeDevice): string {
  const { privateKey, fwmark } = device;
  const own = [privateKey || "(none)", privateKey ? publicKey(privateKey) : "(none)", "51820"];
  const lines = [[...own, fwmark === 0 ? "off" : `0x${fwmark.toString(16)}`]];
  for (const peer of peersOf(device)) {
    const { endpoint, latestHandshake, keepalive } = peer;
    const seconds = String(Math.floor(latestHandshake / 1000));
    lines.push([
      peer.publicKey,
      "(none)",
      endpoint,
      "0.0.0.0/0",
      seconds,
      String(peer.received.bytes),
      String(peer.sent.bytes),
      String(keepalive || "off"),
    ]);
  }
  return `${lines.map((line) => line.join("\t")).join("\n")}\n`;
}

function uapiOf(device: FakeDevice): string {
  const { privateKey, fwmark } = device;
  const hex = (key: string) => Uint8Array.fromBase64(key).toHex();
  const lines = privateKey === "" ? [] : [`private_key=${hex(privateKey)}`, `fwmark=${fwmark}`];
  for (const peer of peersOf(device)) {
    lines.push(`public_key=${hex(peer.publicKey)}`, `endpoint=${peer.endpoint}`);
    lines.push(`last_handshake_time_sec=${Math.floor(peer.latestHandshake / 1000)}`);
    lines.push(`last_handshake_time_nsec=${Math.round((peer.latestHandshake % 1000) * 1e6)}`);
    lines.push(`rx_bytes=${peer.received.bytes}`, `tx_bytes=${peer.sent.bytes}`);
  }
  return `${[...lines, "errno=0"].join("\n")}\n\n`;
}

const publicKeys = new Map<string, string>();

/** Remembered: the gateway looks for a handshake many times a second. */
function publicKey(privateKey: string): string {
  const known = publicKeys.get(privateKey) ?? publicKeyOf(privateKey);
  publicKeys.set(privateKey, known);
  return known;
}

function uapiConfig(request: string): FakeConfig {
  const [own = "", ...peers] = request.split(/^(?=public_key=)/m);
  const valueIn = (text: string, key: string) =>
    new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1] ?? fail(`no ${key}`);
  return {
    privateKey: Uint8Array.fromHex(valueIn(own, "private_key")).toBase64(),
    fwmark: Number(valueIn(own, "fwmark")),
    peers: peers.map((text) => ({
      publicKey: Uint8Array.fromHex(valueIn(text, "public_key")).toBase64(),
      endpoint: valueIn(text, "endpoint"),
      keepalive: Number(valueIn(text, "persistent_keepalive_interval")),
    })),
  };
}

/** What `nft -e` says of a table that it has loaded. */
function echoOf(table: string): string {
  return [...chainsListed(table)]
    .flatMap(([name, [head = "", ...rules]]) => [
      `add chain inet portcullis ${name} { ${head} }`,
      ...rules.map((rule) => `add rule inet portcullis ${name} ${rule}`),
    ])
    .join("\n");
}

function fail(message: string): never {
  throw new GatewayError("unable", message);
}

function unknown(text: string): never {
  throw new Error(`the fake kernel does not know: ${text}`);
}
