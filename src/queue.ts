/** Runs what it is given one after the other. A failure is its caller's alone, and the next one runs. */
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
