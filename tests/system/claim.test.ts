import { afterAll, expect, spyOn, test } from "bun:test";
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
    const child = Bun.spawn(["sleep", "60"], { stdio: ["ignore", "ignore", "ignore"] });
    console.log(child.pid);
    setInterval(() => {}, 1000);`;
  await using first = Bun.spawn([process.execPath, "-e", source], { stdout: "pipe" });
  const { value } = await first.stdout.getReader().read();
  const child = Number(new TextDecoder().decode(value));
  const warned: string[] = [];
  const claimed = () => claimInstallation({ warn: (text) => warned.push(text) }, path);
  await expect(claimed()).rejects.toThrow(
    "another portcullis is being installed or uninstalled; run this command again when it is done",
  );
  first.kill("SIGKILL");
  await first.exited;
  // What a killed one has started, as a userspace WireGuard, lives on without the lock.
  await claimed();
  process.kill(child);
  expect(warned).toEqual([]);
});

test("a lock takes no program, and one that is not possible is a warning", async () => {
  using spawned = spyOn(Bun, "spawn");
  const warned: string[] = [];
  const log = { warn: (text: string) => warned.push(text) };
  await claimInstallation(log, join(folder, "free"));
  await claimInstallation(log, join(folder, "none", "lock"));
  expect(spawned).not.toHaveBeenCalled();
  expect(warned).toEqual([
    expect.stringContaining("a second portcullis would not be detected: flock failed"),
  ]);
});
