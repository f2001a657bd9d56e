import type { Address } from "../base/address.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { MAIN } from "../killswitch/policy.ts";
import { titleOf } from "../servers/hops.ts";
import type { Host } from "../system/host.ts";
import type { Controller } from "./controller.ts";
import type { Failback } from "./failback.ts";
import { askedIn, type Evidence, heardIn, isDead, type Sample, weigh } from "./health.ts";
import type { Kernel } from "./kernel.ts";
import type { KnownPaths } from "./known-paths.ts";
import { resolverInside } from "./mtu.ts";
import type { QualityFailover } from "./quality-failover.ts";
import type { SavedState } from "./saved-state.ts";
import { keepaliveOf, type Session, sameServer } from "./session.ts";
import { carriedBy, isUnanswered } from "./state.ts";
import type { TunnelQuality } from "./tunnel-quality.ts";
import { askedAnew, isCertain, isDoubtful, isPast, type Unanswered, unansweredAfter } from "./unanswered.ts";

/**
 * The pauses between two questions of the gateway's own, until it is certain that nothing is answered, and after that.
 */
const ASK_AGAIN_MS = { doubtful: 5_000, certain: 15_000 };

export interface LivenessDeps {
  host: Host;
  controller: Controller;
  kernel: Kernel;
  killSwitch: KillSwitch;
  savedState: SavedState;
  knownWays: Pick<KnownPaths, "fellSilent">;
  quality: Pick<TunnelQuality, "look">;
  failback: Pick<Failback, "look">;
  qualityFailover: Pick<QualityFailover, "look">;
  /** The tunnel's name. */
  name: string;
}

/** Whether a tunnel's server is alive, from what goes out and comes back. */
export class Liveness {
  /** Whether an answer is due: then the next look comes sooner. */
  isBusy = false;
  private known: {
    session: Session;
    sample: Sample;
    evidence: Evidence;
    unanswered: Unanswered | null;
  } | null = null;
  /** Whether the next look is the first. A session that exists by then belongs to an earlier process. */
  private isFirst = true;
  /** When the gateway itself last asked something through the tunnel. */
  private askedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly deps: LivenessDeps) {}

  /** One look: notices whether the server answers, and whether what is sent through it comes back. */
  async look(): Promise<void> {
    const { controller, kernel, knownWays } = this.deps;
    // During a connect, that of the former tunnel, which is needed again if the new one does not come up.
    const state = controller.standing;
    const isDialling = controller.state !== state;
    const isAdopted = this.isFirst;
    this.isFirst = false;
    if (isDialling && state?.name !== "connected") return;
    const session = state && carriedBy(state);
    if (session === null) {
      this.known = null;
      this.isBusy = false;
      this.deps.quality.look(null, null);
      return;
    }
    const before = this.known?.session === session ? this.known : null;
    const keepaliveMs = keepaliveOf(session.server) * 1_000;
    const mayRest = state.name === "connected" && !isUnanswered(state) && this.isQuiet(before);
    const sample = await kernel.sample(session.link, before?.sample ?? null, mayRest);
    if (controller.standing !== state) return;
    if (sample === null) return controller.lost("the tunnel's interface is gone");
    const evidence =
      before === null
        ? { heardAt: sample.at - (isAdopted ? this.ageOf(sample) : 0), askedAt: null }
        : weigh(before.evidence, before.sample, sample, keepaliveMs);
    const resolver = this.resolverOf(session);
    const former = this.known;
    const isSame = former !== null && sameServer(former.session.server, session.server);
    const unanswered =
      before !== null && state.name === "connected"
        ? unansweredAfter(before.unanswered, before.sample, sample, keepaliveMs, resolver !== null)
        : askedAnew(isSame ? former.unanswered : null);
    this.known = { session, sample, evidence, unanswered };
    this.isBusy =
      evidence.askedAt !== null || (before !== null && askedIn(before.sample, sample, keepaliveMs));
    const isLost = isDead(evidence, sample.at, isUnanswered(state));
    if (isLost) controller.lost(`${titleOf(session.server)} no longer answers`);
    else if (before !== null && heardIn(before.sample, sample)) controller.recovered();
    if (isCertain(unanswered)) controller.unanswered();
    else if (unanswered === null) controller.answered();
    if (isDoubtful(unanswered) && !isDialling && resolver !== null) void this.ask(session, resolver);
    if (controller.state.name === "connected") {
      this.deps.savedState.saveClock(this.deps.host.now(), sample.latestHandshake);
      this.deps.quality.look(session, sample);
      if (!isUnanswered(controller.state)) {
        this.deps.qualityFailover.look(session);
        this.deps.failback.look(session, sample);
      }
    }
    // Last: programs run for it, and meanwhile a person may connect to another server.
    if (isLost && state.name === "connected") await knownWays.fellSilent(session);
  }

  /** Whether nothing is waited for: what has gone out was answered, or long ago. */
  private isQuiet(before: Liveness["known"]): boolean {
    if (this.isBusy || before === null || before.evidence.askedAt !== null) return false;
    const asks = this.resolverOf(before.session) !== null;
    return before.unanswered === null || isPast(before.unanswered, this.deps.host.monotonic(), asks);
  }

  /**
   * Milliseconds since the last handshake. Valid only for an earlier process's session. A new session may be the first
   * that the time service uses, and then the clock jumps after the handshake was dated.
   */
  private ageOf({ latestHandshake }: Sample): number {
    return Math.max(0, this.deps.host.now() - latestHandshake);
  }

  /**
   * The resolver that the gateway can ask. Only `main` carries the gateway's packets, and only the kill switch keeps
   * them inside.
   */
  private resolverOf(session: Session): Address | null {
    const { killSwitch, name } = this.deps;
    if (name !== MAIN || !killSwitch.isWanted) return null;
    return resolverInside(session, killSwitch.network);
  }

  /** Asks the tunnel's resolver a question, because devices may send packets that nobody answers. */
  private async ask(session: Session, resolver: Address): Promise<void> {
    const { host, controller } = this.deps;
    const now = host.monotonic();
    if (now - this.askedAt < ASK_AGAIN_MS[isUnanswered(controller.state) ? "certain" : "doubtful"]) return;
    this.askedAt = now;
    const answered = await host.probeResolver(resolver, [0]).catch(() => []);
    if (answered.length === 0 || this.known?.session !== session) return;
    this.known = { ...this.known, unanswered: null };
    controller.answered();
  }

  /** What has come in so far is no later sign of life. */
  forget(): void {
    this.known = null;
  }
}
