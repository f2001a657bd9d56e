import { Type } from "typebox";
import { checkerOf } from "../../base/checker.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { HttpsAnswer } from "../../system/host.ts";
import { answerIn, commonRefusalIn, Refusal, unable } from "../answers.ts";

/** Whether the provider refused and so changed nothing. A key "in use" may be this one, sent twice. */
export function isFinal(error: unknown): boolean {
  return error instanceof Refusal && error.reason !== "PUBKEY_IN_USE";
}

/** Lists and removes the registrations of an account. */
export const DEVICES_PAGE = "https://mullvad.net/account/devices";

/** The meaning of each of the provider's codes, and what to do about it. */
const SENTENCES: Readonly<Record<string, string>> = {
  INVALID_ACCOUNT: "the provider does not know this account number; check it for typing errors",
  MAX_DEVICES_REACHED: `the account has the maximum number of registrations; remove one at ${DEVICES_PAGE}, then try again`,
  PUBKEY_IN_USE: "the provider already knows the new key; try again, which makes another one",
  DEVICE_NOT_FOUND: "the registration was removed from the account; log out, then log in again",
  INVALID_ACCESS_TOKEN: "the provider does not accept the access token that it just issued; try again later",
};

/** The error for an unsuccessful answer. */
export function refusalIn(answer: HttpsAnswer): GatewayError {
  const common = commonRefusalIn(answer);
  if (common !== null) return common;
  const { status } = answer;
  const reason = reasonIn(answer);
  if (status < 400 || reason === null)
    return unable(`the provider's answer is not understood (HTTP ${status}); check --managed-api`);
  const sentence = Object.hasOwn(SENTENCES, reason) ? SENTENCES[reason] : undefined;
  return new Refusal(reason, sentence ?? `the provider refused: ${reason} (HTTP ${status})`);
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
