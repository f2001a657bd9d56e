import type { Candidates, Node } from "./node.ts";

/** Each command as `the words before it, a space, its own word`: how the scripts follow a line from left to right. */
export function patternsOf(nodes: readonly Node[], separator = " | "): string {
  return nodes
    .filter(({ path }) => path !== "")
    .map(({ path }) => `"${path.includes(" ") ? path : ` ${path}`}"`)
    .join(separator);
}

/** Each option that takes such a value, behind its command. */
export function valuePatternsOf(nodes: readonly Node[], value: Candidates): string {
  return nodes
    .flatMap(({ path, options }) =>
      options
        .filter((option) => option.value === value)
        .flatMap(({ names }) => names.map((name) => `"${path} ${name}"`)),
    )
    .join(" | ");
}

/** Each option that takes one of some words, behind its command, and these words. */
export function choicesOf(nodes: readonly Node[]): { pattern: string; words: string }[] {
  return nodes.flatMap(({ path, options }) =>
    options.flatMap(({ names, value }) =>
      typeof value === "object" && value !== null
        ? [{ pattern: names.map((name) => `"${path} ${name}"`).join(" | "), words: value.join(" ") }]
        : [],
    ),
  );
}

/** A text between single quotes, as zsh reads it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
