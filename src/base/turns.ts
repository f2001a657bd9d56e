import { nextTurn } from "./queue.ts";

/**
 * Everything else that waits for the event loop waits this long several times, the repair of the kill switch included.
 */
const MS_A_TURN = 5;

type Work = () => Promise<unknown>;

/** Begins work for a few milliseconds in each turn of the event loop. What waits for the next one takes turns by client. */
export class Turns {
  /** Null while nothing was begun in this turn. */
  private endOfTurn: number | null = null;
  /** The client whose turn it is comes first. */
  private readonly waiting = new Map<string, Work[]>();
  private isBeginning = false;

  constructor(private readonly monotonic: () => number) {}

  /** Begins now, if there is time and nobody waits. */
  run<T>(client: string, work: () => Promise<T>): Promise<T> {
    if (this.waiting.size === 0 && this.hasTime()) return work();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const begin = () => Promise.try(work).then(resolve, reject);
    const earlier = this.waiting.get(client);
    if (earlier === undefined) this.waiting.set(client, [begin]);
    else earlier.push(begin);
    void this.beginAll();
    return promise;
  }

  private hasTime(): boolean {
    const now = this.monotonic();
    if (this.endOfTurn === null) {
      this.endOfTurn = now + MS_A_TURN;
      setImmediate(() => {
        this.endOfTurn = null;
      });
    }
    return now < this.endOfTurn;
  }

  private async beginAll(): Promise<void> {
    if (this.isBeginning) return;
    this.isBeginning = true;
    while (this.waiting.size > 0) {
      while (!this.hasTime()) await nextTurn();
      // Work that waits for something else does not hold up what comes after it.
      await Promise.race([this.next()?.(), nextTurn()]);
    }
    this.isBeginning = false;
  }

  private next(): Work | null {
    const [first] = this.waiting;
    if (first === undefined) return null;
    const [client, [work = null, ...rest]] = first;
    this.waiting.delete(client);
    if (rest.length > 0) this.waiting.set(client, rest);
    return work;
  }
}
