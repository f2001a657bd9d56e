import { type Address, type Prefix, parsePrefix } from "../base/address.ts";
import { MARK_MASK, type Slot } from "../network/slot.ts";
import { applySysctls, withoutSourceCheck } from "../network/sysctls.ts";
import type { Host, RelayFault } from "../system/host.ts";
import { type AddressedLink, type Route, showAddresses, showRoutes } from "../system/ip.ts";
import { Reading } from "../system/reading.ts";
import {
  type Interface,
  parseDump,
  parseUapi,
  peersInDump,
  peersInUapi,
  setconfText,
  uapiText,
} from "../wireguard/interface.ts";
import { ledPrefixes } from "../wireguard/led.ts";
import type { Config } from "../wireguard/schema.ts";
import { heardIn, type Sample } from "./health.ts";
import type { KeyHolders } from "./key-holders.ts";
import { Links } from "./links.ts";
import { Relayed } from "./relayed.ts";
import { linkLines, routedPrefixes, routeLines } from "./routes.ts";
import type { TunnelRow } from "./schema.ts";
import { keepaliveOf, type Session } from "./session.ts";

/** A program is asked this often for its counters while no data passes. It then has only keepalives and handshakes. */
const COUNTED_AGAIN_MS = 15_000;
/** The supervisor does not look more often than this while packets pass. */
const SHOWN_EXPIRES_MS = 1_000;

/** Counters of a kernel interface. */
type Packets = NonNullable<Sample["packets"]>;

/** The byte counts of one session, as a status has them. */
export type Bytes = Pick<TunnelRow, "rx_bytes" | "tx_bytes">;

/** The tunnel's interfaces and routes in the kernel. */
export class Kernel {
  private readonly wireguard: Links;
  private readonly relayed: Relayed;
  /** For `shown`: when it was read, and the counters just before. */
  private readonly reading: Reading<Interface | null>;
  private last: { link: string; at: number; packets: Packets | null } | null = null;
  /** The MTU of the routes, as last set. */
  private routesMtu: number | null = null;

  constructor(
    private readonly host: Host,
    private readonly slot: Slot,
    /** The program that provides WireGuard interfaces if the kernel does not. */
    userspace: string,
    /** The MTU of a session's routes; null if it is the link's own. */
    private readonly limitOf: (session: Session) => number | null,
    private readonly keyHolders: KeyHolders,
  ) {
    this.reading = new Reading(host, Number.POSITIVE_INFINITY);
    this.wireguard = new Links(host, userspace);
    this.relayed = new Relayed(host);
  }

  /** Brings up the session's interface, without a peer for now. */
  async open({ link, server }: Session, uplinkMtu: number): Promise<void> {
    await this.wireguard.create(link, linkLines(link, server.config, uplinkMtu));
    // Without it packets only take longer.
    await applySysctls(this.host, withoutSourceCheck(link)).catch(() => {});
  }

  /**
   * Opens the session's relay, if it has one, so that no handshake waits for that. To be called once the kill switch
   * permits the session: before, its socket has no route.
   */
  async openRelay(session: Session): Promise<void> {
    await this.relayed.for(session);
  }

  /**
   * Routes traffic into the session once `answered` resolves, and removes the routes that only the former one had. The
   * program for it waits meanwhile, because its start takes longer than its work.
   */
  async route(session: Session, former: Config | null, answered: Promise<unknown>): Promise<void> {
    let mtu: number | null = null;
    const lines = async () => {
      await answered;
      mtu = this.limitOf(session);
      return [...this.routeLines(session, mtu), ...(await this.surplusLines(session, former))];
    };
    await this.wireguard.batchLater(lines());
    this.routesMtu = mtu;
  }

  private async surplusLines({ server }: Session, former: Config | null): Promise<string[]> {
    const routed = new Set(routedPrefixes(server.config));
    const surplus = former === null ? [] : routedPrefixes(former).filter((prefix) => !routed.has(prefix));
    // If another program has deleted the former interface, its routes are gone already.
    const present = surplus.length === 0 ? [] : (await this.routes()).map((route) => route.prefix);
    return surplus
      .filter((prefix) => present.includes(prefix))
      .map((prefix) => `route del ${prefix} table ${this.slot.table}`);
  }

