import { expect, test } from "bun:test";
import { join } from "node:path";

const MAIN = join(import.meta.dir, "../../src/main.ts");
/** A busy machine takes seconds to start a program. */
const TIMEOUT_MS = 60_000;

function ran(...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, MAIN, ...args], { stdin: "ignore" });
  return { code: exitCode, said: `${stdout}${stderr}` };
}

test(
  "wrong flags are wrong usage, and nothing is done",
  () => {
    expect(ran("install", "--port", "many")).toMatchObject({
      code: 2,
      said: expect.stringContaining("--port"),
    });
    expect(ran("install", "--state-dir", "/srv").code).toBe(2);
    expect(ran("uninstall", "--keep-state", "--remove-state").code).toBe(2);
  },
  TIMEOUT_MS,
);

test(
  "an installation that nobody can be asked about is not done without --yes",
  () => {
    expect(ran("install")).toMatchObject({ code: 2, said: expect.stringContaining("say --yes") });
  },
  TIMEOUT_MS,
);

test(
  "an uninstallation that nobody can be asked about is not done without --yes, and shown without it",
  () => {
    expect(ran("uninstall")).toMatchObject({ code: 2, said: expect.stringContaining("--yes") });
    const shown = ran("uninstall", "--dry-run");
    expect(shown.code).toBe(0);
    expect(shown.said).toContain("Nothing is done now");
    expect(shown.said).not.toMatch(/remove \/var\/lib\/portcullis$/m);
    expect(ran("uninstall", "--dry-run", "--remove-state").said).toMatch(/remove \/var\/lib\/portcullis$/m);
  },
  TIMEOUT_MS,
);
