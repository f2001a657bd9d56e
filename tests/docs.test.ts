import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const PAGES = [
  ...new Bun.Glob("*.md").scanSync(ROOT),
  ...new Bun.Glob("docs/**/*.md").scanSync(ROOT),
].toSorted();

const OPENAPI = join(ROOT, "tests/golden/openapi.txt");

/** In an editor without line wrap, and in a diff, a longer line cannot be read. */
const MAX_LINE_CHARACTERS = 400;
/** Some seven sentences, or half a page on a phone. */
const MAX_PARAGRAPH_CHARACTERS = 700;

/**
 * The lines and paragraphs of a Markdown page that are too long, each with its page and line number. Code blocks are
 * left out: commands and answers stand as the program writes them. A table's row cannot be broken, so each of its cells
 * counts as a line, except one that is nothing but code.
 */
function tooLong(page: string, text: string): string[] {
  const found: string[] = [];
  const check = (what: string, part: string, limit: number, line: number) => {
    if (part.length > limit) found.push(`${page}:${line}: a ${what} of ${part.length} characters`);
  };
  let paragraph: string[] = [];
  let inCode = false;
  for (const [index, line] of [...text.split("\n"), ""].entries()) {
    const isFence = /^ *```/.test(line);
    const isRow = line.startsWith("|");
    const beginsItem = /^ *(?:[-*]|\d+\.) /.test(line);
    if (inCode || isFence || isRow || beginsItem || line.trim() === "") {
      check("paragraph", paragraph.join(" "), MAX_PARAGRAPH_CHARACTERS, index);
      paragraph = [];
    }
    if (isFence) inCode = !inCode;
    else if (isRow && !inCode) {
      const cells = line.split(" | ").filter((cell) => !/^[| ]*`[^`]*`[| ]*$/.test(cell));
      for (const cell of cells) check("cell", cell, MAX_LINE_CHARACTERS, index + 1);
    } else if (!inCode) {
      check("line", line, MAX_LINE_CHARACTERS, index + 1);
      if (line.trim() !== "") paragraph.push(line);
    }
  }
  return found;
}

test.each(PAGES)("%s has no line over 400 characters and no paragraph over 700", async (page) => {
  expect(tooLong(page, await Bun.file(join(ROOT, page)).text())).toEqual([]);
});

test("long lines, paragraphs and cells are found, and code may be long", () => {
  const words = (count: number) => "four".repeat(count / 4);
  const page = [words(404), "", words(400), words(400), "", `| ${words(404)} | \`${words(404)}\` |`, "```"];
  expect(
    tooLong("page", [...page, words(404), "```", `- ${words(396)}`, `- ${words(396)}`].join("\n")),
  ).toEqual([
    "page:1: a line of 404 characters",
    "page:4: a paragraph of 801 characters",
    "page:6: a cell of 406 characters",
  ]);
});

/** As forges make the anchor of a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");

test("each link to a heading leads to one", async () => {
  const texts = new Map<string, string>();
  for (const page of PAGES) texts.set(page, await Bun.file(join(ROOT, page)).text());
  const links = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/\](?:\(|: )([^)#:\s]*)#([^)\s]+)\)?/g)].map(([, to = "", anchor = ""]) => ({
      page,
      to,
      anchor,
    })),
  );
  const missing = links.filter(({ page, to, anchor }) => {
    const target = texts.get(to === "" ? page : join(dirname(page), to)) ?? "";
    const headings = [...target.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
    return !headings.includes(anchor);
  });
  expect(links.length).toBeGreaterThan(30);
  expect(missing).toEqual([]);
});

test("each link to a file leads to one", async () => {
  const missing: string[] = [];
  let links = 0;
  for (const page of PAGES) {
    const text = await Bun.file(join(ROOT, page)).text();
    for (const [, to = ""] of text.matchAll(/(?:\](?:\(|: )|src=")([^)"#:\s]+)(?:#[^)\s]*)?[)"\n]/g)) {
      links += 1;
      if (!existsSync(join(ROOT, dirname(page), to))) missing.push(`${page}: ${to}`);
    }
  }
  expect(links).toBeGreaterThan(100);
  expect(missing).toEqual([]);
});

test("each path of the OpenAPI document stands in the pages of the interface", async () => {
  const pages = PAGES.filter((page) => /^docs\/interface(\.md|\/)/.test(page));
  const texts = await Promise.all(pages.map((page) => Bun.file(join(ROOT, page)).text()));
  const interfacePages = texts.join("\n").replaceAll("$api/", "/api/");
  const paths = [...(await Bun.file(OPENAPI).text()).matchAll(/^ {2}"(\/[^"]*)": \{$/gm)].map(
    ([, path = ""]) => path,
  );
  // A parameter stands there as itself, or as an example of its value.
  const parameter = "[^/\\s`]+";
  const isThere = (path: string) =>
    new RegExp(
      `${path
        .split(/\{\w+\}/)
        .map(RegExp.escape)
        .join(parameter)}(?![\\w/])`,
    ).test(interfacePages);
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !isThere(path))).toEqual([]);
  expect(isThere("/api/nowhere")).toBe(false);
});

test("the pages are there", () => {
  expect(PAGES).toContain("README.md");
  expect(PAGES).toContain("docs/interface.md");
  expect(PAGES.length).toBeGreaterThan(15);
});
