import type { Check } from "./schema.ts";

/** The outcome of a check, without the check's name. */
export type Finding = Pick<Check, "result" | "found" | "advice">;

export function ok(found: string): Finding {
  return { result: "ok", found, advice: null };
}

/** It works, but not as well or as safely as it could. */
export function warning(found: string, advice: string): Finding {
  return { result: "warning", found, advice };
}

/** It does not work. */
export function fault(found: string, advice: string): Finding {
  return { result: "fault", found, advice };
}
