import { GatewayError } from "../errors.ts";
import type { Slot } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import {
  type Interface,
  parseDump,
  parseUapi,
  peersInDump,
  peersInUapi,
  setconfText,
  uapiText,
} from "../wireguard/interface.ts";
import type { Config } from "../wireguard/schema.ts";
import type { Sample } from "./health.ts";
import { linkLines, routedPrefixes, routeLines } from "./routes.ts";
import { keepaliveOf, type Session } from "./session.ts";

/** Where userspace WireGuard programs listen, one socket an interface (wireguard.com/xplatform). */
const SOCKET_FOLDER = "/var/run/wireguard";
/** A userspace program ends 5 ms after its interface was deleted; on a busy machine it took 150 ms. */
const PROGRAM_ENDS_WITHIN_MS = 3_000;
const PROGRAM_POLL_MS = 10;

/** The tunnel's interfaces and routes in the kernel. */
export class Kernel {
  /** Whether this kernel makes WireGuard interfaces itself; found out by the first attempt. */
  private native: boolean | null = null;

  constructor(
    private readonly host: Host,
    private readonly slot: Slot,
    /** Program that makes a WireGuard interface where the kernel does not. */
    private readonly userspace: string,
  ) {}

  /** Brings up the session's interface, which knows no server yet. */
  async open({ link, server }: Session, uplinkMtu: number): Promise<void> {
    await this.createLink(link, linkLines(link, server.config, uplinkMtu));
  }

  /** Leads traffic into the session, and no longer where only the former one led. */
  async route({ server, link }: Session, former: Config | null): Promise<void> {
    const routed = new Set(routedPrefixes(server.config));
    const surplus = former === null ? [] : routedPrefixes(former).filter((prefix) => !routed.has(prefix));
    // A route of the former tunnel is gone already where someone has deleted its interface.
    const present = surplus.length === 0 ? [] : (await this.routes()).map((route) => route.prefix);
    await this.batch([
      ...routeLines(link, server.config, this.slot.table),
      ...surplus
        .filter((prefix) => present.includes(prefix))
        .map((prefix) => `route del ${prefix} table ${this.slot.table}`),
    ]);
  }

  /** Puts back the interface's state, addresses and routes; nothing where they stand. */
  async restore({ server, link }: Session, uplinkMtu: number): Promise<void> {
    await this.batch([
      ...linkLines(link, server.config, uplinkMtu),
      ...routeLines(link, server.config, this.slot.table),
    ]);
  }

  /** Removes an interface, with its routes and addresses; a userspace program ends with it. */
  async close(link: string): Promise<void> {
    try {
      await this.host.run(["ip", "link", "del", "dev", link]);
    } catch (error) {
      if ((await this.links()).includes(link)) throw error;
    }
  }

  /** Names of the interfaces that exist. */
  async links(): Promise<string[]> {
    const links = JSON.parse(await this.host.run(["ip", "-j", "link", "show"])) as { ifname: string }[];
    return links.map((link) => link.ifname);
  }

  /** Names of the interfaces that the tunnel's routes lead to. */
  async routedLinks(): Promise<string[]> {
    return [...new Set((await this.routes()).map((route) => route.dev))];
  }

  /** What is not as `open` and `route` made it: `link`, or some of `addresses` and `routes`; empty where all is. */
  async missingOf({ server, link }: Session): Promise<("link" | "addresses" | "routes")[]> {
    const [shown, routes] = await Promise.all([
      this.host.run(["ip", "-j", "address", "show", "dev", link]).catch(() => "[]"),
      this.routes(),
    ]);
    const [found] = JSON.parse(shown) as {
      flags: string[];
      addr_info: { local: string; prefixlen: number }[];
    }[];
    if (found === undefined) return ["link"];
    const present = found.addr_info.map(({ local, prefixlen }) => `${local}/${prefixlen}`);
    const addresses = server.config.interface.addresses.every((address) => present.includes(address));
    const routed = routedPrefixes(server.config).every((prefix) =>
      routes.some((route) => route.prefix === prefix && route.dev === link),
    );
    return [
      ...(addresses && found.flags.includes("UP") ? [] : ["addresses" as const]),
      ...(routed ? [] : ["routes" as const]),
    ];
  }

  /** What the WireGuard interface says, or null where there is none. */
  async device(link: string): Promise<Interface | null> {
    const answer = await this.host.exchange(socketOf(link), "get=1\n\n");
    if (answer !== null) return parseUapi(answer);
    const dump = await this.dump(link);
    return dump === null ? null : parseDump(dump);
  }

  /**
   * Who of an interface's servers has answered, by public key, and when, in milliseconds since 1970: null where
   * WireGuard tells whole seconds alone. Runs a program only when more than the `known` answers have come in.
   */
  async handshakes(link: string, known: number): Promise<Map<string, number | null>> {
    if (this.native && ((await this.packets(link))?.received ?? Number.POSITIVE_INFINITY) <= known) {
      return new Map();
    }
    const answer = await this.host.exchange(socketOf(link), "get=1\n\n");
    const dump = answer === null ? await this.dump(link) : null;
    const peers = answer !== null ? peersInUapi(answer) : dump !== null ? peersInDump(dump) : [];
    return new Map(
      peers
        .filter((peer) => peer.latestHandshake > 0)
        .map((peer) => [peer.publicKey, answer === null ? null : peer.latestHandshake]),
    );
  }

