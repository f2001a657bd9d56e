import { Type } from "typebox";
import { checkerOf } from "../../base/checker.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { HttpsAnswer } from "../../system/host.ts";
import { answerIn, commonRefusalIn, Refusal } from "../answers.ts";
import { refused } from "../refusals.ts";

/** Lists the sessions of an account. */
export const ACCOUNT_PAGE = "https://www.ivpn.net/account/";

export const GONE = refused("registration_gone").message;

/** IVPN's code for a session that does not exist. */
export const SESSION_NOT_FOUND = "601";

/** The codes of daemon/api/types/errors.go and ui/src/api/statuscode.js in IVPN's desktop app. */
const MEANINGS: Readonly<Record<string, GatewayError>> = {
  401: refused("account_id_unknown"),
  [SESSION_NOT_FOUND]: refused("registration_gone"),
  602: refused("sessions_full", { page: ACCOUNT_PAGE }),
  702: refused("account_inactive", { page: ACCOUNT_PAGE }),
  70001: refused("captcha_asked"),
  70002: refused("captcha_asked"),
  70011: refused("two_factor_asked"),
  70012: refused("two_factor_wrong"),
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
    return refused("provider_answer_unclear", { status: answer.status, advice: "later" });
  return new Refusal(String(code), MEANINGS[code] ?? refused("provider_refused", { reason: `code ${code}` }));
}
