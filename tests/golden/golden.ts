import { expect } from "bun:test";

/** Set, the files are written anew from what is: `bun run goldens`. Read the diff. */
const IS_RENEWED = process.env.PORTCULLIS_GOLDENS === "renew";
/** What is shorter is written again. */
const SHORT = 60;

/** What this machine says of itself, or of the time between two clocks. */
const OF_THIS_MACHINE = /(?<="free": ")[0-9]+|[0-9]+(?= (?:GB|MB) free|(?:\.[0-9]+)? min ago)/g;

/** The text is exactly that of this file. */
export async function expectGolden(file: string, text: string): Promise<void> {
  const shown = text.replaceAll(OF_THIS_MACHINE, "…");
  if (IS_RENEWED) await Bun.write(file, shown);
  expect(shown).toBe(await Bun.file(file).text());
}

/** JSON in which what stands in several places is written once, with a name: `@12 = {…}`, and then `"@12"`. */
export function withoutRepetitions(document: unknown): string {
  const counts = new Map<string, number>();
  const count = (value: unknown) => {
    if (!isLong(value)) return;
    const text = JSON.stringify(value);
    counts.set(text, (counts.get(text) ?? 0) + 1);
    if (counts.get(text) === 1) for (const each of Object.values(value)) count(each);
  };
  count(document);
  const lines: string[] = [];
  const names = new Map<string, string>();
  const shown = (value: unknown): unknown => {
    if (!isLong(value)) return value;
    const text = JSON.stringify(value);
    const known = names.get(text);
    if (known !== undefined) return known;
    const inner = Array.isArray(value)
      ? value.map(shown)
      : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shown(each)]));
    if ((counts.get(text) ?? 0) < 2) return inner;
    const name = `@${names.size + 1}`;
    names.set(text, name);
    lines.push(`${name} = ${JSON.stringify(inner)}`);
    return name;
  };
  const rest = shown(document);
  return `${lines.join("\n")}\n\n${JSON.stringify(rest, null, 1)}\n`;
}

function isLong(value: unknown): value is object {
  return typeof value === "object" && value !== null && JSON.stringify(value).length > SHORT;
}
