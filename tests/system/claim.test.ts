import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { claimInstallation } from "../../src/system/claim.ts";

const CLAIM = join(import.meta.dir, "../../src/system/claim.ts");
const folder = mkdtempSync(join(tmpdir(), "portcullis-claim-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("only one program at a time installs or uninstalls, and a killed one does not keep others out", async () => {
  const path = join(folder, "lock");
  const source = `import { claimInstallation } from ${JSON.stringify(CLAIM)};
    await claimInstallation({ warn: () => {} }, ${JSON.stringify(path)});
    console.log("claimed");
    setInterval(() => {}, 1000);`;
  await using first = Bun.spawn([process.execPath, "-e", source], { stdout: "pipe" });
  await first.stdout.getReader().read();
  const warned: string[] = [];
  const claimed = () => claimInstallation({ warn: (text) => warned.push(text) }, path);
  await expect(claimed()).rejects.toThrow(
    "another portcullis is being installed or uninstalled; run this command again when it is done",
  );
  first.kill("SIGKILL");
  await first.exited;
  await claimed();
  expect(warned).toEqual([]);
});
