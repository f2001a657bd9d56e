import { expect, test } from "bun:test";
import { join } from "node:path";
import { codeOf, GatewayError } from "../../src/base/errors.ts";
import { type ErrorRow, refusals, within } from "../../src/base/refusals.ts";
import { needsOf } from "../page/messages.ts";

const SRC = join(import.meta.dir, "../../src");

/** The rows of errors of all rooms, and names that have two sentences. */
const ROWS: Record<string, ErrorRow> = {};
const CLASHING: string[] = [];
for (const file of [...new Bun.Glob("**/refusals.ts").scanSync(SRC), "base/unsaved.ts"].sort()) {
  const { refused } = await import(join(SRC, file));
  for (const [what, row] of Object.entries<ErrorRow>(refused?.rows ?? {})) {
    if ((ROWS[what]?.text ?? row.text) !== row.text) CLASHING.push(`${file}: ${what}`);
    ROWS[what] = row;
  }
}

const catalogueOf = (code: string): Promise<Record<string, string>> =>
  Bun.file(join(SRC, `shared/sentences/errors.${code}.json`)).json();

test("a name is that of one sentence, in whatever rooms it is", () => {
  expect(Object.keys(ROWS).length).toBeGreaterThan(50);
  expect(CLASHING).toEqual([]);
});

test("no sentence has a tag, which would be taken for an element", () => {
  const tagged = Object.values(ROWS).filter(({ text }) => needsOf(text).tags.size > 0 || /<[a-z]/.test(text));
  expect(tagged).toEqual([]);
});

test.each(["de", "es", "fr", "pt", "ru", "zh"])(
  "%s has each error, with the same arguments",
  async (code) => {
    const catalogue = await catalogueOf(code);
    expect(Object.keys(catalogue).toSorted()).toEqual(Object.keys(ROWS).toSorted());
    expect(Object.keys(catalogue)).toEqual(Object.keys(catalogue).toSorted());
    const differing = Object.entries(ROWS).flatMap(([what, { text }]) => {
      const [own, other] = [needsOf(text), needsOf(catalogue[what] ?? "")];
      const lost = own.names.symmetricDifference(other.names);
      return lost.size === 0 && other.tags.size === 0 ? [] : [`${what}: ${[...lost]}`];
    });
    expect(differing).toEqual([]);
  },
);

test("what is translated is a sentence of its own language", async () => {
  const german = await catalogueOf("de");
  const same = Object.entries(ROWS).filter(
    ([what, { text }]) => /[a-z]{3} [a-z]{3}/.test(text) && german[what] === text,
  );
  expect(same).toEqual([]);
});

const refused = refusals({
  "bad_request: name": { taken: "{name} is taken" },
  bad_request: { missing: "{field} is required" },
  not_found: { plain: "there is none" },
});

test("an error has its sentence, its code and what the sentence is made of", () => {
  const { code, message, args } = refused("taken", { name: "tv" });
  expect([code, message, args]).toEqual([
    "bad_request",
    "name: tv is taken",
    { what: "taken", field: "name", name: "tv" },
  ]);
  expect(refused("missing", { field: "server" }).message).toBe("server is required");
  expect(refused("plain").message).toBe("there is none");
  expect(refused("plain", {}, { code: "unable" }).code).toBe("unable");
});

test("an error of a part names its place in the whole", () => {
  const { message, args } = within("targets: 2", refused("taken", { name: "tv" }));
  expect([message, args?.field]).toEqual(["targets: 2: name: tv is taken", "targets: 2: name"]);
  expect(within("targets: 2", refused("plain"))).toMatchObject({
    message: "targets: 2: there is none",
    args: { what: "plain", field: "targets: 2" },
  });
  const other = within("targets: 2", new GatewayError("unable", "wg failed"));
  expect([codeOf(other), other.message, other.args]).toEqual(["unable", "targets: 2: wg failed", undefined]);
});

test("a secret that was typed in the wrong place is neither in the sentence nor in its arguments", () => {
  const key = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
  const { message, args } = refused("taken", { name: key });
  expect(JSON.stringify([message, args])).not.toContain(key);
  expect([message, args?.name]).toEqual(["name: (a key) is taken", "(a key)"]);
  expect(JSON.stringify(refused("taken", { name: "harmless" }))).toContain("harmless");
});
