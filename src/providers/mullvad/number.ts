import { GatewayError } from "../../errors.ts";

/** An account number as people write it: 16 digits, with blanks or dashes between. The message does not repeat it. */
export function accountNumberIn(text: string): string {
  const digits = text.replace(/[\s-]/g, "");
  if (/^[0-9]{16}$/.test(digits)) return digits;
  throw new GatewayError("bad_request", "Account number: must be 16 digits");
}
