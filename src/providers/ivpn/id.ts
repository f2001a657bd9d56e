import { GatewayError } from "../../base/errors.ts";

/** An account ID as IVPN's apps accept it: `i-ABCD-EFGH-IJKL`, or the older `ivpnABCDEFGH`. The error does not repeat it. */
export function accountIdIn(text: string): string {
  const id = text.trim();
  if (/^i(-[A-Z0-9]{4}){3}$/i.test(id)) return `i${id.slice(1).toUpperCase()}`;
  if (/^ivpn[A-Za-z0-9]{7,8}$/.test(id)) return id;
  throw new GatewayError("bad_request", "Account ID: must look like i-ABCD-EFGH-IJKL");
}

/** The code of an authenticator app (RFC 6238), or nothing. The error does not repeat it. */
export function codeIn(text: string): string {
  const code = text.replace(/\s/g, "");
  if (/^([0-9]{6,8})?$/.test(code)) return code;
  throw new GatewayError("bad_request", "Two-factor code: must be 6 to 8 digits, or empty");
}
