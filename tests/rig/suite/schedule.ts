import { cpus, getPriority } from "node:os";
import { hasten, type Job, type Result, run } from "./job.ts";

/** At least so many run at once, because labs and browsers mostly wait; more take more work in all on busy processors. */
const MIN_RUNNING = 3;
/** More share too little memory, and wait for each other's mounts. */
const MAX_RUNNING = 6;
/** More than the minimum start only while this part of the processors has nothing to do. */
const IDLE_ENOUGH = 0.3;
/** Of those in the background so many run at once, so that the processors are never without work. */
const IN_BACKGROUND = 2;
/** A lab takes three times as much; with less, tests in the background are late. Only root takes it back, and has labs. */
const NICENESS = process.getuid?.() === 0 ? 5 : 0;
/** How often that is measured. It is also the least time between two starts, because a new job is not yet busy. */
const LOOK_MS = 1_000;

/**
 * Runs the jobs in their order, as many at once as the processors have time for, and tells each result; those in the
 * background beside them. Tests of a busy machine are slow, so more jobs at once would not end sooner. Of the heavy ones
 * only one runs at a time: two lose packets because nobody has time for them.
 */
export async function runAll(jobs: readonly Job[], tell: (result: Result) => void): Promise<Result[]> {
  const results: Result[] = [];
  const play = async (job: Job, niceness?: number) => {
    const result = await run(job, niceness);
    results.push(result);
    tell(result);
  };
  let niceness = NICENESS;
  const behind = jobs.filter(({ isBackground }) => isBackground);
  const worker = async () => {
    for (let job = behind.shift(); job !== undefined; job = behind.shift()) await play(job, niceness);
  };
  const background = Promise.all(Array.from({ length: IN_BACKGROUND }, worker));
  await inTurns(
    jobs.filter(({ isBackground }) => !isBackground),
    play,
  );
  niceness = 0;
  hasten();
  await background;
  return results;
}

async function inTurns(jobs: readonly Job[], play: (job: Job) => Promise<void>): Promise<void> {
  const waiting = [...jobs];
  const running = new Map<Promise<void>, Job>();
  const start = (job: Job) => {
    const ended: Promise<void> = play(job).then(() => void running.delete(ended));
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
}

/**
 * What the processors have done since the machine started, in milliseconds. What is nice gives way, so it counts as idle,
 * unless the suite is nice itself.
 */
function processors(): { at: number; idle: number; all: number } {
  const isNice = getPriority() > 0;
  let [idle, all] = [0, 0];
  for (const { times } of cpus()) {
    idle += times.idle + (isNice ? 0 : times.nice);
    all += times.user + times.nice + times.sys + times.idle + times.irq;
  }
  return { at: performance.now(), idle, all };
}
