import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FILE_WORDS } from "../../src/shared/foreign-files.ts";
import { parseConfig } from "../../src/wireguard/config.ts";
import { Home } from "../http/home.ts";
import { ARCHIVES, CONFIG, listedOften, zipOf } from "./archives.ts";
import { run } from "./program.ts";

setDefaultTimeout(240_000);

let home: Home;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-cli-"));
});
beforeEach(async () => {
  home = await Home.withRealClock();
});
afterEach(() => home.stop());
afterAll(() => rmSync(folder, { recursive: true }));

/** The names of the imported servers, each of which is what CONFIG says. */
function importedNames(): string[] {
  const imported = home.parts.catalogue.servers("imported");
  for (const { config } of imported) expect(config).toEqual(parseConfig(CONFIG).config);
  return imported.map(({ name }) => name);
}

function file(name: string, content: string | Uint8Array = CONFIG): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

test("thirty files are imported under their names, although the gateway accepts ten requests a second", async () => {
  const names = Array.from({ length: 30 }, (_, at) => `se-${at}`);
  const { code, stdout } = await run(home.port, ["import", ...names.map((name) => file(`${name}.conf`))]);
  expect(stdout).toBe(`${names.map((name) => `ok    ${name}\n`).join("")}30 imported, 0 failed\n`);
  expect(code).toBe(0);
  expect(importedNames().toSorted()).toEqual(names.toSorted());
  expect(home.lines.some((line) => line === "POST /api/import 429")).toBe(true);
});

test("failures are named, the rest is imported, and the exit code is 1", async () => {
  const broken = file("broken.conf", new Uint8Array([0xff, 0xfe]));
  const missing = join(folder, "missing.conf");
  const good = file("good.conf", CONFIG.replace("\n", "\nTable = off\n"));
  const { code, stdout } = await run(home.port, ["import", broken, missing, good]);
  expect(code).toBe(1);
  expect(stdout.split("\n")).toEqual([
    `FAIL  ${broken}: is not UTF-8 text`,
    expect.stringContaining(`FAIL  ${missing}: no such file or directory`),
    "ok    good",
    "      line 2: Table: has no effect; the gateway sets this itself",
    "1 imported, 2 failed",
    "",
  ]);
});

test("--json reports the same per file", async () => {
  const paths = [file("a.conf"), file("b.conf", new Uint8Array([0xff]))];
  const { code, stdout } = await run(home.port, ["import", ...paths, "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    success: false,
    files: [
      { file: paths[0], name: "a", success: true },
      { file: paths[1], name: "b", success: false, error: "is not UTF-8 text" },
    ],
  });
});

test("--name names one file, and is a usage error with several", async () => {
  const path = file("wg0.conf");
  expect((await run(home.port, ["import", "--name", "my wörk", path])).code).toBe(0);
  expect(importedNames()).toEqual(["my wörk"]);
  expect((await run(home.port, ["import", "--name", "x", path, path])).code).toBe(2);
});

test("without a gateway the import ends with exit code 3", async () => {
  const { code, stdout } = await run(1, ["import", file("a.conf")]);
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
});

test("of an archive, only the .conf files are imported", async () => {
  const paths = [file("all.zip", ARCHIVES.deflated), file("one.ZIP", ARCHIVES.stored)];
  const { code, stdout } = await run(home.port, ["import", ...paths]);
  expect(stdout).toBe("ok    se-1\nok    nø-2\nok    se-3\n3 imported, 0 failed\n");
  expect(code).toBe(0);
  expect(importedNames().toSorted()).toEqual(["nø-2", "se-1", "se-3"]);
  const empty = file("empty.zip", ARCHIVES.withoutConfigs);
  expect((await run(home.port, ["import", empty])).stdout).toContain("the archive holds no .conf file");
});

