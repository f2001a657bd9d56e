import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Host } from "../system/host.ts";
import type { Controller } from "./controller.ts";
import type { Sample } from "./health.ts";
import type { OrderTarget } from "./order.ts";
import type { Session } from "./session.ts";
import { candidatesOf, exitOf, placesIn, type Target } from "./target.ts";

/** A time is quiet in which a tunnel has carried no more than this, both ways: less than any call, film or download. */
const QUIET = { bytes: 250_000, ms: 60_000 };

interface Deps {
  host: Pick<Host, "monotonic">;
  controller: Pick<Controller, "asked" | "goBack">;
  found: (wanted: OrderTarget, tunnel: string) => Target | null;
  /** The tunnel's name. */
  name: string;
  log: Pick<Log, "info">;
}

/**
 * Leads a live tunnel back to a better target of its order once that answers again. It has no timer: who looks at the
 * tunnel lets it look, too.
 */
export class WayBack {
  private session: Session | null = null;
  /** When a better target was tried last, or the tunnel came to this one. */
  private triedAt = 0;
  /** Since when the tunnel has carried little, and what it had carried by then. */
  private quiet = { since: 0, bytes: 0 };
  private attempt: AbortController | null = null;

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
    if (bytes - this.quiet.bytes > QUIET.bytes) this.quiet = { since: now, bytes };
    const { order } = this.deps.controller.asked;
    const minutes = order?.back_after_minutes;
    if (this.attempt !== null || minutes === undefined || now - this.triedAt < minutes * 60_000) return;
    if (order?.back_when_quiet && now - this.quiet.since < QUIET.ms) return;
    void this.tryBetter(session);
  }

  /** Ends an attempt: the tunnel has lost its server, and the next dial must not wait. */
  stop(): void {
    this.attempt?.abort();
  }

  private async tryBetter(session: Session): Promise<void> {
    const { controller, host, log } = this.deps;
    const attempt = new AbortController();
    this.attempt = attempt;
    try {
      await controller.goBack(this.betterThan(session), attempt.signal);
    } catch (error) {
      log.info(messageOf(error));
    }
    this.attempt = null;
    this.triedAt = host.monotonic();
  }

  /**
   * Without other ways to the present server: it would take both for one tunnel, and a handshake by the one would end the
   * other.
   */
  private betterThan({ server }: Session): { target: Target; asked: Controller["asked"] }[] {
    const { controller, found, name } = this.deps;
    const { order } = controller.asked;
    if (order === undefined) return [];
    const isPresent = (other: { provider: string; name: string }) =>
      other.provider === server.provider && other.name === server.name;
    return order.targets.slice(0, order.at).flatMap((wanted, at) => {
      const target = found(wanted, name);
      if (target === null || candidatesOf(exitOf(target)).some(isPresent)) return [];
      return { target, asked: { ...placesIn(target), order: { ...order, at } } };
    });
  }
}