  /** Restores the interface's state, addresses and routes; no change if they are in place. */
  async restore(session: Session, uplinkMtu: number): Promise<void> {
    const { link, server } = session;
    const mtu = this.limitOf(session);
    await this.batch([...linkLines(link, server.config, uplinkMtu), ...this.routeLines(session, mtu)]);
    this.routesMtu = mtu;
  }

  /** Leads to one address inside the tunnel: without a route, reverse-path filtering drops what it answers. */
  leadTo({ link }: Session, address: Address): Promise<void> {
    return this.batch([`route replace ${address}/32 dev ${link} table ${this.slot.table}`]);
  }

  /** The route is gone already if another program has deleted the interface. */
  leadNoMore(address: Address): Promise<void> {
    return this.batch([`route del ${address}/32 table ${this.slot.table}`]).catch(() => {});
  }

  /** Whether the routes have the MTU that is right for the path, as far as it is known. */
  fits(session: Session): boolean {
    return this.limitOf(session) === this.routesMtu;
  }

  private routeLines({ link, server }: Session, mtu: number | null): string[] {
    return routeLines(link, server.config, this.slot.table, mtu);
  }

  /** Removes an interface, with its routes and addresses; a userspace program ends with it. */
  async close(link: string): Promise<void> {
    this.relayed.close(link);
    await this.wireguard.close(link);
    this.keyHolders.delete(link);
  }

  /** Why the session's relay has no connection to the server; null if it has one, or if there is no relay. */
  relayFault({ link }: Session): RelayFault | null {
    return this.relayed.fault(link);
  }

  /** Removes the slot's interfaces that exist, except `kept` and those of another program. */
  async closeOthers(present: readonly string[], kept: Session | null): Promise<void> {
    this.relayed.closeOthers(kept?.link ?? null);
    const links = this.slot.links.filter((link) => present.includes(link) && link !== kept?.link);
    for (const link of links) if ((await this.isTunnel(link)) !== false) await this.close(link);
  }

  /**
   * Whether an interface with a name of this slot, or of another one, is a tunnel's: it has the slot's mark, or no key
   * yet, as just after it was made. Null if it is not a WireGuard interface.
   */
  async isTunnel(link: string, { mark }: Slot = this.slot): Promise<boolean | null> {
    const own = await this.wireguard.own(link);
    return own && (own.publicKey === null || (own.fwmark & MARK_MASK) === mark);
  }

  /** Names of the interfaces that exist. */
  links(): Promise<string[]> {
    return this.wireguard.names();
  }

  /** The interfaces that routes lead to, with what they lead there. */
  async routed(): Promise<Map<string, (Prefix | null)[]>> {
    const byLink = Map.groupBy(await this.routes(), ({ dev }) => dev);
    return new Map([...byLink].map(([link, routes]) => [link, routes.map(({ prefix }) => prefix)]));
  }

  /**
   * The missing parts of what `open` and `route` made: `link`, or some of `addresses` and `routes`; empty if nothing is
   * missing.
   */
  async missingOf({ server, link }: Session): Promise<("link" | "addresses" | "routes")[]> {
    const [[found], routes] = await Promise.all([
      showAddresses(this.host, "dev", link).catch((): AddressedLink[] => []),
      this.routes(),
    ]);
    if (found === undefined) return ["link"];
    const present = found.addr_info.map(({ local, prefixlen }) => parsePrefix(`${local}/${prefixlen}`));
    const addresses = server.config.interface.addresses.every((address) => present.includes(address));
    const routed = routedPrefixes(server.config).every((prefix) =>
      routes.some((route) => route.prefix === prefix && route.dev === link),
    );
    return [
      ...(addresses && found.flags.includes("UP") ? [] : ["addresses" as const]),
      ...(routed ? [] : ["routes" as const]),
    ];
  }

