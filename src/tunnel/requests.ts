import type { GatewayError } from "../base/errors.ts";
import { Queue } from "../base/queue.ts";
import { refused } from "./refusals.ts";
import { sameTargets, type Target } from "./target.ts";

/**
 * Moves a tunnel to its target, in turns that it adds itself; calls `answer` once traffic can flow, and may have work left
 * to do then.
 */
export type Move = (signal: AbortSignal, answer: () => void) => Promise<void>;

/**
 * Requests of clients and of the gateway itself for one tunnel, carried out one after the other. A new connect or
 * disconnect interrupts the present work, so that disconnect always wins.
 */
export class Requests {
  private readonly queue = new Queue();
  private current = new AbortController();
  private pending: { wanted: readonly Target[]; how: object; outcome: Promise<void> } | null = null;

  /** The targets of the connect that is in progress or waits for its turn, the best first; null without one. */
  get wanted(): readonly Target[] | null {
    return this.pending?.wanted ?? null;
  }

  /** Aborts when the next connect or disconnect comes. */
  get signal(): AbortSignal {
    return this.current.signal;
  }

  /** A second request for the same, and the same `how`, shares the outcome of the first. */
  connect(wanted: readonly Target[], move: Move, how: object = {}): Promise<void> {
    const isSame = this.pending !== null && sameTargets(this.pending.wanted, wanted);
    if (isSame && Bun.deepEquals(this.pending?.how, how)) return this.pending?.outcome as Promise<void>;
    const signal = this.interrupt(refused("interrupted_by_connect", { server: wanted[0]?.name ?? "" }));
    const answer = Promise.withResolvers<void>();
    const pending = { wanted, how, outcome: answer.promise };
    this.pending = pending;
    move(signal, answer.resolve)
      .finally(() => {
        if (this.pending === pending) this.pending = null;
      })
      .catch(answer.reject);
    return answer.promise;
  }

  disconnect(end: () => Promise<void>): Promise<void> {
    this.interrupt(refused("interrupted_by_disconnect"));
    this.pending = null;
    return this.queue.add(end);
  }

  /** Ends the present work. */
  stop(): Promise<void> {
    this.interrupt(refused("interrupted_by_stop"));
    return this.queue.drained();
  }

  /** Work that must not coincide with another request, and that no request interrupts. */
  add<T>(work: () => Promise<T>): Promise<T> {
    return this.queue.add(work);
  }

  /** The same for work that the next connect or disconnect interrupts, even before its turn. */
  beside<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = this;
    return this.queue.add(async () => {
      signal.throwIfAborted();
      return work(signal);
    });
  }

  private interrupt(reason: GatewayError): AbortSignal {
    this.current.abort(reason);
    this.current = new AbortController();
    return this.current.signal;
  }
}
