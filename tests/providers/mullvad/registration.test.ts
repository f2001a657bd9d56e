import { describe, expect, test } from "bun:test";
import { accountOf, type ManagedSettings } from "../../../src/providers/account.ts";
import {
  type Registration,
  registrationFrom,
  storedRegistration,
} from "../../../src/providers/mullvad/registration.ts";
import { PRESHARED, PRIVATE } from "../../servers/example.ts";
import { NUMBER } from "./provider.ts";

const DEVICE: Registration = {
  number: NUMBER,
  id: "6a1f1e1c-0000-4000-8000-000000000000",
  name: "happy otter",
  privateKey: PRIVATE,
  addresses: ["10.64.0.9/32", "fc00::9/128"],
  created: "2026-01-02T03:04:05.000Z",
};

test("a device is read back as it was written, with a new key or without", () => {
  for (const device of [DEVICE, { ...DEVICE, newKey: PRESHARED }])
    expect(registrationFrom(JSON.stringify(device))).toEqual(device);
});

test("none and a damaged one are told apart", () => {
  expect(storedRegistration({ read: () => null })).toBeNull();
  expect(storedRegistration({ read: () => "{}" })).toBe("damaged");
});

describe("what the kernel's tools or a terminal could stumble over is no device", () => {
  test.each([
    ["no JSON", "{"],
    ["null", "null"],
    ["a number with blanks", { ...DEVICE, number: "1234 5678 9012 3456" }],
    ["a short number", { ...DEVICE, number: "123" }],
    ["an id with a slash", { ...DEVICE, id: "a/b" }],
    ["a name with an escape", { ...DEVICE, name: "\u001b[2J" }],
    ["a key of zeros", { ...DEVICE, privateKey: `${"A".repeat(43)}=` }],
    ["a new key of zeros", { ...DEVICE, newKey: `${"A".repeat(43)}=` }],
    ["a short key", { ...DEVICE, privateKey: "abc=" }],
    ["no address", { ...DEVICE, addresses: [] }],
    ["an address that is none", { ...DEVICE, addresses: ["10.64.0.999/32"] }],
    ["an address in another form", { ...DEVICE, addresses: ["FC00::9/128"] }],
    ["a date with an escape", { ...DEVICE, created: "\u001b" }],
    ["an unknown field", { ...DEVICE, more: 1 }],
  ])("%s", (_, value) => {
    expect(registrationFrom(typeof value === "string" ? value : JSON.stringify(value))).toBeNull();
  });
});

describe("the account of managed servers", () => {
  const UNSET: ManagedSettings = {
    managedList: null,
    managedKeyFile: null,
    managedAddress: "",
    managedDns: "",
  };
  const host = { read: async () => PRESHARED };

  test("is the stored device, with the provider's resolver", async () => {
    expect(await accountOf(host, UNSET, DEVICE)).toEqual({
      interface: {
        privateKey: PRIVATE,
        addresses: ["10.64.0.9/32", "fc00::9/128"],
        dns: ["10.64.0.1"],
        searchDomains: [],
      },
    });
  });

  test("has the operator's resolver where there is one", async () => {
    const account = await accountOf(host, { ...UNSET, managedDns: "192.0.2.53" }, DEVICE);
    expect(account).toMatchObject({ interface: { privateKey: PRIVATE, dns: ["192.0.2.53"] } });
  });

  test("is what the settings give, where they give one", async () => {
    const given = { ...UNSET, managedKeyFile: "/key", managedAddress: "192.0.2.7/32" };
    expect(await accountOf(host, given, DEVICE)).toEqual({
      interface: { privateKey: PRESHARED, addresses: ["192.0.2.7/32"], dns: [], searchDomains: [] },
    });
  });

  test("is told missing where it is damaged", async () => {
    expect(await accountOf(host, UNSET, "damaged")).toEqual({
      missing: "the one that is stored cannot be read; type: sudo portcullis account login",
    });
  });
});
