import { type AdvisedCode, type FindingArgs, type FindingCode, findingText } from "./finding-rows.ts";
import type { Check } from "./schema.ts";

/** The outcome of a check, without the check's name. */
export type Finding = Pick<Check, "result" | "code" | "args" | "found" | "advice">;

export function ok<Code extends FindingCode>(code: Code, args: FindingArgs<Code>): Finding {
  return { result: "ok", code, args, found: findingText(code, args).found, advice: null };
}

/** It works, but not as well or as safely as it could. */
export function warning<Code extends AdvisedCode>(code: Code, args: FindingArgs<Code>): Finding {
  return { result: "warning", code, args, ...findingText(code, args) };
}

/** It does not work. */
export function fault<Code extends AdvisedCode>(code: Code, args: FindingArgs<Code>): Finding {
  return { result: "fault", code, args, ...findingText(code, args) };
}
