import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { customServer } from "../../src/servers/custom.ts";
import type { CustomServer, Provider } from "../../src/servers/schema.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";
import { Home } from "../http/home.ts";
import { CONFIG, PRESHARED, PRIVATE, PUBLIC } from "../servers/example.ts";
import { atTerminal, run } from "./program.ts";

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

const REQUIRED = ["--endpoint", "192.0.2.7:51820", "--public-key", PUBLIC, "--address", "10.64.0.2/32"];
const BODY = {
  endpoint: "192.0.2.7:51820",
  public_key: PUBLIC,
  address: "10.64.0.2/32",
  private_key: PRIVATE,
};
/** What becomes of it. */
const stored = (name: string, change: Partial<CustomServer> = {}) =>
  customServer({ name, ...BODY, ...change });
const namesOf = (provider: Provider) => home.parts.catalogue.servers(provider).map((server) => server.name);

test("add sends each field of the interface; keys come from files", async () => {
  writeFileSync(join(folder, "key"), `${PRIVATE}\n`);
  writeFileSync(join(folder, "psk"), `${PRESHARED}\r\n`);
  const optional = [
    ...["--dns", "10.64.0.1", "--allowed-ips", "0.0.0.0/0", "--location", "Oslo, Norway"],
    ...["--persistent-keepalive", "25", "--mtu", "1380"],
    ...["--private-key-file", join(folder, "key"), "--preshared-key-file", join(folder, "psk")],
  ];
  expect(await run(home.port, ["add", "home", ...REQUIRED, ...optional])).toEqual({
    code: 0,
    stdout: "Added home to your own servers.\n",
    stderr: "",
  });
  const fields = {
    dns: "10.64.0.1",
    allowed_ips: "0.0.0.0/0",
    location: "Oslo, Norway",
    persistent_keepalive: 25,
    mtu: 1380,
    preshared_key: PRESHARED,
  };
  expect(home.parts.catalogue.servers("custom")).toEqual([stored("home", fields)]);
});

test("add sends settings of AmneziaWG, and what they must be is the gateway's to say", async () => {
  const given = (...settings: string[]) =>
    run(home.port, ["add", "home", ...REQUIRED, ...settings.flatMap((each) => ["--amnezia", each])], {
      stdin: `${PRIVATE}\n`,
    });
  expect((await given("s1=0x5")).stderr).toContain("s1 must be a whole number from 0 to 1279");
  for (const wrong of ["mtu=5", "jc", "=4"])
    expect((await given(wrong)).stderr).toContain("--amnezia: must be one of jc, jmin, jmax, s1,");
  expect(home.parts.catalogue.servers("custom")).toEqual([]);
  expect((await given("Jc=4", "jmin=40", "jmax=70", "h1=77", "H2=5-10", "i1=<b 0x3d><r 16>")).code).toBe(0);
  const settings = { jc: 4, jmin: 40, jmax: 70, h1: 77, h2: "5-10", i1: "<b 0x3d><r 16>" };
  expect(home.parts.catalogue.servers("custom")).toEqual([stored("home", settings)]);
});

test("without files the keys are lines of standard input", async () => {
  const stdin = `${PRIVATE}\n${PRESHARED}\n`;
  const args = ["add", "home", ...REQUIRED, "--preshared-key-file", "-"];
  expect((await run(home.port, args, { stdin })).code).toBe(0);
  expect(home.parts.catalogue.servers("custom")).toEqual([stored("home", { preshared_key: PRESHARED })]);
});

test("at a terminal the private key is asked for and not shown", async () => {
  const terminal = atTerminal(home.port, ["add", "home", ...REQUIRED]);
  await terminal.shows("Private key: ");
  // A typing error and a backspace.
  terminal.type(`${PRIVATE}x\x7f\r`);
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toBe("Private key: \r\nAdded home to your own servers.\r\n");
  expect(home.parts.catalogue.servers("custom")).toEqual([stored("home")]);
});

test("a missing or empty key or an invalid number is a usage error, and nothing is sent", async () => {
  for (const more of [[], ["--private-key-file", join(folder, "none")], ["--mtu", "1e3"]]) {
    const { code, stderr } = await run(home.port, ["add", "home", ...REQUIRED, ...more]);
    expect({ more, code, lines: stderr.trim().split("\n").length }).toEqual({ more, code: 2, lines: 1 });
  }
  expect(namesOf("custom")).toEqual([]);
});

test("remove takes the current provider's server, and --provider another's", async () => {
  const { catalogue } = home.parts;
  for (const name of ["a", "b"]) {
    catalogue.addCustom({ name, ...BODY });
    catalogue.importConfig({ name, config: formatConfig(CONFIG) });
  }
  const left = () => ({ custom: namesOf("custom"), imported: namesOf("imported") });
  catalogue.use("imported");
  expect((await run(home.port, ["remove", "a"])).stdout).toBe("Removed a.\n");
  expect(left()).toEqual({ custom: ["a", "b"], imported: ["b"] });
  expect((await run(home.port, ["remove", "b", "--provider", "own"])).stdout).toBe("Removed b.\n");
  expect(left()).toEqual({ custom: ["a"], imported: ["b"] });
  catalogue.use("custom");
  expect((await run(home.port, ["remove", "b", "--provider", "imported", "--json"])).stdout).toBe(
    '{"success":true}\n',
  );
  expect((await run(home.port, ["remove", "a"])).code).toBe(0);
  expect(left()).toEqual({ custom: [], imported: [] });
});

test("remove takes nothing from the VPN account", async () => {
  home.parts.catalogue.addCustom({ name: "home", ...BODY });
  expect(await run(home.port, ["remove", "home"])).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "portcullis: the servers in use are those of the VPN account, which come from its list; pass --provider own or --provider imported\n",
  });
  const { code, stderr } = await run(home.port, ["remove", "home", "--provider", "managed"]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("Allowed choices are own, imported."),
  });
  expect(namesOf("custom")).toEqual(["home"]);
});

test("remove encodes names, and prints the gateway's answer about an unknown one", async () => {
  const name = "my wörk?#%2e";
  home.parts.catalogue.use("custom");
  home.parts.catalogue.addCustom({ name, ...BODY });
  expect((await run(home.port, ["remove", name])).stdout).toBe(`Removed ${name}.\n`);
  expect(namesOf("custom")).toEqual([]);
  expect(await run(home.port, ["remove", name])).toEqual({
    code: 1,
    stdout: "",
    stderr: `portcullis: name: there is no server of this name among your own servers\n`,
  });
});
