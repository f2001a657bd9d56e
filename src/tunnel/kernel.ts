import { FWMARK } from "../firewall/policy.ts";
import { TABLE } from "../firewall/ruleset.ts";
import { linkLines, routedPrefixes, routeLines } from "../routing/routes.ts";
import { applyRules, type Rule, TUNNEL_TABLE } from "../routing/rules.ts";
import type { Host, Watch } from "../system/host.ts";
import { type Device, parseDump, parseUapi, setconfText } from "../wireguard/device.ts";
import type { Config } from "../wireguard/schema.ts";
import type { Session } from "./session.ts";

/** Where userspace WireGuard programs listen, one socket an interface (wireguard.com/xplatform). */
const SOCKET_FOLDER = "/var/run/wireguard";
/** The kernel tells of a change within 4 ms; on a busy Pi a little later. */
const EVENT_DELAY_MS = 50;
/** Opens NAT mappings and starts the first handshake; also renews it, so that an idle tunnel proves it is alive. */
const KEEPALIVE_SECONDS = 25;

/** Effects on the kernel, one text each. Knows what it applied last, and forgets it before it applies anything else. */
export class Kernel {
  private ruleset: string | null = null;
  /** Until when, on the monotone clock, the firewall's events may be our own doing. */
  private ownEventsUntil = 0;
  private rules: string | null = null;
  /** Whether this kernel makes WireGuard interfaces itself; found out by the first attempt. */
  private native: boolean | null = null;

  constructor(
    private readonly host: Host,
    /** Program that makes a WireGuard interface where the kernel does not. */
    private readonly userspace: string,
  ) {}

  /** Replaces the firewall's table in one transaction. */
  async setFirewall(ruleset: string): Promise<void> {
    if (ruleset === this.ruleset) return;
    this.ruleset = null;
    this.ownEventsUntil = Number.POSITIVE_INFINITY;
    try {
      await this.host.run(["nft", "-f", "-"], { stdin: ruleset });
    } finally {
      this.ownEventsUntil = this.host.monotonic() + EVENT_DELAY_MS;
    }
    this.ruleset = ruleset;
  }

  /** Calls back when another program deletes the firewall's table or something of it. */
  watchFirewall(onDeleted: () => void): Watch {
    const onLine = (line: string) => {
      const ours = line.startsWith('{"delete"') && line.includes(`"${TABLE.split(" ")[1]}"`);
      if (ours && this.host.monotonic() > this.ownEventsUntil) onDeleted();
    };
    return this.host.watch(["nft", "-j", "monitor"], onLine, () => {});
  }

  async setRules(rules: readonly Rule[]): Promise<void> {
    const text = JSON.stringify(rules);
    if (text === this.rules) return;
    this.rules = null;
    await applyRules(this.host, rules);
    this.rules = text;
  }

  /** Trusts nothing that was applied before: the next `set…` writes again. */
  forget(): void {
    this.ruleset = null;
    this.rules = null;
  }

  /** Brings up the session's interface and starts its handshake. Mark and peer come together, or the first packet meets the kill switch. */
  async open(session: Session, uplinkMtu: number): Promise<void> {
    await this.createLink(session.link, linkLines(session.link, session.server.config, uplinkMtu));
    await this.configure(
      "setconf",
      session,
      session.server.config.peer.persistentKeepalive || KEEPALIVE_SECONDS,
    );
  }

  /** Keepalives started the handshake; a configuration that wants none gets none from here on. */
  async settle(session: Session): Promise<void> {
    if (session.server.config.peer.persistentKeepalive === 0) await this.configure("syncconf", session, 0);
  }

  /** Leads traffic into the session, and no longer where only the former one led. */
  async route({ server, link }: Session, former: Config | null): Promise<void> {
    const routed = new Set(routedPrefixes(server.config));
    const surplus = former === null ? [] : routedPrefixes(former).filter((prefix) => !routed.has(prefix));
    await this.batch([
      ...routeLines(link, server.config),
      ...surplus.map((prefix) => `route del ${prefix} table ${TUNNEL_TABLE}`),
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
    const shown = await Promise.all(
      ["-4", "-6"].map((family) =>
        this.host.run(["ip", "-j", family, "route", "show", "table", String(TUNNEL_TABLE)]).catch(() => "[]"),
      ),
    );
    const routes = shown.flatMap((text) => JSON.parse(text || "[]") as { dev?: string }[]);
    return [...new Set(routes.flatMap((route) => route.dev ?? []))];
  }

  /** What the WireGuard interface says, or null where there is none. */
  async device(link: string): Promise<Device | null> {
    const answer = await this.host.exchange(`${SOCKET_FOLDER}/${link}.sock`, "get=1\n\n");
    if (answer !== null) return parseUapi(answer);
    if (this.native === false) return null;
    const dump = await this.host.run(["wg", "show", link, "dump"], { secret: true }).catch(() => null);
    return dump === null ? null : parseDump(dump);
  }

  /** The table as the kernel has it, or null where there is none. */
  async table(): Promise<string | null> {
    return this.host.run(["nft", "-s", "list", "table", ...TABLE.split(" ")]).catch(() => null);
  }

  private async createLink(link: string, lines: readonly string[]): Promise<void> {
    if (this.native) return this.batch([`link add dev ${link} type wireguard`, ...lines]);
    const made =
      this.native === null &&
      (await this.batch([`link add dev ${link} type wireguard`]).then(
        () => true,
        () => false,
      ));
    if (!made) await this.host.run([this.userspace, link]);
    // Only now is it known: a first attempt may fail for another reason than a kernel without WireGuard.
    this.native = made;
    await this.batch(lines);
  }

  /** `syncconf` keeps the session that `setconf` would start anew. */
  private async configure(verb: "setconf" | "syncconf", session: Session, keepalive: number): Promise<void> {
    await this.host.run(["wg", verb, session.link, "/dev/stdin"], {
      stdin: setconfText(session.server.config, { endpoint: session.endpoint, fwmark: FWMARK, keepalive }),
      secret: true,
    });
  }

  private async batch(lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.host.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
  }
}
