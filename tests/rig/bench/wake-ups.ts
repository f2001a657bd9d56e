import { readdirSync, readFileSync } from "node:fs";

/** How often each thread of a program, by its number, has waited and gone on afterwards. */
export type WakeUps = ReadonlyMap<string, number>;

export function wakeUpsOf(pid: number): WakeUps {
  const threads = `/proc/${pid}/task`;
  return new Map(readdirSync(threads).map((thread) => [thread, wakeUpsIn(`${threads}/${thread}/status`)]));
}

/** A thread that has ended meanwhile has taken its count along, and is left out. */
export function wakeUpsBetween(before: WakeUps, after: WakeUps): number {
  return [...after].reduce((sum, [thread, count]) => sum + count - (before.get(thread) ?? 0), 0);
}

/** 0 if the thread ends meanwhile. */
function wakeUpsIn(file: string): number {
  try {
    return Number(/^voluntary_ctxt_switches:\s*(\d+)$/m.exec(readFileSync(file, "utf8"))?.[1]);
  } catch {
    return 0;
  }
}