  /** The state of the WireGuard interface, or null if there is none. */
  async device(link: string): Promise<Interface | null> {
    const told = await this.wireguard.read(link);
    if (told === null) return null;
    return "uapi" in told ? parseUapi(told.uapi) : parseDump(told.dump);
  }

  /**
   * The same for a status, which may be asked for many times a second. A userspace program answers each time without
   * a new process; `wg` runs only if packets have passed since it last ran, and once a second at most.
   */
  async shown(link: string): Promise<Interface | null> {
    const packets = await this.packets(link);
    if (!this.wireguard.native) return this.device(link);
    const { last } = this;
    const at = this.host.monotonic();
    const idle = packets !== null && Bun.deepEquals(packets, last?.packets);
    if (last === null || last.link !== link || !(idle || at - last.at < SHOWN_EXPIRES_MS)) {
      this.last = { link, at, packets };
      this.reading.forget();
    }
    return this.reading.get(() => this.device(link));
  }

  /**
   * Which of an interface's servers have answered, by public key, and when, in milliseconds since 1970: null if
   * WireGuard reports only whole seconds. Runs a program only if more than `known` packets have come in.
   */
  async handshakes(link: string, known: number): Promise<Map<string, number | null>> {
    if (
      this.wireguard.native &&
      ((await this.packets(link))?.received ?? Number.POSITIVE_INFINITY) <= known
    ) {
      return new Map();
    }
    const told = await this.wireguard.read(link);
    const peers = told === null ? [] : "uapi" in told ? peersInUapi(told.uapi) : peersInDump(told.dump);
    return new Map(
      peers
        .filter((peer) => peer.latestHandshake > 0)
        .map((peer) => [peer.publicKey, told !== null && "uapi" in told ? peer.latestHandshake : null]),
    );
  }

  /** Whether the server has answered. Runs a program only if a packet has come in. */
  async hasHandshake(link: string): Promise<boolean> {
    if (this.wireguard.native && (await this.packets(link))?.received === 0) return false;
    return ((await this.device(link))?.peer?.latestHandshake ?? 0) > 0;
  }

  /**
   * The interface's counters now, or null if it does not exist. Reading the kernel's own counters runs no program; one
   * runs only if packets went out and none came in, and once when incoming packets have stopped. A program that provides
   * the interface is not asked each time while no data passes, if `mayRest`: nothing is waited for then.
   */
  async sample(link: string, last: Sample | null, mayRest = false): Promise<Sample | null> {
    const at = this.host.monotonic();
    const packets = await this.packets(link);
    if (packets !== null && last?.packets != null) {
      if (heardIn(last, { ...last, packets })) return { ...last, at, packets };
      const still = Bun.deepEquals(packets, last.packets);
      if (still && last.countedAt === last.at) return { ...last, at, packets, countedAt: at };
    }
    // Read before the program is asked, so that what passes meanwhile is seen as a change the next time.
    const data = packets === null ? await this.data(link) : null;
    const rests = mayRest && last !== null && data !== null && data === last.data;
    if (rests && at - last.countedAt < COUNTED_AGAIN_MS) return { ...last, at };
    const peer = (await this.device(link))?.peer;
    if (peer == null) return null;
    const { rxBytes, txBytes, latestHandshake } = peer;
    return { at, packets, data, countedAt: at, rxBytes, txBytes, latestHandshake };
  }

  /** Packets of data that a program's interface has carried each way, "12 34"; null if there is none. */
  private async data(link: string): Promise<string | null> {
    const counts = await this.counters(link, "packets");
    return counts.includes(null) ? null : counts.map((count) => count?.trim()).join(" ");
  }

