/** Whether the text is a WireGuard key: canonical base64 of 32 bytes that are not all zero. */
export function isKey(text: string): boolean {
  return CANONICAL.test(text) && text !== ZERO;
}

/** 32 bytes are 43 characters. The last one has four bits, so only 16 of the 64 characters are possible. */
const CANONICAL = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/** WireGuard's "no key". */
const ZERO = `${"A".repeat(43)}=`;
