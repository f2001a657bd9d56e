import { messageOf } from "./errors.ts";

/** A part of the gateway, with its life: what it needs of it. A promise that is returned is waited for. */
export interface Part {
  readonly name: string;
  /** Reads again what it keeps, after another writer has changed the database. */
  reload?(): unknown;
  /** Called once all have done so, and none has failed: before that, nothing opens that was closed. */
  reloaded?(): unknown;
  /** Works until `signal` aborts. */
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

/** In their order. One that fails does not end the others. */
export function runAll(parts: readonly Part[], signal: AbortSignal, report: (fault: string) => void): void {
  for (const { name, run } of parts)
    Promise.try(() => run?.(signal)).catch((error: unknown) => report(`${name}: ${messageOf(error)}`));
}

/** At once; one that fails does not keep the others from it. */
export async function closeAll(parts: readonly Part[]): Promise<void> {
  await Promise.allSettled(parts.map(async (part) => part.close?.()));
}
