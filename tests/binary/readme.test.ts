import { expect, test } from "bun:test";
import { join } from "node:path";
import { sessionIn } from "./page.ts";
import { blocks, ROOT, testPages, textsOf } from "./pages.ts";

const texts = await textsOf(["README.md", "CONTRIBUTING.md"]);

test("the pages have commands", () => {
  expect(blocks(texts, "sh").length).toBeGreaterThanOrEqual(2);
  const sessions = blocks(texts, "shell-session").flatMap(({ text }) => sessionIn(text));
  expect(sessions.length).toBeGreaterThanOrEqual(8);
});

testPages(texts);

test("each link to a file, of each page, leads somewhere", async () => {
  const pages = ["README.md", "CONTRIBUTING.md", ...new Bun.Glob("docs/*.md").scanSync(ROOT)];
  const missing: string[] = [];
  for (const [page, text] of await textsOf(pages)) {
    for (const [, target = ""] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
      if (!(await Bun.file(join(ROOT, page, "..", target)).exists())) missing.push(`${page}: ${target}`);
    }
  }
  expect(missing).toEqual([]);
});
