import { describe, expect, test } from "bun:test";
import { type MullvadRegistration, registrationFrom } from "../../../src/providers/mullvad/registration.ts";
import { cidrs } from "../../fake/address.ts";
import { PRESHARED, PRIVATE } from "../../servers/example.ts";
import { NUMBER } from "./provider.ts";

const REGISTRATION: MullvadRegistration = {
  number: NUMBER,
  id: "6a1f1e1c-0000-4000-8000-000000000000",
  name: "happy otter",
  privateKey: PRIVATE,
  addresses: cidrs("10.64.0.9/32", "fc00::9/128"),
  created: "2026-01-02T03:04:05.000Z",
};

test("a registration is read back as it was written, with a new key or without", () => {
  for (const registration of [REGISTRATION, { ...REGISTRATION, newKey: PRESHARED }])
    expect(registrationFrom(JSON.stringify(registration))).toEqual(registration);
});

describe("values that are unsafe for the kernel's tools or a terminal are not a registration", () => {
  test.each([
    ["no JSON", "{"],
    ["null", "null"],
    ["a number with blanks", { ...REGISTRATION, number: "1234 5678 9012 3456" }],
    ["a short number", { ...REGISTRATION, number: "123" }],
    ["an id with a slash", { ...REGISTRATION, id: "a/b" }],
    ["a name with an escape", { ...REGISTRATION, name: "\u001b[2J" }],
    ["a key of zeros", { ...REGISTRATION, privateKey: `${"A".repeat(43)}=` }],
    ["a new key of zeros", { ...REGISTRATION, newKey: `${"A".repeat(43)}=` }],
    ["a short key", { ...REGISTRATION, privateKey: "abc=" }],
    ["no address", { ...REGISTRATION, addresses: [] }],
    ["an address that is none", { ...REGISTRATION, addresses: ["10.64.0.999/32"] }],
    ["an address in another form", { ...REGISTRATION, addresses: ["FC00::9/128"] }],
    ["a date with an escape", { ...REGISTRATION, created: "\u001b" }],
    ["an unknown field", { ...REGISTRATION, more: 1 }],
  ])("%s", (_, value) => {
    expect(registrationFrom(typeof value === "string" ? value : JSON.stringify(value))).toBeNull();
  });
});
