import { GatewayError } from "../../base/errors.ts";

/** A user name such as `p1234567`. The error does not repeat it. */
export function userNameIn(text: string): string {
  const name = text.trim();
  if (/^[\x21-\x7e]{1,64}$/.test(name)) return name;
  throw new GatewayError("bad_request", "User name: must look like p1234567");
}

/** Spaces belong to a password. The error does not repeat it. */
export function passwordIn(text: string): string {
  if (/^[^\p{Cc}]{1,256}$/u.test(text)) return text;
  throw new GatewayError("bad_request", "Password: must be 1 to 256 characters without control characters");
}
