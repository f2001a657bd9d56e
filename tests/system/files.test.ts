import { afterAll, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { placeBytesBehind, placeText, remove } from "../../src/system/files.ts";
import { until } from "../rig/tools/until.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-files-"));
afterAll(() => rmSync(folder, { recursive: true }));

const modeOf = (path: string) => statSync(path).mode & 0o7777;

test("files and new folders have the right modes, whatever the umask", () => {
  const before = process.umask();
  for (const umask of [0, 0o022, 0o077]) {
    const root = join(folder, `umask-${umask}`);
    process.umask(umask);
    placeText(join(root, "public/of/all"), "text", 0o644);
    placeText(join(root, "public/secret/key"), "text", 0o600);
    process.umask(before);
    expect(["public", "public/of", "public/of/all"].map((name) => modeOf(join(root, name)))).toEqual([
      0o755, 0o755, 0o644,
    ]);
    expect(["public/secret", "public/secret/key"].map((name) => modeOf(join(root, name)))).toEqual([
      0o700, 0o600,
    ]);
  }
});

test("a file that other threads place has its mode, whatever the umask and a power cut have left", async () => {
  const path = join(folder, "behind");
  const before = process.umask();
  for (const umask of [0, 0o277]) {
    writeFileSync(`${path}.new`, "half", { mode: 0o644 });
    process.umask(umask);
    for (let round = 0; round < 2; round++) {
      await placeBytesBehind(path, Buffer.from("whole"), 0o600);
      expect([modeOf(path), readFileSync(path, "utf8")]).toEqual([0o600, "whole"]);
    }
    process.umask(before);
  }
  expect(existsSync(`${path}.new`)).toBe(false);
});

test("the former file stays until what the next one waits for is there, and if it fails", async () => {
  const path = join(folder, "second");
  await placeBytesBehind(path, Buffer.from("former"), 0o600);
  const ready = Promise.withResolvers<void>();
  const placed = placeBytesBehind(path, Buffer.from("next"), 0o600, ready.promise);
  await until(() => existsSync(`${path}.new`) && readFileSync(`${path}.new`, "utf8") === "next");
  expect(readFileSync(path, "utf8")).toBe("former");
  ready.resolve();
  await placed;
  expect(readFileSync(path, "utf8")).toBe("next");
  const failed = placeBytesBehind(path, Buffer.from("third"), 0o600, Promise.reject(new Error("no disk")));
  expect(await failed.catch(({ message }) => message)).toBe("no disk");
  expect([readFileSync(path, "utf8"), existsSync(`${path}.new`)]).toEqual(["next", false]);
});

test("a file that cannot be placed leaves no temporary file", () => {
  const path = join(folder, "taken");
  mkdirSync(join(path, "by-a-folder"), { recursive: true });
  expect(() => placeText(path, "text", 0o644)).toThrow();
  expect(readdirSync(folder)).not.toContain("taken.new");
});

test("a temporary file that a power cut has left is removed with the file, and without it", () => {
  const path = join(folder, "cut");
  for (const left of [[path, `${path}.new`], [`${path}.new`]]) {
    for (const one of left) writeFileSync(one, "half");
    expect(remove(path)).toBe("removed");
    expect(left.filter(existsSync)).toEqual([]);
  }
  expect(remove(path)).toBe("unchanged");
});
