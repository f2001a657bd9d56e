import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeIn, keepBefore, putBack } from "../../src/install/ports-before.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-ports-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string) => join(folder, name);
const modeOf = (name: string) => statSync(at(name)).mode & 0o777;

test("what files said is put back with their modes, and those that were not there are gone; twice is as once", () => {
  writeFileSync(at("settings"), "secret\n");
  chmodSync(at("settings"), 0o600);
  writeFileSync(at("uplink"), "eth0\n");
  chmodSync(at("uplink"), 0o644);
  keepBefore(at("before"), ["settings", "uplink", "lan"].map(at));
  expect(modeOf("before")).toBe(0o600);
  rmSync(at("settings"));
  writeFileSync(at("uplink"), "eth1\n");
  writeFileSync(at("lan"), "eth0\n");
  for (let time = 0; time < 2; time += 1) {
    putBack(beforeIn(at("before")) ?? {}, () => true);
    expect([readFileSync(at("settings"), "utf8"), modeOf("settings")]).toEqual(["secret\n", 0o600]);
    expect([readFileSync(at("uplink"), "utf8"), modeOf("uplink")]).toEqual(["eth0\n", 0o644]);
    expect(existsSync(at("lan"))).toBe(false);
  }
});

test("what was written down first stays, and only those files come back that are meant", () => {
  writeFileSync(at("uplink"), "eth0\n");
  keepBefore(at("before"), [at("uplink"), at("lan")]);
  writeFileSync(at("uplink"), "eth1\n");
  writeFileSync(at("lan"), "eth0\n");
  keepBefore(at("before"), [at("uplink"), at("lan")]);
  putBack(beforeIn(at("before")) ?? {}, (path) => path === at("uplink"));
  expect(readFileSync(at("uplink"), "utf8")).toBe("eth0\n");
  expect(existsSync(at("lan"))).toBe(true);
});

test("nothing that was written down is told from nothing that could be read", () => {
  expect(beforeIn(at("before"))).toBe(null);
  writeFileSync(at("before"), "damaged");
  expect(beforeIn(at("before"))).toEqual({});
});
