import { expect, test } from "bun:test";
import { join } from "node:path";
import { translationIn } from "../../src/base/language.ts";
import { NOTICES } from "../../src/notifications/notices.ts";
import { LANGUAGE_NAMES } from "../../src/shared/languages.ts";
import { type Needs, needsOf } from "../page/messages.ts";
import { ALERT_TEXTS, CHECK_TITLES, FINDING_TEXTS } from "./sentence-rows.ts";

const SOURCE = join(import.meta.dir, "../../src");
/** What every view may tell, and what only the view of checks tells, in English. */
const CATALOGUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "shared/sentences/sentences": { ...ALERT_TEXTS, ...NOTICES, ...CHECK_TITLES },
  "shared/sentences/findings": FINDING_TEXTS,
};
const LANGUAGES = Object.keys(LANGUAGE_NAMES).filter((each) => each !== "en");

for (const [name, ENGLISH, code] of Object.entries(CATALOGUES).flatMap(([path, texts]) =>
  LANGUAGES.map((each) => [`${path}.${each}`, texts, each] as const),
)) {
  const read = async (): Promise<Record<string, string>> =>
    await Bun.file(join(SOURCE, `${name}.json`)).json();

  test(`${name}: each code has its sentence, in order, and there is no other`, async () => {
    expect(Object.keys(await read())).toEqual(Object.keys(ENGLISH).toSorted());
  });

  test(`${name}: a sentence is about the same, and has all forms of its plurals`, async () => {
    const texts = await read();
    const faults = Object.entries(ENGLISH).flatMap(([key, english]) =>
      faultsOf(needsOf(english), needsOf(texts[key] ?? ""), code).map((fault) => `${key}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  test(`${name}: the gateway's own text comes last, where the page marks it as English`, async () => {
    const reasons = Object.entries(await read()).filter(([, text]) => text.includes("{reason}"));
    expect(reasons.length).toBeGreaterThan(5);
    expect(reasons.filter(([, text]) => !/\{reason\}[.。]?$/.test(text))).toEqual([]);
  });
}

test("a sentence that is about something else, or lacks a plural, is found", () => {
  const plural = "{n, plural, one {# server} other {# servers}}";
  expect(faultsOf(needsOf("{a}"), needsOf("{b}"), "de")).toHaveLength(1);
  expect(faultsOf(needsOf(plural), needsOf(plural), "ru")).toHaveLength(1);
  expect(faultsOf(needsOf(plural), needsOf(plural), "de")).toEqual([]);
});

function faultsOf(english: Needs, translated: Needs, code: string): string[] {
  const isSame = english.names.symmetricDifference(translated.names).size === 0;
  // Where nothing is said of any number but nought, the form is the same.
  const lacking = translated.plurals.flatMap(({ options }) =>
    options.includes("=0")
      ? []
      : new Intl.PluralRules(code)
          .resolvedOptions()
          .pluralCategories.filter((each) => !options.includes(each)),
  );
  return [
    ...(isSame ? [] : [`is about ${[...translated.names]}`]),
    ...(lacking.length === 0 ? [] : [`has no ${lacking}`]),
  ];
}

test("a language that only a newer version knows is English, and so is a code that it has not", async () => {
  expect((await translationIn("xx"))("killswitch_on", {})).toBeNull();
  const german = await translationIn("de");
  expect([german("killswitch_on", {}), german("of_a_newer_version", {})]).toEqual([
    "Der Kill-Switch wurde eingeschaltet.",
    null,
  ]);
});
