/** A WireGuard key in base64, 43 characters and the padding, as it is or as an address has it. */
const KEY = /(?:[A-Za-z0-9+/]|%2[BF]){43}(?:=|%3D)/gi;
/**
 * Mullvad's account numbers have 16 digits, which people write in groups of four. IVPN's account IDs look like
 * `i-ABCD-EFGH-IJKL` or `ivpnABCDEFGH`, PIA's user names like `p1234567`.
 */
export const ACCOUNT_NUMBER =
  /\b(?:[0-9]{4}(?:(?:[ -]|%20)?[0-9]{4}){3}|i(?:-[A-Za-z0-9]{4}){3}|ivpn[A-Za-z0-9]{7,8}|p[0-9]{7})\b/g;

/** A token of the HTTP interface; `access/tokens.ts` makes them. */
const TOKEN = /portcullis_[0-9a-z]{26}/gi;

/** The text with everything that looks like a secret replaced, in case one was entered in the wrong place. */
export function redacted(text: string): string {
  return withoutTokens(text).replace(KEY, "(a key)").replace(ACCOUNT_NUMBER, "(an account number)");
}

export function withoutTokens(text: string): string {
  return text.replace(TOKEN, "(a token)");
}
