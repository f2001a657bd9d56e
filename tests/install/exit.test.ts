import { expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { needsNamespaces, slow } from "../fast.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
/** Starting a program takes seconds on a busy machine. */
const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);

function ran(...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, MAIN, ...args], { stdin: "ignore" });
  return { code: exitCode, said: `${stdout}${stderr}` };
}

slow.test("wrong flags are a usage error, and nothing is done", () => {
  expect(ran("install", "--port", "many")).toMatchObject({
    code: 2,
    said: expect.stringContaining("--port"),
  });
  expect(ran("install", "--state-dir", "/srv").code).toBe(2);
  expect(ran("uninstall", "--keep-state", "--remove-state").code).toBe(2);
});

slow.test("without a terminal, install does nothing unless --yes is passed", () => {
  expect(ran("install")).toMatchObject({ code: 2, said: expect.stringContaining("pass --yes") });
});

needsNamespaces.test(
  "without a terminal, uninstall does nothing unless --yes is passed, and --dry-run needs no --yes",
  () => {
    expect(ran("uninstall")).toMatchObject({ code: 2, said: expect.stringContaining("--yes") });
    const shown = ran("uninstall", "--dry-run");
    expect(shown.code).toBe(0);
    expect(shown.said).toContain("Dry run: nothing is changed");
    expect(shown.said).not.toMatch(/remove \/var\/lib\/portcullis$/m);
    expect(ran("uninstall", "--dry-run", "--remove-state").said).toMatch(/remove \/var\/lib\/portcullis$/m);
  },
);
