/** Text for a program that reads line by line. */
export function lines(parts: readonly string[]): string {
  return parts.map((part) => `${part}\n`).join("");
}
