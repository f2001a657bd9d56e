import { expect, test } from "bun:test";
import { settingsFrom } from "../../src/base/settings.ts";
import { ownEndOf } from "../../src/providers/own-end.ts";
import { cidrs, ips } from "../fake/address.ts";
import { PRESHARED, PRIVATE } from "../servers/example.ts";
import { second } from "./second.ts";

const UNSET = settingsFrom({});
const host = { read: async () => PRESHARED };
const REGISTERED = {
  provider: second,
  registration: {
    name: "home",
    privateKey: PRIVATE,
    addresses: cidrs("10.64.0.9/32", "fc00::9/128"),
    dns: ips("10.64.0.1"),
  },
};

test("this side of the tunnel is the registration's, with the provider's resolver", async () => {
  expect(await ownEndOf(host, UNSET, REGISTERED)).toEqual({
    interface: {
      privateKey: PRIVATE,
      addresses: cidrs("10.64.0.9/32", "fc00::9/128"),
      dns: ips("10.64.0.1"),
      searchDomains: [],
    },
  });
});

test("the operator's resolver overrides the provider's", async () => {
  const ownEnd = await ownEndOf(host, { ...UNSET, managedDns: "192.0.2.53" }, REGISTERED);
  expect(ownEnd).toMatchObject({ interface: { privateKey: PRIVATE, dns: ["192.0.2.53"] } });
});

test("the key of an own list is the one in the settings", async () => {
  const given = { ...UNSET, managedKeyFile: "/key", managedAddress: "192.0.2.7/32" };
  expect(await ownEndOf(host, given, { provider: null })).toEqual({
    interface: { privateKey: PRESHARED, addresses: cidrs("192.0.2.7/32"), dns: [], searchDomains: [] },
  });
});

test("without a key in the registration, each server assigns everything but the operator's resolvers", async () => {
  const current = { provider: second, registration: { ...REGISTERED.registration, privateKey: null } };
  expect(await ownEndOf(host, UNSET, current)).toEqual({ assigned: { dns: [] } });
  const given = { ...UNSET, managedDns: "192.0.2.53, example.test" };
  expect(await ownEndOf(host, given, current)).toEqual({ assigned: { dns: ips("192.0.2.53") } });
  expect(await ownEndOf(host, { ...UNSET, managedDns: "a b" }, current)).toEqual({
    missing:
      "the account is unusable: --managed-dns: must be IP addresses and search domains, separated by commas",
  });
});

test("a damaged registration is not used, and the message says what to type", async () => {
  expect(await ownEndOf(host, UNSET, { provider: second, registration: "damaged" })).toEqual({
    missing: "the stored registration cannot be read; type: sudo portcullis account login --provider second",
  });
});
