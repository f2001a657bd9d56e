import type { Scheduler } from "fast-check";
import type { RunOptions } from "../../src/system/host.ts";
import type { FakeHost } from "../fake/host.ts";

/** What does not go through the scheduler: the clock has an order of its own. */
const UNPARKED = new Set(["sleep", "pass"]);

/** A machine whose answers come in the order that the scheduler chooses, to a process that can be killed at any of them. */
export interface ParkedHost {
  readonly host: FakeHost;
  /** Nothing that waits now, or is called later, has an effect or an answer. */
  kill(): void;
  /** Whether it answers at once from now on. */
  isCalm: boolean;
}

/**
 * Every asynchronous method of the machine waits for its turn twice: before its effect, and before whoever called it
 * learns of that. `called` comes before both, what it returns between them, and what that returns after the effect.
 */
export function parkedHost(
  machine: FakeHost,
  turns: Scheduler,
  called: (label: string) => () => () => void,
): ParkedHost {
  let isAlive = true;
  const never = new Promise<never>(() => {});
  const turn = async (label: string) => {
    if (!process.isCalm) await turns.schedule(Promise.resolve(), label);
    if (!isAlive) await never;
  };
  const parked = (name: string, method: (...given: unknown[]) => unknown) =>
    async function call(...given: unknown[]): Promise<unknown> {
      if (!isAlive) return never;
      const label = name === "run" ? (given[0] as string[]).slice(0, 3).join(" ") : name;
      // A real program looks at its input at once, and this one when its turn comes.
      const { stdin } = (given[1] ?? {}) as RunOptions;
      if (stdin instanceof Promise) stdin.catch(() => {});
      const beforeEffect = called(label);
      await turn(label);
      const afterEffect = beforeEffect();
      try {
        return await method.apply(machine, given);
      } finally {
        afterEffect();
        await turn(`${label}: done`);
      }
    };
  const methods = new Map<PropertyKey, unknown>();
  const host = new Proxy(machine, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (!methods.has(name)) methods.set(name, wrapped(name, value as () => unknown));
      return methods.get(name);
    },
  });
  const wrapped = (name: PropertyKey, method: (...given: unknown[]) => unknown): unknown => {
    if (name === "sleep")
      return async (...given: Parameters<FakeHost["sleep"]>) => {
        await machine.sleep(...given);
        if (!isAlive) await never;
      };
    const isAsync = method.constructor.name === "AsyncFunction" && !UNPARKED.has(String(name));
    return isAsync ? parked(String(name), method) : method.bind(machine);
  };
  const kill = () => {
    isAlive = false;
  };
  const process: ParkedHost = { host, isCalm: false, kill };
  return process;
}
