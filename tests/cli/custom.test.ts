import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "../http/wire.ts";
import { atTerminal, run } from "./program.ts";

setDefaultTimeout(60_000);

let wire: ReturnType<typeof start>;
let folder: string;
beforeAll(() => {
  wire = start({ clock: { now: () => Date.now(), monotonic: () => performance.now() } });
  folder = mkdtempSync(join(tmpdir(), "portcullis-cli-"));
});
beforeEach(() => {
  wire.gateway.custom.clear();
  wire.gateway.imported.clear();
  wire.gateway.current = "managed";
});
afterAll(async () => {
  await wire.stop();
  rmSync(folder, { recursive: true });
});

const PRIVATE = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
const PRESHARED = "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE=";
const REQUIRED = ["--endpoint", "192.0.2.7:51820", "--public-key", "pub", "--address", "10.64.0.2/32"];
const BODY = {
  endpoint: "192.0.2.7:51820",
  public_key: "pub",
  address: "10.64.0.2/32",
  private_key: PRIVATE,
};

test("add sends each field of the interface; keys come from files", async () => {
  writeFileSync(join(folder, "key"), `${PRIVATE}\n`);
  writeFileSync(join(folder, "psk"), `${PRESHARED}\r\n`);
  const optional = [
    ...["--dns", "10.64.0.1", "--allowed-ips", "0.0.0.0/0", "--location", "Oslo, Norway"],
    ...["--persistent-keepalive", "25", "--mtu", "1380"],
    ...["--private-key-file", join(folder, "key"), "--preshared-key-file", join(folder, "psk")],
  ];
  expect(await run(wire.port, ["add", "home", ...REQUIRED, ...optional])).toEqual({
    code: 0,
    stdout: "Added home to the custom servers.\n",
    stderr: "",
  });
  expect(wire.gateway.custom.get("home")).toEqual({
    name: "home",
    ...BODY,
    dns: "10.64.0.1",
    allowed_ips: "0.0.0.0/0",
    location: "Oslo, Norway",
    persistent_keepalive: 25,
    mtu: 1380,
    preshared_key: PRESHARED,
  });
});

test("without files the keys are lines of standard input", async () => {
  const stdin = `${PRIVATE}\n${PRESHARED}\n`;
  const args = ["add", "home", ...REQUIRED, "--preshared-key-file", "-"];
  expect((await run(wire.port, args, { stdin })).code).toBe(0);
  expect(wire.gateway.custom.get("home")).toEqual({ name: "home", ...BODY, preshared_key: PRESHARED });
});

test("at a terminal the private key is asked for and not shown", async () => {
  const terminal = atTerminal(wire.port, ["add", "home", ...REQUIRED]);
  await terminal.shows("Private key: ");
  // A slip and the key that takes it back.
  terminal.type(`${PRIVATE}x\x7f\r`);
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toBe("Private key: \r\nAdded home to the custom servers.\r\n");
  expect(wire.gateway.custom.get("home")).toEqual({ name: "home", ...BODY });
});

test("a missing or empty key, or a number that is none, is wrong usage and nothing is sent", async () => {
  for (const more of [[], ["--private-key-file", join(folder, "none")], ["--mtu", "1e3"]]) {
    const { code, stderr } = await run(wire.port, ["add", "home", ...REQUIRED, ...more]);
    expect({ more, code, lines: stderr.trim().split("\n").length }).toEqual({ more, code: 2, lines: 1 });
  }
  expect(wire.gateway.custom.size).toBe(0);
});

test("remove takes the current provider's server, and --provider another's", async () => {
  const { custom, imported } = wire.gateway;
  const given = () => {
    for (const name of ["a", "b"]) {
      custom.set(name, { name, ...BODY });
      imported.set(name, { name, config: "" });
    }
  };
  const left = () => ({ custom: [...custom.keys()], imported: [...imported.keys()] });
  given();
  wire.gateway.current = "imported";
  expect((await run(wire.port, ["remove", "a"])).stdout).toBe("Removed a.\n");
  expect(left()).toEqual({ custom: ["a", "b"], imported: ["b"] });
  expect((await run(wire.port, ["remove", "b", "--provider", "custom"])).stdout).toBe("Removed b.\n");
  expect(left()).toEqual({ custom: ["a"], imported: ["b"] });
  wire.gateway.current = "custom";
  expect((await run(wire.port, ["remove", "b", "--provider", "imported", "--json"])).stdout).toBe(
    '{"success":true}\n',
  );
  expect((await run(wire.port, ["remove", "a"])).code).toBe(0);
  expect(left()).toEqual({ custom: [], imported: [] });
});

test("remove takes nothing from the managed provider", async () => {
  wire.gateway.custom.set("home", { name: "home", ...BODY });
  expect(await run(wire.port, ["remove", "home"])).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "portcullis: the current provider is managed, whose servers come from its list; pass --provider custom or --provider imported\n",
  });
  const { code, stderr } = await run(wire.port, ["remove", "home", "--provider", "managed"]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("Allowed choices are custom, imported."),
  });
  expect(wire.gateway.custom.size).toBe(1);
});

test("remove takes names that need encoding, and says what the gateway says of one that is not there", async () => {
  const name = "my wörk?#%2e";
  wire.gateway.current = "custom";
  wire.gateway.custom.set(name, { name, ...BODY });
  expect((await run(wire.port, ["remove", name])).stdout).toBe(`Removed ${name}.\n`);
  expect(wire.gateway.custom.size).toBe(0);
  expect(await run(wire.port, ["remove", name])).toEqual({
    code: 1,
    stdout: "",
    stderr: `portcullis: no server ${JSON.stringify(name)} in custom\n`,
  });
});
