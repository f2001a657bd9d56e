import { expect } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needsNamespaces } from "../fast.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
/** A machine of its own, whose shell has the only network: without the refusal, the kill switch closes that one. */
const MACHINE = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
const SHELL = ["sh", "-c", '"$@"; exit $?', "sh"];

needsNamespaces.test(
  "the sources refuse to serve a machine's own network, and touch nothing",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "portcullis-machine-"));
    const serve = [process.execPath, MAIN, "serve", "--state-dir", join(folder, "state")];
    // Without a shell, it is the first process itself, as in a container that has the machine's network.
    for (const command of [[...SHELL, ...serve], serve]) {
      const { exitCode, stderr } = Bun.spawnSync([...MACHINE, ...command], { timeout: 60_000 });
      expect(stderr.toString()).toStartWith(
        "portcullis: serving from the sources would close this machine's own network; ./scripts/start ",
      );
      expect(exitCode).toBe(1);
    }
    expect(readdirSync(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
  },
  120_000,
);
