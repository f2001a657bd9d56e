import { CommandError, type GatewayError } from "../base/errors.ts";

/** What was typed is not what the command takes. */
export function usage(message: string): GatewayError {
  return new CommandError("bad_request", message);
}
