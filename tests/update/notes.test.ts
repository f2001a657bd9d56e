import { expect, test } from "bun:test";
import { newerNotes } from "../../src/update/notes.ts";
import { NOTES } from "./made.ts";

test("of a changelog only the sections of newer versions are new, and what has no version yet", () => {
  expect(newerNotes(NOTES, "9.0.0")).toBe(
    "## [9.2.0] - 2027-02-01\n\n- Newest.\n\n## [9.1.0] - 2027-01-01\n\n- Newer.",
  );
  expect(newerNotes(NOTES, "9.1.0")).toBe("## [9.2.0] - 2027-02-01\n\n- Newest.");
  expect(newerNotes(NOTES, "9.10.0")).toBe("");
  expect(
    newerNotes(`## [Unreleased]\n\n- Soon.\n\n${NOTES.split("\n\n").slice(1).join("\n\n")}`, "9.1.0"),
  ).toBe("## [Unreleased]\n\n- Soon.\n\n## [9.2.0] - 2027-02-01\n\n- Newest.");
});

test("a text without versions is all of it new", () => {
  expect(newerNotes("- One thing.\n\n## A heading\n", "9.0.0")).toBe("- One thing.\n\n## A heading");
  expect(newerNotes("", "9.0.0")).toBe("");
});
