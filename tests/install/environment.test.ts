import { expect, test } from "bun:test";
import fc from "fast-check";
import { environmentWith, type Given, givenIn, INSTALLABLE } from "../../src/install/environment.ts";

test("what is given is read back from the file, over any file that was there", () => {
  const value = fc.stringMatching(/^[A-Za-z0-9_.,:/@%+ -]{0,30}$/).map((text) => text.trim());
  const given = fc.dictionary(fc.constantFrom(...INSTALLABLE), value) as fc.Arbitrary<Given>;
  fc.assert(
    fc.property(given, given, (first, second) => {
      const text = environmentWith(environmentWith(null, first), second);
      expect(givenIn(text)).toEqual({ ...first, ...second });
      expect(environmentWith(text, second)).toBe(text);
    }),
  );
});

test("a fresh file names each setting and gives none", () => {
  const text = environmentWith(null, {});
  expect(givenIn(text)).toEqual({});
  expect(text).toContain("# port of the HTTP interface\n#PORTCULLIS_PORT=5000\n");
});

test("what a person has written into the file stays", () => {
  expect(environmentWith("# mine\nOTHER=1\nPORTCULLIS_PORT=80\n", { port: "81", lan: "eth0" })).toBe(
    "# mine\nOTHER=1\nPORTCULLIS_PORT=81\nPORTCULLIS_LAN=eth0\n",
  );
});

test("a value that systemd would read otherwise is refused, and the flag is named", () => {
  for (const host of ['"', "a\nPORTCULLIS_LAN=x", "$HOME", "a\\b", "\0"]) {
    expect(() => environmentWith(null, { host })).toThrow("--host: quotes");
  }
});