test("what PowerShell writes is imported, and what is no configuration is named for what it is", async () => {
  const wide = file("wide.conf", Buffer.from(`\uFEFF${CONFIG}`, "utf16le"));
  const openvpn = file("oslo.ovpn", "client\ndev tun\nremote 203.0.113.11 1194\n");
  const empty = file("empty.conf", "");
  const { code, stdout } = await run(home.port, ["import", wide, openvpn, empty]);
  expect({ code, lines: stdout.split("\n") }).toEqual({
    code: 1,
    lines: [
      "ok    wide",
      `FAIL  ${openvpn}: ${FILE_WORDS.openvpn}`,
      `FAIL  ${empty}: ${FILE_WORDS.empty}`,
      ...["1 imported, 2 failed", ""],
    ],
  });
  expect(importedNames()).toEqual(["wide"]);
});

test("what is wrong with an archive is said", async () => {
  const altered = (field: number, value: number) => {
    const zip = ARCHIVES.stored.slice();
    new DataView(zip.buffer).setUint16(Buffer.from(zip).indexOf("PK\x01\x02") + field, value, true);
    return zip;
  };
  const refusals: [Uint8Array, string][] = [
    [ARCHIVES.deflated.subarray(0, 300), "the archive is damaged"],
    [ARCHIVES.large, '"large.conf" is larger than 65536 bytes'],
    [altered(8, 1), '"se-3.conf" is encrypted; unpack the archive first'],
    [altered(10, 14), "the archive uses an unsupported compression; unpack it first"],
  ];
  for (const [zip, why] of refusals) {
    const path = file("bad.zip", zip);
    const { code, stdout } = await run(home.port, ["import", path]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: `FAIL  ${path}: ${why}\n0 imported, 1 failed\n` });
  }
});

test("an archive is never unpacked beyond the limits on all bytes and on files, however small each file is", async () => {
  const big = file("big.zip", listedOften(zipOf("big.conf", " ".repeat(65_536)), 257));
  expect((await run(home.port, ["import", big])).stdout).toBe(
    `FAIL  ${big}: the archive holds more than 16777216 bytes of configurations\n0 imported, 1 failed\n`,
  );
  const many = file("many.zip", listedOften(ARCHIVES.stored, 4_097));
  const { code, stdout } = await run(home.port, ["import", many]);
  expect(stdout).toBe(
    `FAIL  ${many}: the archive holds more than 4096 configurations\n0 imported, 1 failed\n`,
  );
  expect([code, importedNames()]).toEqual([1, []]);
});

test("of gluetun's settings the commands are shown, without a key and without a change", async () => {
  const path = file(
    "docker-compose.yml",
    "services:\n  gluetun:\n    environment:\n      - VPN_SERVICE_PROVIDER=mullvad\n      - WIREGUARD_PRIVATE_KEY=secret\n      - SERVER_CITIES=Gothenburg\n",
  );
  const { code, stdout } = await run(home.port, ["import", path]);
  expect(code).toBe(1);
  expect(stdout.split("\n")).toEqual([
    `FAIL  ${path}: is a file of gluetun: nothing was changed; these commands do what it asks for`,
    "      sudo portcullis account login --provider mullvad",
    "      portcullis connect Gothenburg",
    "      no command here for WIREGUARD_PRIVATE_KEY",
    "0 imported, 1 failed",
    "",
  ]);
  expect(importedNames()).toEqual([]);
});

test("a client of wg-easy that cannot come in is named with the reason, and no file of it is written", async () => {
  const client = (name: string, enabled: boolean) => ({
    ...{ name, enabled, address: "10.8.0.2" },
    privateKey: "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
    publicKey: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=",
  });
  const path = file(
    "wg0.json",
    JSON.stringify({ clients: { a: client("phone", true), b: client("old", false) } }),
  );
  const { code, stdout } = await run(home.port, ["import", path]);
  expect(code).toBe(1);
  expect(stdout).toContain(`FAIL  ${path}: phone: remote access is off`);
  expect(stdout).toContain(
    `FAIL  ${path}: old: is disabled there, or has no private key\n0 imported, 2 failed\n`,
  );
  expect(existsSync("phone.conf")).toBe(false);
});
