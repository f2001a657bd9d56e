import { GatewayError } from "../../base/errors.ts";

/** An account number as people write it: 16 digits with spaces or dashes. The error does not repeat it. */
export function accountNumberIn(text: string): string {
  const digits = text.replace(/[\s-]/g, "");
  if (/^[0-9]{16}$/.test(digits)) return digits;
  throw new GatewayError("bad_request", "Account number: must be 16 digits");
}
