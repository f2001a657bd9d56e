import { expect, test } from "bun:test";
import { faultIn } from "../../src/dashboard/fault.ts";
import { type FieldRow, givenIn, shownIn, type Typed } from "../../src/dashboard/parts/form-values.ts";
import { type FormName, formRules } from "../../src/http/forms.ts";

const FIELD_NAMES = ["name", "endpoint", "private_key", "mtu"] as const;

test("an error is shown at the field that it names", () => {
  const faults = {
    "endpoint: must be host:port, or [address]:port for IPv6.": [
      "endpoint",
      "It must be host:port, or [address]:port for IPv6.",
    ],
    "endpoint: the port must be a number.": ["endpoint", "The port must be a number."],
    "name: is taken; remove that server first.": ["name", "It is taken; remove that server first."],
    "Lists[0].endpoint: must be host:port.": ["endpoint", "It must be host:port."],
    "Line.mtu is required.": ["mtu", "It is required."],
    "Name is required.": ["name", "It is required."],
    "private_key is required.": ["private_key", "It is required."],
    "mtu must be a whole number from 576 to 65535.": ["mtu", "It must be a whole number from 576 to 65535."],
  };
  for (const [error, [field, text]] of Object.entries(faults))
    expect(faultIn(error, FIELD_NAMES)).toEqual({ field, text } as never);
  for (const error of ["The gateway does not answer.", "Too many requests at once.", ""])
    expect(faultIn(error, FIELD_NAMES)).toBeNull();
});

const LABEL = { label: "" };
const typed = (texts: Record<string, string>, over = ""): Typed =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, { text, over }]));
const given = (of: FormName, rows: Record<string, FieldRow>, texts: Record<string, string> = {}) =>
  JSON.parse(JSON.stringify(givenIn(shownIn(of, rows, typed(texts)))));

test("a field has the bounds of the schema that validates the request", () => {
  const rules = formRules();
  expect(rules.forward.port).toEqual({ is: "number", required: true, min: 1, max: 65_535 });
  expect(rules.forward.external).toEqual({ is: "number", nullable: true, min: 1, max: 65_535 });
  expect(rules.rate.down).toEqual({ is: "number", nullable: true, min: 0.1, max: 10_000, step: "any" });
  expect(rules.destination.note).toEqual({ maxLength: 200 });
  expect(rules.tunnel.name).toEqual({ required: true, pattern: "[a-z0-9\\-]{1,32}" });
  expect(rules.server.dns).toBeUndefined();
});

test("empty fields are left out, or null where that means none, and numbers are sent as such", () => {
  const rows = { name: LABEL, dns: LABEL, mtu: LABEL, persistent_keepalive: LABEL };
  const texts = { name: " home ", dns: " ", mtu: "1380" };
  expect(given("server", rows, texts)).toEqual({ name: "home", mtu: 1380 });
  const limit = { down: { ...LABEL, value: 5 }, up: { ...LABEL, value: "" } };
  expect(given("rate", limit)).toEqual({ down: 5, up: null });
});

test("lists, choices and passwords are sent as what they are", () => {
  const prefixes = { prefixes: LABEL, devices: LABEL };
  expect(given("destination", prefixes, { prefixes: "a.example, 10.0.0.0/8" })).toEqual({
    prefixes: ["a.example", "10.0.0.0/8"],
    devices: [],
  });
  const rights = ["true", "false"].map((value) => ({ value, text: value }));
  expect(given("token", { read_only: { ...LABEL, options: rights } })).toEqual({ read_only: true });
  expect(given("backup", { passphrase: { ...LABEL, type: "password" } }, { passphrase: " a " })).toEqual({
    passphrase: " a ",
  });
});

test("what was typed stays until the value that it was typed over is another one", () => {
  const textFor = (value: number) =>
    shownIn("line", { down: { ...LABEL, value } }, typed({ down: "70" }, "50"))[0]?.text;
  expect(textFor(50)).toBe("70");
  expect(textFor(60)).toBe("60");
});

test("a choice that is no longer offered is the first one", () => {
  const options = ["main", "tv"].map((value) => ({ value, text: value }));
  const chosen = (exit: string) => given("destination", { exit: { ...LABEL, options } }, { exit }).exit;
  expect(chosen("tv")).toBe("tv");
  expect(chosen("gone")).toBe("main");
});
