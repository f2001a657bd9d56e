/** Runs work one after the other. A failure is passed to its caller only and does not stop the next work. */
export class Queue {
  private last: Promise<unknown> = Promise.resolve();
  /** The work that readings at the end of the queue wait for; null if no reading is at the end. */
  private beforeReadings: Promise<unknown> | null = null;

  add<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.last.then(work);
    this.beforeReadings = null;
    this.last = done.catch(() => {});
    return done;
  }

  /** The same for work that changes nothing. Consecutive readings run at the same time. */
  addReading<T>(work: () => Promise<T>): Promise<T> {
    this.beforeReadings ??= this.last;
    const done = this.beforeReadings.then(work);
    this.last = Promise.all([this.last, done.catch(() => {})]).then(() => {});
    return done;
  }

  /** Settles once everything that was added so far has run. */
  drained(): Promise<void> {
    return this.last.then(() => {});
  }
}

/** Calls that come while the work runs, however many, make it run once more afterwards. The work must not fail. */
export function coalesced(work: () => Promise<unknown>): () => void {
  const runs = new Queue();
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    void runs.add(() => {
      isWaiting = false;
      return work();
    });
  };
}

/** Lets the event loop go round once, so that long work does not delay everything else. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
