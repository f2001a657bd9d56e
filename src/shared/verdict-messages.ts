import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PAGE = join(import.meta.dir, "../dashboard/languages");

/**
 * The verdict's sentences in each language but English, by their English text: from the page's catalogues, of which the
 * rest stays out. A macro of `base/voice.ts`.
 */
export function verdictMessages(): Record<string, Record<string, string>> {
  const source = readFileSync(join(import.meta.dir, "verdict-texts.ts"), "utf8");
  const texts = [...source.matchAll(/\bsaying\(\s*"([^"]+)"/g)].map(([, text = ""]) => text);
  const catalogues = readdirSync(PAGE).filter((name) => name.endsWith(".json"));
  return Object.fromEntries(
    catalogues.map((name) => {
      const all: Record<string, string> = JSON.parse(readFileSync(join(PAGE, name), "utf8"));
      const needed = texts.flatMap((text) => (all[text] === undefined ? [] : [[text, all[text]]]));
      return [name.replace(".json", ""), Object.fromEntries(needed)];
    }),
  );
}
