import { Type } from "typebox";
import { checkerOf } from "../../base/checker.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { HttpsAnswer } from "../../system/host.ts";
import { answerIn, commonRefusalIn, Refusal, unable } from "../answers.ts";

/** Lists the sessions of an account. */
export const ACCOUNT_PAGE = "https://www.ivpn.net/account/";

export const GONE = "the registration was removed from the account; log out, then log in again";

/** IVPN's code for a session that does not exist. */
export const SESSION_NOT_FOUND = "601";

const CAPTCHA =
  "after failed logins IVPN asks for a captcha, which cannot be shown here; wait an hour, or log in once with IVPN's app from this network, then try again";

/** The codes of daemon/api/types/errors.go and ui/src/api/statuscode.js in IVPN's desktop app. */
const SENTENCES: Readonly<Record<string, string>> = {
  401: "IVPN does not know this account ID; check it for typing errors",
  [SESSION_NOT_FOUND]: GONE,
  602: `the account is logged in on the maximum number of devices; log out one of them in its app or at ${ACCOUNT_PAGE}, then try again`,
  702: `the account is not active; pay for it at ${ACCOUNT_PAGE}, then try again`,
  70001: CAPTCHA,
  70002: CAPTCHA,
  70011: "the account has two-factor authentication; log in again, and enter the code after the account ID",
  70012: "the two-factor code is wrong or too old; log in again with a new one",
};

const coded = checkerOf(Type.Object({ status: Type.Integer({ minimum: 1, maximum: 999_999 }) }));

/** The answer if it says success. IVPN's code is in the body, whatever the HTTP status. */
export function succeeded(answer: HttpsAnswer): HttpsAnswer {
  const value = answerIn(answer);
  const code = coded.Check(value) ? value.status : null;
  if (code === 200 && answer.status < 300) return answer;
  throw refusalOf(answer, code);
}

function refusalOf(answer: HttpsAnswer, code: number | null): GatewayError {
  const common = commonRefusalIn(answer);
  if (common !== null) return common;
  if (code === null || code === 200)
    return unable(`the provider's answer is not understood (HTTP ${answer.status}); try again later`);
  return new Refusal(String(code), SENTENCES[code] ?? `the provider refused with code ${code}`);
}
