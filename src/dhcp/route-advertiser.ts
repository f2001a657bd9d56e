import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { servedAmong } from "../network/ula.ts";
import type { Host, LinkSocket } from "../system/host.ts";
import { advertise } from "./advertise.ts";
import { ADVERTISED_EACH_S, ROUTER_LIFETIME_S } from "./config.ts";

interface Deps {
  host: Pick<Host, "listenOn" | "run" | "sleep" | "monotonic">;
  settings: Pick<Settings, "dhcp" | "ula">;
  network: () => Pick<HostNetwork, "lans" | "ipv6">;
  log: Pick<Log, "warn">;
}

/** How often requests of devices are read. Until a device has its routes, it may use another router. */
const READ_EVERY_MS = 500;
/** MIN_DELAY_BETWEEN_RAS of RFC 4861, section 10. */
const SHORTEST_PAUSE_MS = 3_000;

/** Advertises routes to everything on the LAN that it serves, beside dnsmasq, which cannot advertise routes. */
export class RouteAdvertiser {
  private readonly links = new Map<string, { socket: LinkSocket; triedAt: number; isAsked: boolean }>();
  private trouble: string | null = null;

  constructor(private readonly deps: Deps) {}

  /** Answers devices, and repeats itself, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    if (this.deps.settings.dhcp === null || this.deps.settings.ula === null) return;
    while (!signal.aborted) {
      await this.look().then(
        () => this.failed(null),
        (error: unknown) => this.failed(messageOf(error)),
      );
      await this.deps.host.sleep(READ_EVERY_MS, signal);
    }
    for (const name of this.links.keys()) this.close(name);
  }

  private async look(): Promise<void> {
    const { network, settings } = this.deps;
    const { lans, ipv6 } = network();
    const served = ipv6 === "on" ? servedAmong(lans, settings).map((lan) => lan.interface) : [];
    for (const name of this.links.keys()) if (!served.includes(name)) this.close(name);
    const results = await Promise.allSettled(served.map((name) => this.serve(name)));
    const failure = results.find((result) => result.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  }

  private async serve(name: string): Promise<void> {
    const { host } = this.deps;
    const link = this.links.get(name) ?? (await this.open(name));
    const received = link.socket.received();
    // The interface was removed; it may come back.
    if (received === null) return this.close(name);
    link.isAsked ||= received.length > 0;
    const pause = host.monotonic() - link.triedAt;
    const isDue = pause >= (link.isAsked ? SHORTEST_PAUSE_MS : ADVERTISED_EACH_S * 1_000);
    if (!isDue) return;
    // If there is no usable address, it is tried again after the pause, because each attempt starts a program.
    Object.assign(link, { triedAt: host.monotonic(), isAsked: true });
    link.isAsked = !(await advertise(host, { link: name, socket: link.socket }, ROUTER_LIFETIME_S));
  }

  private async open(name: string) {
    const socket = await this.deps.host.listenOn(name, "router solicitations");
    const link = { socket, triedAt: Number.NEGATIVE_INFINITY, isAsked: true };
    this.links.set(name, link);
    return link;
  }

  private close(name: string): void {
    this.links.get(name)?.socket.close();
    this.links.delete(name);
  }

  private failed(trouble: string | null): void {
    if (trouble !== null && trouble !== this.trouble)
      this.deps.log.warn(`devices are not told to prefer this router for IPv6: ${trouble}`);
    this.trouble = trouble;
  }
}
