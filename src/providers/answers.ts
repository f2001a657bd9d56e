import type { Static, TSchema } from "typebox";
import { type Checker, jsonIn } from "../base/checker.ts";
import { GatewayError, messageOf } from "../base/errors.ts";
import type { HttpsAnswer } from "../system/host.ts";
import { refused } from "./refusals.ts";

/** The provider refused, and so changed nothing; `reason` is its own code. */
export class Refusal extends GatewayError {
  constructor(
    readonly reason: string,
    { message, args }: GatewayError,
  ) {
    super("unable", message, { args });
  }
}

/** An answer of the provider, or the reason why there is none. */
export type Outcome<T> = T | Error;

export function outcome<T>(work: Promise<T>): Promise<Outcome<T>> {
  return work.catch((error: unknown) => (error instanceof Error ? error : new Error(messageOf(error))));
}

/** Hundreds of times the size of any real answer. */
const MAX_CHARACTERS = 262_144;

/** The parsed JSON, or null. */
export function answerIn({ body }: HttpsAnswer): unknown {
  return body.length > MAX_CHARACTERS ? null : jsonIn(body);
}

export function checkedJson<T extends TSchema>(
  answer: HttpsAnswer,
  schema: Checker<T>,
  what: string,
): Static<T> {
  const value = answerIn(answer);
  return schema.Check(value) ? value : malformed(what);
}

export function malformed(what: string): never {
  throw refused("provider_answer_unusable", { what_for: what });
}

/** The error for a status that means the same at every provider, or null. */
export function commonRefusalIn(answer: HttpsAnswer): GatewayError | null {
  const { status } = answer;
  if (status === 429)
    return new Refusal("TOO_MANY_REQUESTS", refused("provider_limits", { seconds: waitIn(answer) }));
  if (status >= 500) return refused("provider_down", { status });
  return null;
}

/** All but the last four characters are masked: enough to tell two accounts apart, and useless to anyone else. */
export function masked(account: string): string {
  return `${"*".repeat(Math.max(0, account.length - SHOWN_CHARACTERS))}${account.slice(-SHOWN_CHARACTERS)}`;
}

const SHOWN_CHARACTERS = 4;

function waitIn({ headers }: HttpsAnswer): string {
  const seconds = headers["retry-after"] ?? "";
  return /^[1-9][0-9]{0,4}$/.test(seconds) ? seconds : "unknown";
}
