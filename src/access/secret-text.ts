/** Easy to type: Crockford's base 32, which leaves out letters that look like others. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** Random, with 5 bits a character. */
export function randomText(characters: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(characters));
  return Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

/** SHA-256, for what nobody can find by trying. */
export function hashOf(text: string): Buffer {
  return new Bun.CryptoHasher("sha256").update(text).digest();
}
