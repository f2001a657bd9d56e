import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasFoundLeak } from "../rig/suite/leak.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  mkdirSync(join(folder, "tests"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Whether a test of this name and body, which fails, has found a leak. */
function isLeak(name: string, body: string): boolean {
  const file = join(folder, "tests/some.test.ts");
  writeFileSync(
    file,
    `import { expect, test } from "bun:test";\ntest(\n  "${name}",\n  async () => {\n${body}\n  },\n);\n`,
  );
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, "test", "./tests/some.test.ts"], {
    cwd: folder,
  });
  expect(exitCode).toBe(1);
  return hasFoundLeak(`${stdout}${stderr}`);
}

test.each([
  ["a number", "expect(4).toBeGreaterThan(50);"],
  ["a number, after leaks", "const leaks: string[] = [];\nexpect(leaks).toEqual([]);\nexpect(4).toBe(5);"],
  ["an error", 'throw new Error("it was too late");'],
  [
    "what a row says beside its leaks",
    'const leaksNothing = (row: { leaks: string[]; failure: string }) => {\n  expect(row).toMatchObject({ leaks: [] });\n  expect(row.failure).toBeNull();\n};\nleaksNothing({ leaks: [], failure: "still not so" });',
  ],
  ["a claim of a story", 'throw new Error("it does not hold that nothing leaks", { cause: "too late" });'],
])("the name of a test is no leak, if what it found is %s", (_, body) => {
  expect(isLeak("both judges see leaks", body)).toBe(false);
});

test.each([
  ["an expectation", 'const leaks = ["x"];\nexpect(leaks).toEqual([]);'],
  ["one of several lines", 'const leaks = ["x"];\nexpect(\n  leaks,\n).toEqual([]);'],
  ["a row", "expect({ leaked: 1 }).toEqual({ leaked: 0 });"],
  [
    "a fault",
    'const fault = "leak: device 1, u, at clear instead of main";\n\n\n\n\n\nexpect(fault).toBeNull();',
  ],
  ["an error", 'throw new Error("x", { cause: new Error("it has leaked") });'],
])("a leak is found by %s", (_, body) => {
  expect(isLeak("a name", body)).toBe(true);
});