  /**
   * What an interface has carried; zeros without one. Runs no program for a kernel interface. The kernel counts each
   * sent packet without the 16 bytes of WireGuard's header (net/ipv4/ip_tunnel_core.c, `iptunnel_xmit`).
   */
  async carried(link: string): Promise<Bytes> {
    if (!(await this.wireguard.isNative(link))) {
      const peer = (await this.device(link))?.peer;
      return { rx_bytes: peer?.rxBytes ?? 0, tx_bytes: peer?.txBytes ?? 0 };
    }
    const [received, sent] = await this.counters(link, "bytes");
    return { rx_bytes: Number(received), tx_bytes: Number(sent) };
  }

  /** Null for a userspace interface: its program keeps better counters. */
  private async packets(link: string): Promise<Packets | null> {
    if (!(await this.wireguard.isNative(link))) return null;
    const [[received, sent], [receivedBytes]] = await Promise.all([
      this.counters(link, "packets"),
      this.counters(link, "bytes"),
    ]);
    if (received == null || receivedBytes == null || sent == null) return null;
    return { received: Number(received), receivedBytes: Number(receivedBytes), sent: Number(sent) };
  }

  private counters(link: string, of: "packets" | "bytes"): Promise<(string | null)[]> {
    const file = (way: string) => `/sys/class/net/${link}/statistics/${way}_${of}`;
    return Promise.all(["rx", "tx"].map((way) => this.host.read(file(way))));
  }

  /**
   * Gives the interface its server, or several that use the same own key, which starts the handshakes. The firewall
   * must already permit them, and mark and peer are set together: if the kill switch drops a first packet, WireGuard
   * repeats it only after 5 s.
   */
  configure(session: Session, others: readonly Session[] = []): Promise<void> {
    return this.tell(session, [session, ...others]);
  }

  /** Removes the server from the interface, which then sends no handshakes. Routes stay and lead nowhere. */
  silence(session: Session): Promise<void> {
    return this.tell(session, []);
  }

  /** To be called for a session that an earlier process has left, and that is used on. */
  adopt(session: Session): void {
    this.keyHolders.found(this.holderOf(session), [session]);
  }

  private holderOf(session: Session) {
    const keep = (servers: readonly Session[]) =>
      this.write(session, servers).catch(async (error: unknown) => {
        if ((await this.links()).includes(session.link)) throw error;
        this.keyHolders.delete(session.link);
      });
    return { slot: this.slot, link: session.link, keep };
  }

  private tell(session: Session, servers: readonly Session[]): Promise<void> {
    return this.keyHolders.give(this.holderOf(session), servers, () => this.write(session, servers));
  }

  private async write(session: Session, servers: readonly Session[]): Promise<void> {
    const { link } = session;
    const relay = await this.relayed.for(session);
    const { privateKey } = session.keys ?? session.server.config.interface;
    const own = {
      ...{ privateKey, fwmark: session.mark },
      ...(relay !== null && { listenPort: relay.wireguardPort }),
    };
    const peers = servers.map(({ server, endpoint, keys }) => ({
      config: {
        ...server.config.peer,
        allowedIps: ledPrefixes(server.config),
        ...(keys && { presharedKey: keys.presharedKey }),
      },
      endpoint: relay?.endpoint ?? endpoint,
      keepalive: keepaliveOf(server),
    }));
    await this.wireguard
      .configure(link, {
        uapi: uapiText(own, peers),
        wg: { command: "setconf", text: setconfText(own, peers) },
      })
      .finally(() => this.reading.forget());
  }

  private async routes(): Promise<{ prefix: Prefix | null; dev: string }[]> {
    const shown = await Promise.all(
      ([4, 6] as const).map((family) =>
        // A routing table that never had a route does not exist.
        showRoutes(this.host, family, "table", `${this.slot.table}`).catch((): Route[] => []),
      ),
    );
    return shown.flatMap((routes, index) =>
      // `ip` writes the whole address space as `default`, and a single address without its length.
      routes.map(({ dst = "", dev = "" }) => ({
        prefix: parsePrefix(dst === "default" ? (index === 0 ? "0.0.0.0/0" : "::/0") : dst),
        dev,
      })),
    );
  }

  private batch(lines: readonly string[]): Promise<void> {
    return this.wireguard.batch(lines);
  }
}
