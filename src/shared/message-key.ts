const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/** FNV-1a of 32 bits. */
const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** Letters of a key: 24 bits, in which two of a few thousand messages hardly meet; that they do not is checked. */
export const KEY_LETTERS = 4;

/**
 * What the page finds a message's translation by. Its scripts have the English text, and a catalogue that has it again is
 * half as long again.
 */
export function keyOf(message: string): string {
  let hash = BASIS;
  for (let index = 0; index < message.length; index += 1)
    hash = Math.imul(hash ^ message.charCodeAt(index), PRIME);
  hash ^= hash >>> 24;
  return Array.from({ length: KEY_LETTERS }, (_, place) => LETTERS[(hash >>> (6 * place)) & 63]).join("");
}

/** A catalogue as it is sent: all keys, and the texts in the same order. */
export interface PackedCatalogue {
  keys: string;
  texts: readonly string[];
}

export function pack(catalogue: Readonly<Record<string, string>>): PackedCatalogue {
  const keys = Object.keys(catalogue).map(keyOf);
  if (new Set(keys).size < keys.length) throw new Error("two messages have the same key");
  return { keys: keys.join(""), texts: Object.values(catalogue) };
}

export function unpack({ keys, texts }: PackedCatalogue): ReadonlyMap<string, string> {
  return new Map(
    texts.map((text, index) => [keys.slice(index * KEY_LETTERS, (index + 1) * KEY_LETTERS), text]),
  );
}
