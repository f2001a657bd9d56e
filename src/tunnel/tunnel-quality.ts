import type { KillSwitch } from "../killswitch/killswitch.ts";
import { exitMarkOf } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import type { Sample } from "./health.ts";
import { resolverInside } from "./mtu.ts";
import { type Measured, Quality } from "./quality.ts";
import type { QualitySettings } from "./quality-settings.ts";
import type { Session } from "./session.ts";
import { isUnanswered, type State } from "./state.ts";

/** How often a tunnel is measured that is not used, or whose resolver does not answer. */
const UNUSED_EVERY_MS = 300_000;
/**
 * A question, its answer, and what WireGuard sends by itself. A tunnel that carries no more packets than this from one
 * question to the next is not used.
 */
const OWN_PACKETS = 8;
/** A program that provides the interface may count only bytes: this is what a keepalive takes. */
const LEAST_BYTES = 32;

interface Deps {
  host: Pick<Host, "monotonic" | "roundTrip">;
  killSwitch: Pick<KillSwitch, "network">;
  qualitySettings: Pick<QualitySettings, "choice">;
  /** Called with each question, so that other measurements share the wake-up. */
  onAsked: () => void;
}

/**
 * Measures a tunnel by questions to its own resolver, one at a time, which go through the tunnel's interface only. It
 * has no timer: each look at the tunnel includes one of it.
 */
export class TunnelQuality {
  readonly quality: Quality;
  private session: Session | null = null;
  private dueAt = 0;
  private askedAt = Number.NEGATIVE_INFINITY;
  /** What the tunnel had carried when a question was due last. */
  private packets = 0;

  constructor(private readonly deps: Deps) {
    this.quality = new Quality({ host: deps.host, settings: deps.qualitySettings });
  }

  /** What is measured of a tunnel in this state: null while it does not carry, because what was measured before is over. */
  measuredIn(state: State): Measured | null {
    return state.name === "connected" && !isUnanswered(state) ? this.quality.measured : null;
  }

  /** To be called when the settings have changed. */
  changed(): void {
    this.dueAt = 0;
    if (this.deps.qualitySettings.choice.on) this.quality.judge();
    else this.follow(null);
  }

  /** To be called with each look at the tunnel, with the session that is connected; asks a question if one is due. */
  look(session: Session | null, sample: Sample | null): void {
    const { host, killSwitch, qualitySettings, onAsked } = this.deps;
    const { on, everySeconds } = qualitySettings.choice;
    if (!on) return;
    if (session !== this.session) this.follow(session);
    const now = host.monotonic();
    if (session === null || sample === null || now < this.dueAt) return;
    this.dueAt = now + everySeconds * 1_000;
    const packets = packetsIn(sample);
    const isUsed = packets - this.packets > OWN_PACKETS && !this.quality.isMute;
    this.packets = packets;
    if (!isUsed && now - this.askedAt < UNUSED_EVERY_MS) return;
    const address = resolverInside(session, killSwitch.network);
    if (address === null) return;
    this.askedAt = now;
    void this.ask(session, address);
    onAsked();
  }

  private follow(session: Session | null): void {
    this.session = session;
    this.dueAt = 0;
    this.askedAt = Number.NEGATIVE_INFINITY;
    this.quality.begin();
  }

  private async ask(session: Session, address: string): Promise<void> {
    const { link, mark } = session;
    const way = { link, mark: exitMarkOf(mark), address };
    const ms = await this.deps.host.roundTrip(way).catch(() => null);
    if (session === this.session) this.quality.add(ms);
  }
}

/** What the session has carried, at least. */
function packetsIn({ packets, data, rxBytes, txBytes }: Sample): number {
  if (packets !== null) return packets.received + packets.sent;
  if (data === null) return Math.floor((rxBytes + txBytes) / LEAST_BYTES);
  return data.split(" ").reduce((sum, count) => sum + Number(count), 0);
}
