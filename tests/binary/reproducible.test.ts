import { expect } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { long } from "../fast.ts";

const { test } = long("a build that is made twice");

const SOURCES = ["src", "scripts", "LICENSE", "bun.lock", "bunfig.toml", "package.json", "tsconfig.json"];
const INSTALLED = ["node_modules", ".tools/node_modules"];

async function digestOf(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest("hex");
}

function run(argv: string[], cwd = process.cwd()): void {
  const { success, stdout, stderr } = Bun.spawnSync(argv, { cwd });
  if (!success) throw new Error(`${argv.join(" ")}: ${stdout}${stderr}`);
}

/** Builds the executable from copies of the sources, and gives its digest. */
async function builtElsewhere(): Promise<string> {
  mkdirSync("dist", { recursive: true });
  // In the project's folder, so that what is installed can be linked instead of copied.
  const folder = mkdtempSync(resolve("dist/elsewhere-"));
  try {
    for (const path of SOURCES) cpSync(path, join(folder, path), { recursive: true });
    mkdirSync(join(folder, ".tools"));
    for (const path of INSTALLED) run(["cp", "-al", path, join(folder, path)]);
    run([join(folder, "scripts/build")], folder);
    return await digestOf(join(folder, "dist/portcullis"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the same sources give the same executable, bit by bit, in another folder and at another time", async () => {
  if (!process.env.PORTCULLIS_TEST_PROGRAM) run(["scripts/build"]);
  const here = await digestOf(process.env.PORTCULLIS_TEST_PROGRAM ?? "dist/portcullis");
  expect(await builtElsewhere()).toBe(here);
});
