import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const CHANCE = join(import.meta.dir, "../chance.ts");

test("two runs of a test with one seed draw the same, and without one something else", () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  const file = join(folder, "some.test.ts");
  writeFileSync(
    file,
    `import { test } from "bun:test";\nimport fc from ${JSON.stringify(Bun.resolveSync("fast-check", import.meta.dir))};\ntest("some", () => void fc.assert(fc.property(fc.bigInt(), (drawn) => void console.log("drawn", drawn)), { numRuns: 5 }));\n`,
  );
  const drawn = (env: Record<string, string>) => {
    const { PORTCULLIS_TEST_SEED: _, ...others } = process.env;
    const run = Bun.spawnSync([process.execPath, "test", "--preload", CHANCE, file], {
      cwd: folder,
      env: { ...others, ...env },
    });
    return `${run.stdout}`.split("\n").filter((line) => line.startsWith("drawn"));
  };
  const [one, again, other] = [
    drawn({ PORTCULLIS_TEST_SEED: "7" }),
    drawn({ PORTCULLIS_TEST_SEED: "7" }),
    drawn({}),
  ];
  rmSync(folder, { recursive: true });
  expect(one).toHaveLength(5);
  expect(again).toEqual(one);
  expect(other).not.toEqual(one);
});
