import { expect } from "bun:test";
import { IntlMessageFormat } from "intl-messageformat";
import { formatMessage, parseMessage } from "../../src/shared/message-format.ts";
import { slow } from "../fast.ts";
import { allMessages, catalogueOf, needsOf } from "../page/messages.ts";

const { test } = slow;

/** Their parser takes a second for a catalogue, and more on a busy machine. */
const COMPARED_WITHIN_MS = 60_000;

const LANGUAGES = ["de", "es", "fr", "pt", "ru", "zh"];

function ours(text: string, values: Record<string, unknown>, code: string) {
  const { numbers, plurals } = intlOf(code);
  return formatMessage(parseMessage(text), values, {
    pluralOf: (count) => plurals.select(count),
    numberText: (value) => numbers.format(value),
  });
}

/** Made once, because each takes milliseconds. */
const intlOf = memoized((code) => ({
  numbers: new Intl.NumberFormat(code, { maximumFractionDigits: 1 }),
  plurals: new Intl.PluralRules(code),
  dates: new Intl.DateTimeFormat(code),
}));

function theirs(text: string, code: string) {
  const { numbers, plurals, dates } = intlOf(code);
  const formatters = {
    getNumberFormat: () => numbers,
    getPluralRules: () => plurals,
    getDateTimeFormat: () => dates,
  };
  const format = new IntlMessageFormat(text, code, undefined, { formatters });
  return (values: Record<string, unknown>) => format.format(values as Record<string, string>);
}

function memoized<T>(make: (code: string) => T): (code: string) => T {
  const made = new Map<string, T>();
  return (code) => {
    const value = made.get(code) ?? make(code);
    made.set(code, value);
    return value;
  };
}

/** Values of each kind for the names of a message: each option of a choice, and counts of all plural forms. */
function samplesFor(text: string): Record<string, unknown>[] {
  const { names, tags } = needsOf(text);
  const words = [...text.matchAll(/(\w+) \{/g)].map(([, word = ""]) => word);
  const values = ["Oslo", 0, 1, 2, 5, 21, 12_345.67, ...words];
  const tagged = Object.fromEntries(
    [...tags].map((tag) => [tag, (inner: unknown) => `<${[inner].flat().join("")}>`]),
  );
  return values.map((value, at) => ({
    ...Object.fromEntries([...names].map((name, nth) => [name, values[(at + nth) % values.length] ?? value])),
    ...tagged,
  }));
}

for (const code of ["en", ...LANGUAGES])
  test(
    `${code}: each message reads as ICU's own format has it`,
    () => {
      const english = allMessages().messages.map(({ text }) => text);
      const texts = new Set(code === "en" ? english : Object.values(catalogueOf(code)));
      expect(texts.size).toBeGreaterThan(1_000);
      for (const text of texts) {
        const samples = samplesFor(text);
        const format = theirs(text, code);
        expect(samples.map((values) => ours(text, values, code))).toEqual(samples.map(format) as never);
      }
    },
    COMPARED_WITHIN_MS,
  );

test("what is between tags, and values that are elements, stay elements", () => {
  const strong = (inner: unknown) => ({ strong: inner });
  expect(
    ours("A <strong>big {what}</strong> of {place}", { strong, what: "B", place: { id: 1 } }, "en"),
  ).toEqual([...["A ", { strong: "big B" }, " of ", { id: 1 }]] as never);
});
