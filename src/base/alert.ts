import { type Static, Type } from "typebox";
import { ALERTS, type AlertArgs, alertKey, type AlertCode as Code } from "./alert-rows.ts";
import { argumentsOf } from "./arguments.ts";
import type { Translate } from "./language.ts";
import { objectOf } from "./object.ts";

/** The events that concern the protection and stored data: it was altered, failed or was restored. */
export const AlertCode = Type.Unsafe<Code>(Type.Union(Object.keys(ALERTS).map((code) => Type.Literal(code))));
export type AlertCode = Code;

/** Raises an alert. */
export type Alarm = <Code extends AlertCode>(code: Code, args: AlertArgs<Code>) => void;

/** What an alert is about, to say it in another language. */
export const AlertArguments = argumentsOf(
  "`what` is which of the code's sentences it is, and a `reason` is in English; missing in what an older version has kept",
);

/** Payload of a `security_alert`. */
export const SecurityAlert = objectOf({
  code: AlertCode,
  args: AlertArguments,
  message: Type.String({ description: "one sentence for people" }),
  at: Type.String({ description: "ISO 8601" }),
});
export type SecurityAlert = Static<typeof SecurityAlert>;

/** What an alert says in a language; what an older version has kept is English. */
export function alertIn(
  { code, args, message }: Pick<SecurityAlert, "code" | "args" | "message">,
  translate: Translate,
): string {
  return (args && translate(alertKey(code, args), args)) ?? message;
}
