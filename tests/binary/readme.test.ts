import { expect, test } from "bun:test";
import { sessionIn } from "./page.ts";
import { blocks, testPages, textsOf } from "./pages.ts";

const texts = await textsOf(["README.md", "CONTRIBUTING.md"]);

test("the pages have commands", () => {
  expect(blocks(texts, "sh").length).toBeGreaterThanOrEqual(2);
  const sessions = blocks(texts, "shell-session").flatMap(({ text }) => sessionIn(text));
  expect(sessions.length).toBeGreaterThanOrEqual(8);
});

testPages(texts);
