import { afterEach, expect } from "bun:test";
import {
  chownSync,
  existsSync,
  lutimesSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { inPrivateFolder } from "../../src/system/private-folder.ts";
import { needsRoot } from "../fast.ts";

const HOUR_MS = 3_600_000;
const NOBODY = 65_534;
const made: string[] = [];
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
});

/** A folder with a download in it, as a power cut leaves it. */
function left(hours: number, owner = 0, name = "portcullis-4194305-"): string {
  const folder = mkdtempSync(join("/var/tmp", name));
  made.push(folder);
  writeFileSync(join(folder, "download"), "half");
  chownSync(folder, owner, owner);
  const then = new Date(Date.now() - hours * HOUR_MS);
  utimesSync(folder, then, then);
  return folder;
}

needsRoot.test("what a power cut left is removed a day later, and nothing else", async () => {
  const old = left(25);
  const link = `${old}-link`;
  made.push(link);
  const kept = [left(1), left(25, NOBODY), left(25, 0, "portcullis-test-")];
  symlinkSync(kept[0] ?? "", link);
  lutimesSync(link, 0, 0);
  await inPrivateFolder(async () => {});
  expect([existsSync(old), ...[...kept, link].map(existsSync)]).toEqual([false, true, true, true, true]);
});
