import { familyOf } from "../base/address.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { Host, RouterPath } from "../system/host.ts";
import { Quality } from "./quality.ts";
import type { QualitySettings } from "./quality-settings.ts";

/** Tunnels that are due at about the same time share one request to the router. */
const TOGETHER_MS = 1_500;

interface Deps {
  host: Pick<Host, "monotonic" | "routerRoundTrip">;
  killSwitch: Pick<KillSwitch, "network">;
  qualitySettings: Pick<QualitySettings, "choice">;
}

/**
 * Measures the uplink by ARP requests to its router, whenever a tunnel is measured: they do not leave the cable, and the
 * kill switch needs no exception for them.
 */
export class UplinkQuality {
  readonly quality: Quality;
  private way: RouterPath | null = null;
  private askedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly deps: Deps) {
    this.quality = new Quality({ host: deps.host, settings: deps.qualitySettings });
  }

  /** To be called when the settings have changed. */
  changed(): void {
    if (this.deps.qualitySettings.choice.on) this.quality.judge();
    else this.follow(null);
  }

  /** To be called with each question to a tunnel's resolver. */
  ask(): void {
    const { host, killSwitch, qualitySettings } = this.deps;
    const way = wayIn(killSwitch.network);
    if (!Bun.deepEquals(way, this.way)) this.follow(way);
    const now = host.monotonic();
    const pause = qualitySettings.choice.everySeconds * 1_000 - TOGETHER_MS;
    if (this.way === null || now - this.askedAt < pause) return;
    this.askedAt = now;
    void this.measure(this.way);
  }

  private follow(way: RouterPath | null): void {
    this.way = way;
    this.askedAt = Number.NEGATIVE_INFINITY;
    this.quality.begin();
  }

  private async measure(way: RouterPath): Promise<void> {
    const ms = await this.deps.host.routerRoundTrip(way).catch(() => null);
    if (way === this.way) this.quality.add(ms);
  }
}

/** Null without a router that has an IPv4 address. */
function wayIn({ uplink, uplinkRouters, uplinkAddresses }: KillSwitch["network"]): RouterPath | null {
  const router = uplinkRouters.find((address) => familyOf(address) === 4);
  const own = uplinkAddresses.find((address) => familyOf(address) === 4);
  return uplink === null || router === undefined || own === undefined ? null : { link: uplink, own, router };
}
