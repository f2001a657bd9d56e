import { redacted } from "./secrets.ts";

/** The reasons for which the gateway refuses; programs branch on these, people read the message. */
export type Code = "bad_request" | "not_found" | "forbidden" | "rate_limited" | "timed_out" | "unable";

/**
 * An error whose message may be shown to a client: it names what is wrong with which field, and never contains
 * key material. `cause` is for the log.
 */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  constructor(
    readonly code: Code,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The message of whatever was thrown. An unexpected error may quote a key, and the message may reach a client. */
export function messageOf(error: unknown): string {
  return redacted(error instanceof Error ? error.message : String(error));
}
