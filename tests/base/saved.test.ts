import { expect, setDefaultTimeout, test } from "bun:test";
import { Type } from "typebox";
import type { HostName } from "../../src/base/address.ts";
import { mustParsePrefix } from "../../src/base/address.ts";
import { SavedList, savedJson } from "../../src/base/saved.ts";
import { DESTINATIONS } from "../../src/destinations/saved.ts";
import { slow } from "../fast.ts";

setDefaultTimeout(240_000);

const hexadecimal = (number: number) => (0x1000 + number).toString(16);
const network = (group: number, number: number) =>
  mustParsePrefix(`2001:1db8:1234:5678:9abc:def0:${hexadecimal(group)}:${hexadecimal(number)}/128`);

slow.test("the longest rules for destinations are read again", () => {
  const long = `${`${"a".repeat(59)}.`.repeat(4)}example`;
  const rules = Array.from({ length: 64 }, (_, rule) => ({
    id: `00${hexadecimal(rule)}`,
    names: Array.from({ length: 16 }, (_, name) => `${hexadecimal(16 * rule + name)}.${long}` as HostName),
    prefixes: Array.from({ length: 16 }, (_, number) => network(rule, number)),
    devices: Array.from({ length: 64 }, (_, number) =>
      mustParsePrefix(`fdab:cdef:1234:5678:9abc:def0:1234:${hexadecimal(number)}/128`),
    ),
    exit: { to: "tunnel", name: "a".repeat(32) } as const,
    note: '"'.repeat(200),
  }));
  expect(rules[0]?.names[0]).toHaveLength(252);
  expect(DESTINATIONS.parse(DESTINATIONS.format(rules))).toHaveLength(64);
});

test("what is too long to be read again is not written", () => {
  const notes = savedJson("notes", Type.Array(Type.String()), null);
  const written: string[] = [];
  const write = (note: string) => notes.write({ write: (_, text) => void written.push(text) }, [note]);
  expect(() => write("a".repeat(1_000_000))).toThrow("notes is too long to be kept");
  expect(written).toEqual([]);
  write("a".repeat(100_000));
  expect(written.map((text) => notes.parse(text)?.[0]?.length)).toEqual([100_000]);
});

test("a list that is asked for again and again, as by a restore, is read once", () => {
  const read: string[] = [];
  const list = new SavedList<string>({
    ...{ key: "list", what: "word", max: 9, maxCharacters: 9, format: (words) => words.join(" ") },
    ...{ nameOf: (word) => word, wordsOf: (word) => word },
    entriesIn: (text) => {
      read.push(text ?? "");
      return (text ?? "").split(" ");
    },
  });
  expect([list.isValid("a b"), list.merge("a", "a b"), list.changes("a", "a b").length]).toEqual([
    true,
    "a b",
    1,
  ]);
  expect(read).toEqual(["a b", "a"]);
});
