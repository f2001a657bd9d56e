import type { Args } from "./message.ts";
import { redacted } from "./secrets.ts";

export const CODES = [
  "bad_request",
  "not_found",
  "forbidden",
  "rate_limited",
  /** The server did not answer the WireGuard handshake. */
  "no_answer",
  /** Another connect or a disconnect came first, or the service stops. */
  "interrupted",
  /** The kernel refused a change, or one of its tools failed. */
  "kernel_refused",
  /** The disk is full or read-only. */
  "storage_full",
  /** A program did not finish in time. How far it got is not known. */
  "timed_out",
  "unable",
] as const;

/** The reason why the gateway refuses or fails. Programs branch on the code, and people read the message. */
export type Code = (typeof CODES)[number];

/**
 * An error whose message may be shown to a client: it names what is wrong with which field, and never contains
 * key material. `cause` is for the log. Those that a client of the HTTP interface can get are rows of `refusals()`.
 */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  /** To say it in another language: `what` is its row. */
  readonly args?: Args;
  constructor(
    readonly code: Code,
    message: string,
    { args, ...options }: ErrorOptions & { args?: Args | undefined } = {},
  ) {
    super(message, options);
    if (args !== undefined) this.args = args;
  }
}

/**
 * What a command at the terminal, or the start of the service with its flags, has to say. No client of the HTTP interface
 * gets it, so it has no row and is English.
 */
export class CommandError extends GatewayError {}

/** The state on the disk is of a newer version of this program. Trying again does not help. */
export class NewerState extends GatewayError {
  constructor(message: string) {
    super("unable", message);
  }
}

/** The message of whatever was thrown. An unexpected error may quote a key, and the message may reach a client. */
export function messageOf(error: unknown): string {
  return redacted(error instanceof Error ? inWords(error.message) : String(error));
}

/** The runtime's `ENOENT: no such file or directory, open '/x'` is for programmers. */
function inWords(message: string): string {
  const [, what, path] = /^E[A-Z]+: (.+), \w+ '(.+)'$/.exec(message) ?? [];
  return what === undefined ? message : `${what} (${path})`;
}

/** The code of whatever was thrown; `unable` for an unexpected error. */
export function codeOf(error: unknown): Code {
  return error instanceof GatewayError ? error.code : "unable";
}

/** The code of this name; `unable` if another version of the program sent one that this version does not know. */
export function codeNamed(name: string): Code {
  return CODES.find((code) => code === name) ?? "unable";
}
