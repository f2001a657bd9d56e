import type { Clock } from "./beat.ts";
import { messageOf } from "./errors.ts";

/** A part of the gateway, with its life: what it needs of it. A promise that is returned is waited for. */
export interface Part {
  readonly name: string;
  /** Reads again what it keeps, after another writer has changed the database. */
  reload?(): unknown;
  /** Called once all have done so, and none has failed: before that, nothing opens that was closed. */
  reloaded?(): unknown;
  /** Works until `signal` aborts. If it fails, all that it has begun ends by its signal, and it is called again. */
  run?(signal: AbortSignal): unknown;
  /** Ends what must not be cut off: what it has begun, or has not saved. */
  close?(): unknown;
}

/**
 * All begin at once, because a change that a client makes while one still waits would undo what was read. What fails does
 * not keep the others from it; the first failure is thrown.
 */
export async function reloadAll(parts: readonly Part[]): Promise<void> {
  const reloaded = await Promise.allSettled(parts.map(async (part) => part.reload?.()));
  for (const each of reloaded) if (each.status === "rejected") throw each.reason;
  for (const part of parts) await part.reloaded?.();
}

/** A part whose work ends by itself once its signal has aborted, and is waited for. */
export function lasting(name: string, work: (signal: AbortSignal) => Promise<unknown>): Part {
  let done: Promise<unknown> | undefined;
  return {
    name,
    run: (signal) => {
      done = work(signal);
      return done;
    },
    close: () => done,
  };
}

interface Life {
  clock: Clock;
  signal: AbortSignal;
  /** Gets the name of each part that waits to be run again, and why it has failed. */
  failing: Map<string, string>;
  report: (fault: string) => void;
}

const RUN_AGAIN_MS = 1_000;
/** A part that has run for longer than this was sound. */
const MAX_PAUSE_MS = 300_000;

/** In their order. One that fails does not end the others, and is run again, later each time. */
export function runAll(parts: readonly Part[], life: Life): void {
  for (const part of parts) void keepRunning(part, life);
}

/** The same fault is reported once. */
async function keepRunning({ name, run }: Part, { clock, signal, failing, report }: Life): Promise<void> {
  let reported: string | null = null;
  let pauseMs = RUN_AGAIN_MS;
  while (!signal.aborted) {
    const began = clock.monotonic();
    const why = await faultOf(run, signal);
    if (why === null || signal.aborted) return;
    if (clock.monotonic() - began > MAX_PAUSE_MS) [pauseMs, reported] = [RUN_AGAIN_MS, null];
    if (why !== reported) report(`${name}: ${why}`);
    reported = why;
    failing.set(name, why);
    await clock.sleep(pauseMs, signal);
    failing.delete(name);
    pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
  }
}

/** Null if it has ended well. */
async function faultOf(run: Part["run"], signal: AbortSignal): Promise<string | null> {
  const attempt = new AbortController();
  try {
    await run?.(AbortSignal.any([signal, attempt.signal]));
    return null;
  } catch (error) {
    attempt.abort();
    return messageOf(error);
  }
}

/** At once; one that fails does not keep the others from it. */
export async function closeAll(parts: readonly Part[]): Promise<void> {
  await Promise.allSettled(parts.map(async (part) => part.close?.()));
}
