/**
 * Calls during a reading share the next one, so that no answer is older than its request. With `restMs`, a reading begins at
 * the earliest that many milliseconds after the end of the one before it.
 */
export function shared<T>(read: () => Promise<T>, restMs = 0): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | null = null;
  const begin = () => {
    next = null;
    const result = read();
    last = restMs === 0 ? result : Promise.allSettled([result]).then(() => Bun.sleep(restMs));
    return result;
  };
  return () => {
    next ??= last.then(begin, begin);
    return next;
  };
}

/** A long read of the database blocks the whole process: after each one there is as long a time for other work. */
export function paced<Query, T>(read: (query: Query) => T | Promise<T>): (query: Query) => Promise<T> {
  let rested: Promise<unknown> = Promise.resolve();
  return (query) => {
    let took = 0;
    const answered = rested.then(async () => {
      const start = performance.now();
      const answer = await read(query);
      took = performance.now() - start;
      return answer;
    });
    rested = answered.catch(() => {}).then(() => Bun.sleep(took));
    return answered;
  };
}
