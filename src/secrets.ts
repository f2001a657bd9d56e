/** A WireGuard key in base64: 43 characters and the padding. */
const KEY = /[A-Za-z0-9+/]{43}=/g;
/** Mullvad's account numbers have 16 digits. */
const ACCOUNT_NUMBER = /\b[0-9]{16}\b/g;

/** The text with whatever looks like a secret replaced: somebody may have typed one where it does not belong. */
export function redacted(text: string): string {
  return text.replace(KEY, "(a key)").replace(ACCOUNT_NUMBER, "(an account number)");
}
