import { CommanderError } from "commander";
import { GatewayError, NewerState } from "../base/errors.ts";

/** The exit codes of all commands; docs/command-line.md has the same list. `newerState` is EX_CONFIG of sysexits(3). */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, newer: 4, newerState: 78 } as const;

/** Nothing answers, or not as a gateway does. The message says what to do. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof Unreachable) return EXIT.unreachable;
  if (error instanceof NewerState) return EXIT.newerState;
  return error instanceof GatewayError && error.code === "bad_request" ? EXIT.usage : EXIT.failed;
}
