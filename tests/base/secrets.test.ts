import { expect, test } from "bun:test";
import { redacted } from "../../src/base/secrets.ts";
import { PRESHARED } from "../servers/example.ts";

test.each([
  [`no ${PRESHARED}.`, "no (a key)."],
  [`/api/x/${encodeURIComponent(PRESHARED)}/y`, "/api/x/(a key)/y"],
  ["/api/x/1234%205678%209012%203456", "/api/x/(an account number)"],
  ["'1234567890123456'", "'(an account number)'"],
  ["'1234 5678 9012 3456'", "'(an account number)'"],
  ["1234-5678-9012-3456", "(an account number)"],
  ["i-ABCD-EFGH-2345, i-abcd-efgh-2345", "(an account number), (an account number)"],
  ["ivpnAbCd1234 of p1234567", "(an account number) of (an account number)"],
  ["ivpn, wifi-mesh-node-five and up12345678", "ivpn, wifi-mesh-node-five and up12345678"],
  ["12345678901234567 and 2026-11-22 02:35", "12345678901234567 and 2026-11-22 02:35"],
])("of %j a message shows %j", (text, shown) => {
  expect(redacted(text)).toBe(shown);
});
