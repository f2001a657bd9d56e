import type { Candidates, Node } from "./node.ts";

/** Each command as `preceding words, a space, its own word`: the scripts follow a line from left to right. */
export function patternsOf(nodes: readonly Node[], separator = " | "): string {
  return nodes
    .filter(({ path }) => path !== "")
    .map(({ path }) => `"${path.includes(" ") ? path : ` ${path}`}"`)
    .join(separator);
}

/** Each option that takes this kind of value, after its command. */
export function valuePatternsOf(nodes: readonly Node[], value: Candidates): string {
  return nodes
    .flatMap(({ path, options }) =>
      options
        .filter((option) => option.value === value)
        .flatMap(({ names }) => names.map((name) => `"${path} ${name}"`)),
    )
    .join(" | ");
}

/** Each option that takes one word of a list, after its command, with the list. */
export function choicesOf(nodes: readonly Node[]): { pattern: string; words: string }[] {
  return nodes.flatMap(({ path, options }) =>
    options.flatMap(({ names, value }) =>
      typeof value === "object" && value !== null
        ? [{ pattern: names.map((name) => `"${path} ${name}"`).join(" | "), words: value.join(" ") }]
        : [],
    ),
  );
}

/** The number of operands before the one at a position; the last one holds for all that follow. */
export function patternAt(at: number, operands: readonly Candidates[]): string {
  return at === operands.length - 1 ? "*" : String(at);
}

/** Text in single quotes for zsh. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