  /** Whether the server has answered; runs a program only when something has come in. */
  async hasHandshake(link: string): Promise<boolean> {
    if (this.native && (await this.packets(link))?.received === 0) return false;
    return ((await this.device(link))?.peer?.latestHandshake ?? 0) > 0;
  }

  /**
   * What the interface counts now, or null where there is none. The kernel's own counters cost no program; one
   * runs only when packets went out and none came in, and once when what came in has ceased.
   */
  async sample(link: string, last: Sample | null): Promise<Sample | null> {
    const at = this.host.monotonic();
    const packets = await this.packets(link);
    if (packets !== null && last?.packets != null) {
      if (packets.received !== last.packets.received) return { ...last, at, packets };
      const still = packets.sent === last.packets.sent;
      if (still && last.countedAt === last.at) return { ...last, at, packets, countedAt: at };
    }
    const peer = (await this.device(link))?.peer;
    if (peer == null) return null;
    const { rxBytes, txBytes, latestHandshake } = peer;
    return { at, packets, countedAt: at, rxBytes, txBytes, latestHandshake };
  }

  /** Null where the interface belongs to a program, which counts better. */
  private async packets(link: string): Promise<{ received: number; sent: number } | null> {
    this.native ??= await this.isNative(link);
    if (!this.native) return null;
    const [received, sent] = await Promise.all(
      ["rx", "tx"].map((way) => this.host.read(`/sys/class/net/${link}/statistics/${way}_packets`)),
    );
    return received == null || sent == null ? null : { received: Number(received), sent: Number(sent) };
  }

  /** An interface that an earlier process has made tells its kind; null where the kernel does not say. */
  private async isNative(link: string): Promise<true | null> {
    const told = await this.host.read(`/sys/class/net/${link}/uevent`);
    return told?.includes("DEVTYPE=wireguard\n") === true ? true : null;
  }

  private async createLink(link: string, lines: readonly string[]): Promise<void> {
    if (this.native) return this.batch([`link add dev ${link} type wireguard`, ...lines]);
    const made =
      this.native === null &&
      (await this.batch([`link add dev ${link} type wireguard`]).then(
        () => true,
        () => false,
      ));
    if (!made) await this.startProgram(link);
    // Only now is it known: a first attempt may fail for another reason than a kernel without WireGuard.
    this.native = made;
    await this.batch(lines);
  }

  /** The program of an interface that was just deleted still holds the socket of its name for a moment. */
  private async startProgram(link: string): Promise<void> {
    const deadline = this.host.monotonic() + PROGRAM_ENDS_WITHIN_MS;
    while ((await this.host.exchange(socketOf(link), "get=1\n\n")) !== null) {
      if (this.host.monotonic() > deadline) break;
      await this.host.sleep(PROGRAM_POLL_MS);
    }
    await this.host.run([this.userspace, link]);
  }

  /**
   * Gives the interface its server, or several with the same own key, which starts the handshakes. The firewall must
   * let them out by then, and mark and peer come together: a first packet that meets the kill switch is sent again
   * only after 5 s.
   */
  async configure(session: Session, others: readonly Session[] = []): Promise<void> {
    const { link } = session;
    const own = { privateKey: session.server.config.interface.privateKey, fwmark: session.mark };
    const peers = [session, ...others].map(({ server, endpoint }) => ({
      config: server.config.peer,
      endpoint,
      keepalive: keepaliveOf(server),
    }));
    // A program takes on its socket, at once, what `wg` would write there.
    const answer = this.native ? null : await this.host.exchange(socketOf(link), uapiText(own, peers));
    if (answer?.trim() === "errno=0") return;
    if (answer !== null) {
      throw new GatewayError("kernel_refused", `WireGuard refused the configuration of ${link}`);
    }
    await this.host.run(["wg", "setconf", link, "/dev/stdin"], {
      stdin: setconfText(own, peers),
      secret: true,
    });
  }

  private async dump(link: string): Promise<string | null> {
    if (this.native === false) return null;
    return this.host.run(["wg", "show", link, "dump"], { secret: true }).catch(() => null);
  }

  private async routes(): Promise<{ prefix: string; dev: string }[]> {
    const shown = await Promise.all(
      ["-4", "-6"].map((family) =>
        // A table that nothing was ever put in does not exist.
        this.host
          .run(["ip", "-j", family, "route", "show", "table", String(this.slot.table)])
          .catch(() => "[]"),
      ),
    );
    return shown.flatMap((text, index) =>
      (JSON.parse(text || "[]") as { dst: string; dev?: string }[]).map(({ dst, dev }) => ({
        prefix: prefixOf(dst, index === 0 ? 4 : 6),
        dev: dev ?? "",
      })),
    );
  }

  private async batch(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return;
    await this.host.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
  }
}

function socketOf(link: string): string {
  return `${SOCKET_FOLDER}/${link}.sock`;
}

/** `ip` spells the widest prefix `default`, and a single address without its length. */
function prefixOf(shown: string, family: 4 | 6): string {
  if (shown === "default") return family === 4 ? "0.0.0.0/0" : "::/0";
  if (shown.includes("/")) return shown;
  return `${shown}/${family === 4 ? 32 : 128}`;
}
