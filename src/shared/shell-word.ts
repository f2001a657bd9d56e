const PLAIN = /^[\w.,-]+$/;

/** A word as people type it in a shell, which takes it for nothing else. */
export function shellWord(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
