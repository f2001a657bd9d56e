import type { Exit } from "../killswitch/policy.ts";
import type { Host } from "../system/host.ts";
import { type ExitOrder, exitInForce, formatOrder, isSame, type Ways } from "./exit-order.ts";

interface Deps {
  clock: Pick<Host, "monotonic" | "sleep">;
  /** The exits in force are no longer the same. To be applied at once. */
  onChange: (orders: readonly ExitOrder[]) => void;
  /** Called some time later. */
  onMoved: (moves: readonly Move[]) => void;
}

/** What has become of an order. */
export interface Move {
  order: ExitOrder;
  from: Exit;
  to: Exit;
}

/** What is known of a tunnel. One that was never up is not among them. */
interface Known {
  /** On the monotonic clock; null while it is down. */
  upSince: number | null;
  /** How long it has to be up before devices leave another tunnel for it. */
  holdMs: number;
}

/** An order in use, and what has become of it. */
interface InUse {
  order: ExitOrder;
  present: Exit;
  /** The exit that people were told. */
  told: Exit;
}

/**
 * Each return costs a device its connections. A provider that restarts its server is done within a minute, and whoever
 * looks at the page sees that the device has come back.
 */
const HOLD_MS = 60_000;
/** For a tunnel that fails soon after each return: its devices lose a connection four times an hour at most. */
const MAX_HOLD_MS = 16 * HOLD_MS;
/** A tunnel that was up for longer than this has not flapped. */
const STEADY_MS = 10 * 60_000;
/** Tunnels fail and come back together, and people are told once. */
const TOLD_AFTER_MS = 1_000;
/** While no tunnel holds anything up. */
const IDLE_MS = 3_600_000;

/**
 * Which exit of each order is in force. A device leaves a tunnel that is down at once, and returns to a better one only
 * when that has been up for some time. A tunnel that was not lost since the start is trusted at once: before anything
 * is known of a tunnel, it counts as down.
 */
export class ExitsInForce {
  private readonly tunnels = new Map<string, Known>();
  /** By text. */
  private readonly orders = new Map<string, InUse>();
  private isLooking = false;
  private isTelling = false;
  /** Whether to announce it: what a start finds is not a move. */
  private isWatched = false;
  private waiting = new AbortController();

  constructor(private readonly deps: Deps) {}

  /** The same until `onChange` is called. */
  of(order: ExitOrder): Exit {
    if (order.length === 1) return order[0];
    const text = formatOrder(order);
    const known = this.orders.get(text);
    if (known !== undefined) return known.present;
    const present = exitInForce(order, this.ways, null);
    this.orders.set(text, { order, present, told: present });
    return present;
  }

  /** Forgets all other orders: an order that is given again begins with the first that is up. */
  keep(orders: Iterable<ExitOrder>): void {
    const kept = new Set([...orders].map(formatOrder));
    for (const text of this.orders.keys()) if (!kept.has(text)) this.orders.delete(text);
  }

  /**
   * To be called when a tunnel begins or ceases to carry traffic; the same again changes nothing. Devices move at the
   * end of this turn: an uplink that is lost takes all tunnels down, one after the other, and a move would be useless
   * then.
   */
  tunnelIs(name: string, isUp: boolean): void {
    if (!this.note(name, isUp) || this.isLooking) return;
    this.isLooking = true;
    queueMicrotask(() => {
      this.isLooking = false;
      this.look();
      this.waiting.abort();
    });
  }

  /** To be called with what a start has found, before the kill switch is loaded. */
  tunnelsAre(found: readonly (readonly [name: string, isUp: boolean])[]): void {
    for (const [name, isUp] of found) this.note(name, isUp);
    this.look();
  }

  /** Whether it was not known. */
  private note(name: string, isUp: boolean): boolean {
    const known = this.tunnels.get(name) ?? { upSince: null, holdMs: 0 };
    if (isUp === (known.upSince !== null)) return false;
    const now = this.deps.clock.monotonic();
    const wasUpMs = known.upSince === null ? null : now - known.upSince;
    this.tunnels.set(name, {
      upSince: isUp ? now : null,
      holdMs: wasUpMs === null ? known.holdMs : nextHold(known.holdMs, wasUpMs),
    });
    return true;
  }

  /** To be called when a tunnel has been removed: another one may get its name. */
  forget(name: string): void {
    this.tunnelIs(name, false);
    this.tunnels.delete(name);
  }

  /** Returns to better tunnels in time, and tells of moves, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    for (const inUse of this.orders.values()) inUse.told = inUse.present;
    this.isWatched = true;
    while (!signal.aborted) {
      this.waiting = new AbortController();
      await this.deps.clock.sleep(this.nextMs, AbortSignal.any([signal, this.waiting.signal]));
      this.look();
    }
  }

  private look(): void {
    const changed: ExitOrder[] = [];
    for (const inUse of this.orders.values()) {
      const present = exitInForce(inUse.order, this.ways, inUse.present);
      if (isSame(present, inUse.present)) continue;
      inUse.present = present;
      changed.push(inUse.order);
    }
    if (changed.length === 0) return;
    this.deps.onChange(changed);
    if (this.isWatched) void this.tellLater();
  }

  private async tellLater(): Promise<void> {
    if (this.isTelling) return;
    this.isTelling = true;
    await this.deps.clock.sleep(TOLD_AFTER_MS);
    this.isTelling = false;
    const moves: Move[] = [];
    for (const inUse of this.orders.values()) {
      const { order, told: from, present: to } = inUse;
      inUse.told = to;
      if (!isSame(from, to)) moves.push({ order, from, to });
    }
    this.deps.onMoved(moves);
  }

  private get ways(): Ways {
    return {
      isUp: (tunnel) => this.tunnels.get(tunnel)?.upSince != null,
      isSteady: (tunnel) => this.heldMs(this.tunnels.get(tunnel)) === 0,
    };
  }

  /** How long it is until the next tunnel is steady. */
  private get nextMs(): number {
    const held = [...this.tunnels.values()].map((known) => this.heldMs(known));
    return Math.min(IDLE_MS, ...held.filter((ms) => ms > 0));
  }

  /** How long it is until devices may return to a tunnel. */
  private heldMs(known: Known | undefined): number {
    if (known?.upSince == null) return Number.POSITIVE_INFINITY;
    return Math.max(0, known.upSince + known.holdMs - this.deps.clock.monotonic());
  }
}

/** After a tunnel was lost. */
function nextHold(before: number, wasUpMs: number): number {
  return wasUpMs >= STEADY_MS ? HOLD_MS : Math.min(MAX_HOLD_MS, Math.max(HOLD_MS, 2 * before));
}
