import { expect, test } from "bun:test";
import type { Settings } from "../../src/base/settings.ts";
import { accessFinding } from "../../src/checks/access.ts";

const ADVICE =
  "Make one for each client: sudo portcullis token add <name>. If no token should be needed: sudo portcullis install --auth off";
const token = (read_only: boolean) => ({
  ...{ name: "phone", read_only, owner: false },
  created_at: "2026-01-02T03:04:05.678Z",
});
const found = (auth: Settings["auth"], tokens: ReturnType<typeof token>[]) => {
  const finding = accessFinding(auth, tokens);
  return finding && [finding.result, finding.found, finding.advice];
};

test("without --auth there is nothing to look at", () => {
  expect(found("off", [])).toBeNull();
  expect(found("off", [token(false)])).toBeNull();
});

test("an interface that asks for tokens that nobody has is a fault, or a warning if it can be read", () => {
  expect(found("on", [])).toEqual([
    "fault",
    "everything needs a token, and there is none: nobody can use the page",
    ADVICE,
  ]);
  expect(found("write", [])).toEqual([
    "warning",
    "changes need a token, and there is none: the page can only be read",
    ADVICE,
  ]);
});

test("with tokens it says how many there are, and how many may only read", () => {
  expect(found("on", [token(false)])).toEqual([
    "ok",
    "everything needs a token; there is 1, none read-only",
    null,
  ]);
  expect(found("write", [token(true), token(false)])).toEqual([
    "ok",
    "changes need a token; there are 2, 1 read-only",
    null,
  ]);
});
