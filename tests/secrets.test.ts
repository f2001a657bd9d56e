import { expect, test } from "bun:test";
import { redacted } from "../src/secrets.ts";
import { PRESHARED } from "./servers/example.ts";

test.each([
  [`no ${PRESHARED}.`, "no (a key)."],
  ["'1234567890123456'", "'(an account number)'"],
  ["'1234 5678 9012 3456'", "'(an account number)'"],
  ["1234-5678-9012-3456", "(an account number)"],
  ["12345678901234567 and 2026-11-22 02:35", "12345678901234567 and 2026-11-22 02:35"],
])("of %j a message shows %j", (text, shown) => {
  expect(redacted(text)).toBe(shown);
});
