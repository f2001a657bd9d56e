import { Type } from "typebox";
import { checkerOf } from "../../base/checker.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { HttpsAnswer } from "../../system/host.ts";
import { answerIn, commonRefusalIn, Refusal } from "../answers.ts";
import { refused } from "../refusals.ts";

/** Whether the provider refused and so changed nothing. A key "in use" may be this one, sent twice. */
export function isFinal(error: unknown): boolean {
  return error instanceof Refusal && error.reason !== "PUBKEY_IN_USE";
}

/** Lists and removes the registrations of an account. */
export const DEVICES_PAGE = "https://mullvad.net/account/devices";

/** The meaning of each of the provider's codes, and what to do about it. */
const MEANINGS: Readonly<Record<string, GatewayError>> = {
  INVALID_ACCOUNT: refused("account_number_unknown"),
  MAX_DEVICES_REACHED: refused("registrations_full", { page: DEVICES_PAGE }),
  PUBKEY_IN_USE: refused("key_known"),
  DEVICE_NOT_FOUND: refused("registration_gone"),
  INVALID_ACCESS_TOKEN: refused("token_refused"),
};

/** The error for an unsuccessful answer. */
export function refusalIn(answer: HttpsAnswer): GatewayError {
  const common = commonRefusalIn(answer);
  if (common !== null) return common;
  const { status } = answer;
  const reason = reasonIn(answer);
  if (status < 400 || reason === null) return refused("provider_answer_unclear", { status, advice: "api" });
  const meaning = Object.hasOwn(MEANINGS, reason) ? MEANINGS[reason] : undefined;
  return new Refusal(
    reason,
    meaning ?? refused("provider_refused", { reason: `${reason} (HTTP ${status})` }),
  );
}

/** `code` is used today; `type` is its successor in `application/problem+json` (RFC 9457). Neither is free text. */
const Word = Type.String({ pattern: "^[A-Za-z0-9_:./-]{1,64}$" });
const coded = checkerOf(Type.Object({ code: Word }));
const typed = checkerOf(Type.Object({ type: Word }));

function reasonIn(answer: HttpsAnswer): string | null {
  const value = answerIn(answer);
  if (coded.Check(value)) return value.code;
  return typed.Check(value) ? value.type : null;
}
