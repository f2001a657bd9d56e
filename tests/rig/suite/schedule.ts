import { cpus } from "node:os";
import { type Job, type Result, run } from "./job.ts";

/** At least so many run at once, because labs and browsers mostly wait; more take more work in all on busy processors. */
const MIN_RUNNING = 3;
/** More share too little memory, and wait for each other's mounts. */
const MAX_RUNNING = 6;
/** More than the minimum start only while this part of the processors has nothing to do. */
const IDLE_ENOUGH = 0.3;
/** How often that is measured. It is also the least time between two starts, because a new job is not yet busy. */
const LOOK_MS = 1_000;

/**
 * Runs the jobs in their order, as many at once as the processors have time for, and tells each result. Tests of a busy
 * machine are slow, so more jobs at once would not end sooner. Of the heavy ones only one runs at a time: two lose packets
 * because nobody has time for them.
 */
export async function runAll(jobs: readonly Job[], tell: (result: Result) => void): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = [...jobs];
  const running = new Map<Promise<void>, Job>();
  const start = (job: Job) => {
    const ended: Promise<void> = run(job).then((result) => {
      running.delete(ended);
      results.push(result);
      tell(result);
    });
    running.set(ended, job);
  };
  let before = processors();
  while (waiting.length > 0) {
    while (running.size >= MIN_RUNNING) {
      await Promise.race([...running.keys(), Bun.sleep(LOOK_MS)]);
      const now = processors();
      const isIdle =
        now.all - before.all > 0 && (now.idle - before.idle) / (now.all - before.all) > IDLE_ENOUGH;
      if (now.at - before.at >= LOOK_MS * 0.9) before = now;
      else continue;
      if (isIdle && running.size < MAX_RUNNING) break;
    }
    const mayBeHeavy = ![...running.values()].some(({ isHeavy }) => isHeavy);
    const at = waiting.findIndex(({ isHeavy }) => mayBeHeavy || !isHeavy);
    const [job] = at < 0 ? [] : waiting.splice(at, 1);
    if (job === undefined) await Promise.race(running.keys());
    else start(job);
  }
  await Promise.all(running.keys());
  return results;
}

/** What the processors have done since the machine started, in milliseconds. */
function processors(): { at: number; idle: number; all: number } {
  let [idle, all] = [0, 0];
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.user + times.nice + times.sys + times.idle + times.irq;
  }
  return { at: performance.now(), idle, all };
}
