import { type TSchema, Type } from "typebox";
import { argumentsOf } from "./arguments.ts";
import { GatewayError, messageOf } from "./errors.ts";
import type { Args } from "./message.ts";

/** Why something in a row is not as it should be: in English, and as what says it in another language. */
export interface Reason {
  error: string;
  error_args?: Args;
}

/** Without the field of the request that would be wrong: a row has none. */
export function reasonOf(error: unknown): Reason {
  const message = messageOf(error);
  if (!(error instanceof GatewayError) || error.args === undefined) return { error: message };
  const { field, ...args } = error.args;
  const isAhead = field !== undefined && message.startsWith(`${field}: `);
  return isAhead
    ? { error: message.slice(`${field}: `.length), error_args: args }
    : { error: message, error_args: error.args };
}

/** Its fields in a row; `error` is null if nothing is wrong. */
export function reasonFields(description: string) {
  return {
    error: Type.Union([Type.String(), Type.Null()], { description }),
    error_args: argumentsOf("missing if it has no other words, such as what a program has printed"),
  } satisfies Record<keyof Reason, TSchema>;
}
