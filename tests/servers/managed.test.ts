import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Settings, settingsFrom } from "../../src/base/settings.ts";
import { ownEndOf } from "../../src/providers/own-end.ts";
import { Registrations } from "../../src/providers/registrations.ts";
import { ManagedList } from "../../src/servers/managed.ts";
import { treeOf } from "../../src/servers/tree.ts";
import { cidrs, ip, ips } from "../fake/address.ts";
import { PRIVATE, PUBLIC } from "./example.ts";

const SE1 = {
  hostname: "se-1",
  country: "Sweden",
  city: "Stockholm",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  port: 51820,
  public_key: PUBLIC,
  provider: "Mullvad",
};
const { provider: _, ipv6: __, ...NO1 } = { ...SE1, hostname: "no-1", country: "Norway", city: "Oslo" };

const SETTINGS = settingsFrom({
  managedList: "/list.json",
  managedKeyFile: "/key",
  managedAddress: "10.64.0.2/32, fd00::2/128",
  managedDns: "10.64.0.1",
});
const FILES: Record<string, string> = {
  "/list.json": JSON.stringify({ servers: [SE1, NO1] }),
  "/key": `${PRIVATE}\n`,
};

/** A store without an account. */
const EMPTY = {
  ...{ read: () => null, write: () => {}, forget: () => {}, atomically: () => {} },
  flushed: async () => {},
};
const NOTHING_KEPT = { list: () => null };

async function read(changes: Partial<Settings> = {}, files: Record<string, string> = {}) {
  const all = { ...FILES, ...files };
  const host = { read: async (path: string) => all[path] ?? null };
  const settings = { ...SETTINGS, ...changes };
  const managed = new ManagedList(
    await ownEndOf(host, settings, new Registrations(EMPTY, settings).current()),
  );
  await managed.load(host, settings.managedList, NOTHING_KEPT);
  return managed;
}

test("servers that register the gateway have placeholders, and fit an own end that they assign only", async () => {
  const regions = [
    { name: "DE Berlin", country: "DE", servers: { wg: [{ ip: "192.0.2.24", cn: "berlin424" }] } },
  ];
  const files = { "/pia.json": JSON.stringify({ groups: {}, regions }) };
  const managed = await read({ managedList: "/pia.json" }, files);
  const other = /^server: it is on another provider's list than that of your account; to use your account: /;
  expect([managed.listed().length, managed.usable(), managed.servers()]).toEqual([1, 0, []]);
  expect(() => managed.find("berlin424")).toThrow(other);
  managed.useOwnEnd({ assigned: { dns: ips("192.0.2.53") } });
  expect([managed.usable(), managed.servers()]).toEqual([1, [managed.find("berlin424")]] as never);
  expect(managed.find("berlin424")).toMatchObject({
    label: "PIA",
    registers: true,
    config: {
      interface: { privateKey: "", addresses: [], dns: ips("192.0.2.53") },
      peer: { publicKey: "", endpoint: { host: "192.0.2.24", port: 1337 } },
    },
  });
  const classic = await read();
  classic.useOwnEnd({ assigned: { dns: [] } });
  expect([classic.usable(), classic.servers(), classic.server("se-1")]).toEqual([0, [], null]);
  expect(() => classic.find("se-1")).toThrow(other);
});

test("with a list and an account there are servers that can be connected to", async () => {
  const managed = await read();
  expect(managed.alert).toBeNull();
  expect(managed.servers().map((server) => server.name)).toEqual(["se-1", "no-1"]);
  expect(managed.find("se-1")).toEqual({
    name: "se-1",
    provider: "managed",
    label: "Mullvad",
    country: "Sweden",
    city: "Stockholm",
    location: "Stockholm, Sweden",
    config: {
      interface: {
        privateKey: PRIVATE,
        addresses: cidrs("10.64.0.2/32", "fd00::2/128"),
        dns: ips("10.64.0.1"),
        searchDomains: [],
      },
      peer: {
        publicKey: PUBLIC,
        endpoint: { host: "192.0.2.1", port: 51820 },
        allowedIps: cidrs("0.0.0.0/0", "::/0"),
      },
    },
  });
  expect(managed.find("xx-1")).toBeNull();
});

test("the tree needs no account, and a record without a label is Managed", async () => {
  const managed = await read({ managedKeyFile: null });
  expect(JSON.parse(JSON.stringify(treeOf(managed.listed())))).toEqual({
    Norway: { Oslo: [{ hostname: "no-1", ipv4: "192.0.2.1", type: "WireGuard", provider: "Managed" }] },
    Sweden: { Stockholm: [{ hostname: "se-1", ipv4: "192.0.2.1", type: "WireGuard", provider: "Mullvad" }] },
  });
});

