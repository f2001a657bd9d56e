/** Runs work one after the other. A failure is passed to its caller only and does not stop the next work. */
export class Queue {
  private last: Promise<unknown> = Promise.resolve();

  add<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.last.then(work);
    this.last = done.catch(() => {});
    return done;
  }

  /** Settles once everything that was added so far has run. */
  drained(): Promise<void> {
    return this.last.then(() => {});
  }
}

/** Lets the event loop go round once, so that a long work does not hold everything else up. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
