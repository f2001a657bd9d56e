import { expect } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { RUNTIME } from "../../src/install/runtime.ts";
import { long } from "../fast.ts";
import { inDirectory } from "./example.ts";
import { FULL_STORE } from "./full-store.ts";

const { test } = long("measurements");

/** Four times the text that may be stored. */
const MAX_MEMORY_BYTES = 32 * 2 ** 20;

test("stored servers with the longest lists take 32 MiB of memory at most, when added and after a start", () => {
  inDirectory((directory) => {
    for (const mode of ["fill", "load"]) {
      mkdirSync(join(directory, "empty"));
      const { stdout } = Bun.spawnSync([process.execPath, FULL_STORE, directory, mode], {
        // As the service's unit starts it.
        env: { ...process.env, ...RUNTIME },
        stderr: "inherit",
      });
      rmSync(join(directory, "empty"), { recursive: true });
      const { taken, full } = JSON.parse(stdout.toString());
      expect(full).toBeWithin(0.99, 1);
      expect(taken).toBeLessThan(MAX_MEMORY_BYTES);
    }
  });
});
