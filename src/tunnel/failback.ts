import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Host } from "../system/host.ts";
import type { Controller } from "./controller.ts";
import type { Sample } from "./health.ts";
import type { OrderTarget } from "./order.ts";
import type { Session } from "./session.ts";
import { besideOf, type Candidate, type Target } from "./target.ts";

/** A tunnel that carries no more than this, both ways, is quiet: less than any call, film or download. */
const QUIET = { bytes: 250_000, ms: 60_000 };

/** A failback that is not undone for this long was right. */
const LASTING_MS = 3_600_000;
/** With the usual ten minutes, such a server is tried again after half a day at the latest. */
const MAX_PATIENCE = 64;

interface Deps {
  host: Pick<Host, "monotonic">;
  controller: Pick<Controller, "asked" | "moveBeside">;
  found: (wanted: OrderTarget, tunnel: string) => Target | null;
  /** Whether a target was left because it was slow or lossy, and is not taken again yet. */
  isHeld: (target: OrderTarget | undefined) => boolean;
  /** The tunnel's name. */
  name: string;
  log: Pick<Log, "info">;
}

/**
 * Leads a live tunnel back to a better target of its order once that answers again. It has no timer: each look at the
 * tunnel includes one of it.
 */
export class Failback {
  private session: Session | null = null;
  /** When a better target was tried last, or the tunnel came to this one. */
  private triedAt = 0;
  /** Since when the tunnel has carried little, and what it had carried by then. */
  private quiet = { since: 0, bytes: 0 };
  private attempt: AbortController | null = null;
  /** Which target it was led back to, and when. */
  private led: { to: number; at: number } | null = null;
  /** The factor on the requested wait: it doubles after each failback that did not last. */
  private patience = 1;

  constructor(private readonly deps: Deps) {}

  /** To be called with each look at a tunnel that works. */
  look(session: Session, { rxBytes, txBytes }: Sample): void {
    const now = this.deps.host.monotonic();
    const bytes = rxBytes + txBytes;
    if (session !== this.session) {
      this.session = session;
      this.triedAt = now;
      this.quiet = { since: now, bytes };
    }
    this.judge(now);
    if (bytes - this.quiet.bytes > QUIET.bytes) this.quiet = { since: now, bytes };
    const { order } = this.deps.controller.asked;
    const minutes = order?.back_after_minutes;
    if (this.attempt !== null || minutes === undefined) return;
    if (now - this.triedAt < minutes * this.patience * 60_000) return;
    if (order?.back_when_quiet && now - this.quiet.since < QUIET.ms) return;
    void this.tryBetter(session);
  }

  /** A server may answer handshakes and carry nothing, or come and go: it is not gone back to again and again. */
  private judge(now: number): void {
    if (this.led === null) return;
    const isLeft = (this.deps.controller.asked.order?.at ?? 0) > this.led.to;
    if (!isLeft && now - this.led.at < LASTING_MS) return;
    this.patience = isLeft ? Math.min(this.patience * 2, MAX_PATIENCE) : 1;
    this.led = null;
  }

  /** Ends an attempt: the tunnel has lost its server, and the next dial must not wait. */
  stop(): void {
    this.attempt?.abort();
  }

  private async tryBetter(session: Session): Promise<void> {
    const { controller, host, log } = this.deps;
    const attempt = new AbortController();
    this.attempt = attempt;
    const before = controller.asked.order?.at ?? 0;
    try {
      await controller.moveBeside(this.betterThan(session), "better_answers", attempt.signal);
    } catch (error) {
      log.info(messageOf(error));
    }
    this.attempt = null;
    this.triedAt = host.monotonic();
    const to = controller.asked.order?.at ?? before;
    if (to < before) this.led = { to, at: this.triedAt };
  }

  private betterThan({ server }: Session): Candidate[] {
    const { controller, found, isHeld, name } = this.deps;
    const { order } = controller.asked;
    if (order === undefined) return [];
    const isBetter = ({ asked: { order: its = order } }: Candidate) =>
      its.at < order.at && !isHeld(order.targets[its.at]);
    return besideOf(order, server, (wanted) => found(wanted, name)).filter(isBetter);
  }
}
