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

/** Each option that takes a value, after its command. */
export function takersOf(nodes: readonly Node[], separator = " | "): string {
  return nodes
    .flatMap(({ path, options }) =>
      options
        .filter(({ value }) => value !== null)
        .flatMap(({ names }) => names.map((name) => `"${path} ${name}"`)),
    )
    .join(separator);
}

/** What may be typed at each place of a command line; `at` is a glob of the number of operands before it. */
export function placesOf({ path, commands, operands }: Node): { at: string; candidates: Candidates }[] {
  if (commands.length > 0) return [{ at: `"${path} "[0-9]*`, candidates: commands.map(({ name }) => name) }];
  const [only = "anything"] = operands;
  if (operands.length < 2) return [{ at: `"${path} "[0-9]*`, candidates: only }];
  return operands.map((candidates, at) => ({ at: `"${path} ${at}"`, candidates }));
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

/** Text in single quotes for zsh. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
