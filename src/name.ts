import { GatewayError } from "./errors.ts";

/**
 * A server's name as the key that it is: 1 to 64 characters in NFC, so that two names that look alike are one.
 * `field` is what the client calls it.
 */
export function nameIn(field: string, text: string): string {
  const fault = faultOf(text);
  if (fault !== null) throw new GatewayError("bad_request", `${field}: ${fault}`);
  return text;
}

/** Whether `nameIn` would take it. */
export function isName(text: string): boolean {
  return faultOf(text) === null;
}

function faultOf(name: string): string | null {
  const length = [...name].length;
  if (length < 1 || length > 64) return "must have 1 to 64 characters";
  if (!name.isWellFormed()) return "holds half a character";
  if (/\p{Cc}/u.test(name)) return "holds a control character";
  if (name.includes("/")) return "holds a slash";
  if (name.trim() !== name) return "begins or ends with white space";
  if (name.normalize("NFC") !== name) return "is not in Unicode's normal form C";
  return null;
}
