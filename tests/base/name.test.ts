import { expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../src/base/errors.ts";
import { isName, nameIn } from "../../src/base/name.ts";
import { slow } from "../fast.ts";

test.each([
  "a",
  "...",
  "..a",
  "%2e",
  "__proto__",
  "constructor",
  "toString",
  "Köln 1",
  "日本",
  "👩‍🚀",
  "a\\b",
  "'; --",
  "x".repeat(64),
])("%j is an ordinary name", (name) => {
  expect(nameIn("name", name)).toBe(name);
});

test("64 characters are counted as code points, not as UTF-16 units", () => {
  expect(nameIn("name", "🚪".repeat(64))).toHaveLength(128);
  expect(() => nameIn("name", "🚪".repeat(65))).toThrow("name: must have 1 to 64 characters");
});

test.each([
  ["", "must have 1 to 64 characters"],
  ["x".repeat(65), "must have 1 to 64 characters"],
  ["a/b", "contains a slash"],
  [".", "cannot be part of a URL path"],
  ["..", "cannot be part of a URL path"],
  ["a\0b", "contains a control character"],
  ["a\nb", "contains a control character"],
  ["a\u0085b", "contains a control character"],
  ["\ud83d", "contains half of a surrogate pair"],
  [" a", "begins or ends with white space"],
  ["a\u00A0", "begins or ends with white space"],
  ["\uFEFFa", "begins or ends with white space"],
  ["Ko\u0308ln", "is not in Unicode normalization form C"],
])("%j is refused", (name, fault) => {
  expect(() => nameIn("server", name)).toThrow(new GatewayError("bad_request", `server: ${fault}`));
});

slow.test("any text is a name or a bad request", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 70 }), (text) => {
      try {
        expect(nameIn("name", text)).toBe(text);
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
      }
    }),
  );
});

slow.test("every name that is taken can be named in a path, by which its server is removed", () => {
  const isNamed = (text: string) => {
    const { pathname } = new URL(`http://localhost/api/import/${encodeURIComponent(text)}`);
    return decodeURIComponent(pathname) === `/api/import/${text}`;
  };
  // As examples of the property, they would take a second: it would look up how it could have made them.
  const odd = [".", "..", "%2e", ".%2e", "?", "#", "\\"];
  expect(odd.filter((text) => isName(text) && !isNamed(text))).toEqual([]);
  const text = fc.string({ unit: "binary", maxLength: 4 }).filter(isName);
  fc.assert(fc.property(text, (name) => expect(isNamed(name)).toBe(true)));
});
