import { messageOf } from "./errors.ts";

/** The events of a map from their types to their payloads. */
export type EventOf<Events> = {
  [Type in keyof Events]: { readonly type: Type; readonly payload: Events[Type] };
}[keyof Events];

/** Of one type. More means that something subscribes again and again. */
export const MAX_LISTENERS = 100;
/** A listener may publish, and so may those of what it publishes. More means that events cause each other in a circle. */
export const MAX_DEPTH = 8;
/** Different faults that are reported; each names a listener's error, and listeners are few. */
const MAX_FAULTS = 100;

interface Listener<Event> {
  hear: (event: Event) => unknown;
}

interface Pending<Event> {
  event: Event;
  depth: number;
  /** Gets the work that the listeners have begun. */
  begun: (work: readonly Promise<unknown>[]) => void;
}

/**
 * Events between rooms. Delivery is synchronous, and all listeners get events in the same order: one that a listener
 * publishes is delivered after the event that it has heard.
 */
export class Bus<Events extends object> {
  private readonly listeners = new Map<keyof Events, Set<Listener<EventOf<Events>>>>();
  private readonly pending: Pending<EventOf<Events>>[] = [];
  private readonly faults = new Set<string>();
  /** How many events have caused the one that is being delivered; null while there is none. */
  private depth: number | null = null;

  /** `report` gets each different fault of a listener once. */
  constructor(private readonly report: (fault: string) => void) {}

  /**
   * Calls the listener with each event of these types until `signal` aborts. Its errors do not stop other listeners.
   */
  subscribe<Type extends keyof Events>(
    types: Type | readonly Type[],
    listener: (event: EventOf<Pick<Events, Type>>) => unknown,
    signal?: AbortSignal,
  ): void {
    if (signal?.aborted) return;
    const entry = { hear: listener } as unknown as Listener<EventOf<Events>>;
    const sets = [types].flat().map((type) => this.listenersOf(type as Type));
    for (const set of sets) set.add(entry);
    signal?.addEventListener("abort", () => sets.forEach((set) => void set.delete(entry)), { once: true });
  }

  /** Whether anyone listens, for events that cost something to make. */
  hasListeners(type: keyof Events): boolean {
    return (this.listeners.get(type)?.size ?? 0) > 0;
  }

  /** Returns once all listeners were called, except within a listener: then the event waits for its turn. */
  publish(event: EventOf<Events>): void {
    this.add(event, () => {});
  }

  /** The same; resolves once the work is done that the listeners have begun, even if some of it failed. */
  published(event: EventOf<Events>): Promise<void> {
    return new Promise((resolve) => this.add(event, (work) => void Promise.all(work).then(() => resolve())));
  }

  private add(event: EventOf<Events>, begun: Pending<EventOf<Events>>["begun"]): void {
    const depth = this.depth === null ? 0 : this.depth + 1;
    if (depth <= MAX_DEPTH) this.pending.push({ event, depth, begun });
    else {
      this.fault(event, `is published by its own listeners, ${MAX_DEPTH} times over`);
      begun([]);
    }
    if (this.depth === null) this.deliverAll();
  }

  private deliverAll(): void {
    for (let next = this.pending.shift(); next !== undefined; next = this.pending.shift()) {
      this.depth = next.depth;
      next.begun(this.deliver(next.event));
    }
    this.depth = null;
  }

  private deliver(event: EventOf<Events>): Promise<unknown>[] {
    const listeners = this.listeners.get(event.type) ?? new Set();
    // Those of now: one that subscribes meanwhile hears the next event.
    return [...listeners].flatMap((each) => (listeners.has(each) ? this.call(each, event) : []));
  }

  private call(listener: Listener<EventOf<Events>>, event: EventOf<Events>): Promise<unknown>[] {
    const failed = (error: unknown) => this.fault(event, error);
    try {
      const done = listener.hear(event);
      return done instanceof Promise ? [done.catch(failed)] : [];
    } catch (error) {
      failed(error);
      return [];
    }
  }

  /** A failing report does not hold up events. */
  private fault({ type }: EventOf<Events>, why: unknown): void {
    try {
      const fault = `the event ${String(type)}: ${messageOf(why)}`;
      if (this.faults.has(fault) || this.faults.size >= MAX_FAULTS) return;
      this.faults.add(fault);
      this.report(fault);
    } catch {}
  }

  private listenersOf(type: keyof Events): Set<Listener<EventOf<Events>>> {
    const known = this.listeners.get(type) ?? new Set();
    if (known.size >= MAX_LISTENERS)
      throw new Error(`the event ${String(type)} has ${MAX_LISTENERS} listeners, the maximum`);
    this.listeners.set(type, known);
    return known;
  }
}
