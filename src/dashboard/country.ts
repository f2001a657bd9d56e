import { shown } from "./language.ts";

/** What lists of servers call countries otherwise than ISO 3166 does. */
const ALIASES: Readonly<Record<string, string>> = {
  USA: "US",
  UK: "GB",
  "Czech Republic": "CZ",
  "Hong Kong": "HK",
};
const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

let codes: ReadonlyMap<string, string> | null = null;

/** The name of a country in the reader's language, by the one that a list of servers has; the same if it is not known. */
export function countryText(name: string): string {
  if (shown === "en") return name;
  codes ??= codesByName();
  const code = codes.get(name);
  return code === undefined ? name : (namesIn(shown).of(code) ?? name);
}

/** A place such as "Gothenburg, Sweden" with its country in the reader's language. */
export function placeText(place: string): string {
  const [, city = "", country = ""] = /^(.*, )?([^,]*)$/.exec(place) ?? [];
  return `${city}${countryText(country)}`;
}

/** Asking for all of them takes a few milliseconds. */
function codesByName(): ReadonlyMap<string, string> {
  const english = namesIn("en");
  const all = LETTERS.flatMap((one) => LETTERS.map((two) => `${one}${two}`));
  const known = all.flatMap((code) => {
    const name = english.of(code);
    return name === undefined ? [] : [[name, code] as const];
  });
  return new Map([...known, ...Object.entries(ALIASES)]);
}

const kept = new Map<string, Intl.DisplayNames>();

function namesIn(language: string): Intl.DisplayNames {
  const names = kept.get(language) ?? new Intl.DisplayNames([language], { type: "region", fallback: "none" });
  kept.set(language, names);
  return names;
}