describe("without a usable account, connecting says what is missing", () => {
  test.each([
    [
      "no key file",
      { managedKeyFile: null },
      "the account in the settings is incomplete: set --managed-key-file too",
    ],
    [
      "nothing at all",
      { managedKeyFile: null, managedAddress: " " },
      "type: sudo portcullis account login, or set --managed-key-file and --managed-address",
    ],
    [
      "no address",
      { managedAddress: "" },
      "the account in the settings is incomplete: set --managed-address too",
    ],
    [
      "a file that is not there",
      { managedKeyFile: "/no" },
      "the key file /no (--managed-key-file) cannot be read",
    ],
    [
      "a file without a key",
      { managedKeyFile: "/list.json" },
      "the account is unusable: --managed-key-file: must be a WireGuard key: 44 characters of base64, and not all zero",
    ],
    [
      "a bad resolver",
      { managedDns: "10.0.0" },
      "the account is unusable: --managed-dns: must be IP addresses and search domains, separated by commas",
    ],
  ])("%s", async (_, settings, what) => {
    const managed = await read(settings);
    expect(() => managed.find("se-1")).toThrow(`server: this server needs a VPN account; ${what}`);
    expect(managed.find("xx-1")).toBeNull();
    expect(managed.servers()).toEqual([]);
    expect(managed.listed()).toHaveLength(2);
  });
});

describe("lists", () => {
  test("a stored list is read when it is first needed, and once", async () => {
    let reads = 0;
    const content = JSON.stringify({ servers: [SE1, NO1] });
    const store = {
      list: () => {
        reads += 1;
        return { etag: "", fetched: 0, content };
      },
    };
    const managed = new ManagedList({ missing: "there is none" });
    await managed.load({ read: async () => null }, "https://lists.example/list", store);
    expect(reads).toBe(0);
    expect([managed.alert, managed.listed().length, managed.server("se-1")]).toEqual([null, 2, null]);
    expect(reads).toBe(1);
  });

  test("without a list the provider is empty, and there is no alert", async () => {
    const managed = await read({ managedList: null });
    expect([managed.listed(), managed.alert]).toEqual([[], null]);
  });

  test.each([
    ["missing", "/no.json", ""],
    ["not JSON", "/x", "{"],
    ["an array", "/x", "[]"],
    ["without servers", "/x", '{"servers":{}}'],
    ["nothing", "/x", "null"],
  ])("a list that is %s leaves the provider empty, and an alert says so", async (_, managedList, text) => {
    const managed = await read({ managedList }, { "/x": text });
    expect(managed.listed()).toEqual([]);
    expect(managed.alert).toBe(
      `The VPN account has no servers: its list ${managedList} is missing or cannot be read.`,
    );
  });

  test.each([
    [
      "of which nothing is usable",
      '{"servers":[{}]}',
      "(Portcullis's own list) has no usable WireGuard server",
    ],
    ["of unreasonable size", "[".repeat(2_000_001), "contains more than 2000000 values"],
  ])("a list %s leaves the provider empty, and the alert says why", async (_, text, why) => {
    const managed = await read({}, { "/list.json": text });
    expect(managed.listed()).toEqual([]);
    expect(managed.alert).toBe(
      `The VPN account has no servers: its list /list.json cannot be used: the server list ${why}.`,
    );
  });

  test("a file that cannot be read is one of them", async () => {
    const host = { read: () => Promise.reject(new Error("EACCES")) };
    const managed = new ManagedList({ missing: "there is none" });
    await managed.load(host, "/list.json", NOTHING_KEPT);
    expect(managed.listed()).toEqual([]);
    expect(managed.alert).toContain("/list.json");
  });

  test.each([
    ["no object", null],
    ["no key", { ...SE1, public_key: undefined }],
    ["a bad key", { ...SE1, public_key: "x" }],
    ["a bad address", { ...SE1, ipv4: "192.0.2.256" }],
    ["a bad IPv6 address", { ...SE1, ipv6: "fe80::1%eth0" }],
    ["a bad port", { ...SE1, port: 65536 }],
    ["a bad name", { ...SE1, hostname: "a/b" }],
    ["no country", { ...SE1, country: "" }],
    ["the name of another", NO1],
  ])("an entry with %s is left out and counted", async (_, entry) => {
    const managed = await read({}, { "/list.json": JSON.stringify({ servers: [NO1, entry] }) });
    expect(managed.listed().map((server) => server.name)).toEqual(["no-1"]);
    expect(managed.alert).toBe(
      "1 of the VPN account's servers could not be read from the list and is left out.",
    );
  });
});

describe("a list in a provider's own format", () => {
  const files = {
    "/list.json": readFileSync(join(import.meta.dir, "lists/fixtures/mullvad-app.json"), "utf8"),
  };
  const dnsOf = (managed: ManagedList) => managed.find("se-got-wg-001")?.config.interface.dns;

  test("gives servers that can be connected to", async () => {
    const managed = await read({}, files);
    expect(managed.alert).toBe(
      "1 of the VPN account's servers could not be read from the list and is left out.",
    );
    expect(managed.find("se-mma-wg-001")).toMatchObject({
      label: "Mullvad",
      location: "Malmö, Sweden",
      config: { peer: { endpoint: { host: "192.0.2.21", port: 51820 } } },
    });
  });

  test("gives the tunnel's resolver unless the operator names one", async () => {
    expect(dnsOf(await read({ managedDns: "" }, files))).toEqual([ip("10.64.0.1")]);
    expect(dnsOf(await read({ managedDns: "10.0.0.53" }, files))).toEqual([ip("10.0.0.53")]);
    expect((await read({ managedDns: "" })).find("se-1")?.config.interface.dns).toEqual([]);
  });
});
