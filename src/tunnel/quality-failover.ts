import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { BACK_MINUTES } from "../shared/bounds.ts";
import type { Host } from "../system/host.ts";
import type { Controller } from "./controller.ts";
import { MOVES_WHEN, type MoveWhen, type OrderTarget } from "./order.ts";
import type { Quality } from "./quality.ts";
import type { Session } from "./session.ts";
import { besideOf, leadsTo, type Target } from "./target.ts";

/** The shortest time between two attempts to leave, and between an arrival and the first. */
const STAYS_MS = 180_000;
/** A move this soon after a retry means that no target is good. */
const IN_VAIN_MS = 3_600_000;
/** With the usual ten minutes, a target is taken again after half a day at the latest. */
const MAX_PATIENCE = 64;

interface Deps {
  host: Pick<Host, "monotonic">;
  controller: Pick<Controller, "asked" | "moveBeside">;
  quality: { quality: Pick<Quality, "is"> };
  /** Whether the uplink itself is slow or lossy: no other server helps then. */
  isUplinkPoor: () => boolean;
  found: (wanted: OrderTarget, tunnel: string) => Target | null;
  /** The tunnel's name. */
  name: string;
  log: Pick<Log, "info">;
}

/**
 * Leads a live tunnel away from a target that has become slow or lossy, where its order says so, once another target
 * answers. It has no timer: each look at the tunnel includes one of it.
 */
export class QualityFailover {
  private session: Session | null = null;
  /** The same list as long as the tunnel moves in it. */
  private targets: readonly OrderTarget[] | null = null;
  /** When the tunnel came to this server, or was to be led away from it. */
  private since = 0;
  /** Until when the targets that were left are not taken again. */
  private readonly heldUntil = new Map<string, number>();
  /** The factor on the wait for a better target: how long they are held. */
  private patience = 1;
  private triesAgainAt = Number.NEGATIVE_INFINITY;
  private attempt: AbortController | null = null;

  constructor(private readonly deps: Deps) {}

  /** Whether a target was left and is not taken again yet. */
  holds(target: OrderTarget | undefined): boolean {
    return this.deps.host.monotonic() < (this.heldUntil.get(JSON.stringify(target)) ?? 0);
  }

  /** To be called with each look at a tunnel that works. */
  look(session: Session): void {
    const now = this.deps.host.monotonic();
    const targets = this.deps.controller.asked.order?.targets ?? null;
    if (targets !== this.targets) this.begin(targets);
    if (session !== this.session) {
      this.session = session;
      this.since = now;
    }
    if (this.attempt !== null || now - this.since < STAYS_MS) return;
    const why = this.reason();
    if (why !== null) void this.leave(session, why);
  }

  /** Ends an attempt: the tunnel has lost its server, and the next dial must not wait. */
  stop(): void {
    this.attempt?.abort();
  }

  /** Another connect is another wish: nothing of the former order is held. */
  private begin(targets: readonly OrderTarget[] | null): void {
    this.targets = targets;
    this.heldUntil.clear();
    this.patience = 1;
  }

  private reason(): MoveWhen | null {
    const { controller, quality, isUplinkPoor } = this.deps;
    const left = controller.asked.order?.move_when ?? [];
    // As the quality is shown: one that is both is lossy.
    const why = MOVES_WHEN.findLast((each) => left.includes(each) && quality.quality.is(each));
    return why === undefined || isUplinkPoor() ? null : why;
  }

  private async leave(session: Session, why: MoveWhen): Promise<void> {
    const { controller, host, log, found, name } = this.deps;
    const { order } = controller.asked;
    if (order === undefined) return;
    const attempt = new AbortController();
    this.attempt = attempt;
    const begun = host.monotonic();
    const left = order.targets[order.at];
    const others = besideOf(order, session.server, (wanted) => found(wanted, name)).filter(
      ({ asked }) => !this.holds(asked.order?.targets[asked.order.at]),
    );
    try {
      const isMoved = await controller.moveBeside(others, why, attempt.signal);
      // After a schedule's move, the server that was left is none of that target.
      const target = left && found(left, name);
      if (isMoved && target && leadsTo(target, session.server))
        this.hold(JSON.stringify(left), begun, order.back_after_minutes);
    } catch (error) {
      log.info(messageOf(error));
    }
    this.attempt = null;
    this.since = host.monotonic();
  }

  /**
   * The target is not taken again for a while, and for longer each time if no target is good. From when it was to be left:
   * failback counts from the arrival elsewhere, and finds it free then.
   */
  private hold(left: string, now: number, minutes = BACK_MINUTES): void {
    for (const [target, until] of this.heldUntil) if (now >= until) this.heldUntil.delete(target);
    const isInVain = now - this.triesAgainAt < IN_VAIN_MS;
    this.patience = isInVain ? Math.min(2 * this.patience, MAX_PATIENCE) : 1;
    this.triesAgainAt = now + minutes * this.patience * 60_000;
    this.heldUntil.set(left, this.triesAgainAt);
  }
}
