import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FIREWALL_MODULES, releaseWithoutModules } from "../../src/install/modules.ts";

const RUNNING = "6.6.20+rpt-rpi-v8";
const NEEDED = [...FIREWALL_MODULES, "wireguard"];

const folder = mkdtempSync(join(tmpdir(), "portcullis-modules-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** What is found with the modules of these kernels on disk, and these modules in the kernel. */
async function found(kernels: readonly string[], loaded: readonly string[]): Promise<string | null> {
  const modules = mkdtempSync(join(folder, "lib-"));
  for (const kernel of kernels) mkdirSync(join(modules, kernel));
  const files: Record<string, string> = {
    "/proc/sys/kernel/osrelease": `${RUNNING}\n`,
    "/proc/modules": loaded.map((name) => `${name} 16384 0 - Live 0x0000000000000000\n`).join(""),
  };
  return releaseWithoutModules({ read: async (path) => files[path] ?? null }, modules);
}

test("a kernel whose files an upgrade has removed lacks a module that is not loaded", async () => {
  expect(await found(["6.6.31+rpt-rpi-v8"], NEEDED.slice(1))).toBe(RUNNING);
  expect(await found(["6.6.31+rpt-rpi-v8"], [])).toBe(RUNNING);
});

test("it lacks none if all are loaded, if the files are there, and in a container, which has no such files", async () => {
  expect(await found(["6.6.31+rpt-rpi-v8"], NEEDED)).toBeNull();
  expect(await found(["6.6.31+rpt-rpi-v8", RUNNING], [])).toBeNull();
  expect(await found([], [])).toBeNull();
  expect(await releaseWithoutModules({ read: async () => `${RUNNING}\n` }, join(folder, "none"))).toBeNull();
});
