import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../src/base/errors.ts";
import { configOf, customServer, FIELDS } from "../../src/servers/custom.ts";
import { parseConfig } from "../../src/wireguard/config.ts";
import { cidr, cidrs, ip } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { BODY, CONFIG, PRESHARED, PRIVATE, PUBLIC, SERVER } from "./example.ts";

test("five fields make a server, and all traffic goes through it", () => {
  expect(customServer(BODY)).toEqual(SERVER);
});

test("every field is used", () => {
  const body = {
    ...BODY,
    address: "10.64.0.2, fd00::2/64",
    dns: "10.64.0.1,corp.example",
    allowed_ips: "10.1.2.3/8",
    location: "Gothenburg, Sweden",
    preshared_key: PRESHARED,
    persistent_keepalive: 0,
    mtu: 1280,
  };
  expect(customServer(body)).toEqual({
    ...SERVER,
    location: "Gothenburg, Sweden",
    country: "Sweden",
    city: "Gothenburg",
    config: {
      interface: {
        privateKey: PRIVATE,
        addresses: cidrs("10.64.0.2/32", "fd00::2/64"),
        dns: [ip("10.64.0.1")],
        searchDomains: ["corp.example"],
        mtu: 1280,
      },
      peer: {
        ...CONFIG.peer,
        presharedKey: PRESHARED,
        allowedIps: [cidr("10.0.0.0/8")],
        persistentKeepalive: 0,
      },
    },
  });
});

const KEY = "must be a WireGuard key: 44 characters of base64, and not all zero";

function listOf(count: number): string {
  return Array.from({ length: count }, (_, at) => `10.0.${at >> 8}.${at & 255}`).join(",");
}

test("white space at the ends of a value is ignored", () => {
  const spaced = Object.entries(BODY).map(([field, value]) => [
    field,
    field === "name" ? value : ` \t${value} \t`,
  ]);
  expect(customServer({ ...Object.fromEntries(spaced), allowed_ips: "\t0.0.0.0/0 ,\t::/0 " })).toEqual(
    SERVER,
  );
});

test("lists may be as long as their limit", () => {
  const { interface: own, peer } = configOf({
    ...BODY,
    address: listOf(16),
    dns: listOf(16),
    allowed_ips: listOf(1_024),
  });
  expect([own.addresses.length, own.dns.length, peer.allowedIps.length]).toEqual([16, 16, 1_024]);
});

describe("a value is refused with the name of its field", () => {
  test.each([
    ["name", { name: "a/b" }, "contains a slash"],
    [
      "endpoint",
      { endpoint: "192.0.2.1:65536" },
      "the port must be a number from 1 to 65535, in plain digits",
    ],
    ["endpoint", { endpoint: "" }, "must be host:port, or [address]:port for IPv6"],
    ["public_key", { public_key: "x" }, "must be a WireGuard key: 44 characters of base64, and not all zero"],
    [
      "private_key",
      { private_key: `${PRIVATE}=` },
      "must be a WireGuard key: 44 characters of base64, and not all zero",
    ],
    ["address", { address: "" }, "is empty"],
    ["dns", { dns: "" }, "is empty"],
    ["dns", { dns: "1.1.1.1,," }, "has an empty item"],
    ["allowed_ips", { allowed_ips: "" }, "is empty"],
    [
      "mtu",
      { mtu: 1279, address: "fd00::2" },
      "the MTU must be at least 1280 if an IPv6 address is configured",
    ],
    ["mtu", { mtu: 575 }, "the MTU must be a number from 576 to 65535, in plain digits"],
    [
      "persistent_keepalive",
      { persistent_keepalive: 25.5 },
      "the interval must be a number from 0 to 65535, in plain digits",
    ],
    [
      "endpoint",
      { endpoint: "vpn.example: 51820" },
      "the port must be a number from 1 to 65535, in plain digits",
    ],
    ["endpoint", { endpoint: `${"x".repeat(255)}:51820` }, "is longer than 260 characters"],
    ["address", { address: listOf(17) }, "has more than 16 entries"],
    ["dns", { dns: listOf(17) }, "has more than 16 entries"],
    ["allowed_ips", { allowed_ips: listOf(1_025) }, "has more than 1024 entries"],
    ["public_key", { public_key: `${PUBLIC.slice(0, 20)} ${PUBLIC.slice(20)}` }, KEY],
    ["public_key", { public_key: `${PUBLIC}\n` }, KEY],
    ["location", { location: "a\nb" }, "must be at most 200 characters without control characters"],
    ["location", { location: "x".repeat(201) }, "must be at most 200 characters without control characters"],
  ])("%s: %j", (field, change, what) => {
    expect(() => customServer({ ...BODY, ...change })).toThrow(
      new GatewayError("bad_request", `${field}: ${what}`),
    );
  });
});

slow.test(
  "import and custom/add accept the same values with the same result, and refuse for the same reason",
  () => {
    const keys = {
      address: "Address",
      dns: "DNS",
      endpoint: "Endpoint",
      public_key: "PublicKey",
      preshared_key: "PresharedKey",
      allowed_ips: "AllowedIPs",
    } as const;
    const scrap = fc.oneof(
      fc.constantFrom(
        ",",
        " ",
        "\t",
        ":",
        "/",
        "[",
        "]",
        ".",
        "-",
        "\u00A0",
        "10.0.0.1",
        "fd00::2",
        "/24",
        ":443",
        "vpn.example",
      ),
      fc.constantFrom(PUBLIC, PRESHARED, "0", "::", "256"),
      fc.ipV4(),
      fc.ipV6(),
      fc.string({ maxLength: 3 }),
    );
    const value = fc
      .array(scrap, { minLength: 1, maxLength: 5 })
      .map((scraps) => scraps.join(""))
      .filter((text) => !/[#\r\n\0]/.test(text) && !/^[ \t]*$/.test(text));
    const field = fc.constantFrom(...(Object.keys(keys) as (keyof typeof keys)[]));
    fc.assert(
      fc.property(field, value, (name, text) => {
        const body = { ...BODY, [name]: text };
        const inFile = (key: keyof typeof keys) => `${keys[key]} = ${body[key] ?? ""}\n`;
        const file = [
          `[Interface]\nPrivateKey = ${PRIVATE}\n${inFile("address")}${name === "dns" ? inFile(name) : ""}`,
          `[Peer]\n${inFile("public_key")}${inFile("endpoint")}`,
          name === "allowed_ips" || name === "preshared_key" ? inFile(name) : "",
        ].join("");
        expect(outcome(() => configOf(body))).toEqual(outcome(() => parseConfig(file).config));
      }),
      { numRuns: 1000 },
    );
    expect(Object.values(FIELDS)).toContainValues(Object.keys(keys) as never);
  },
  180_000,
);

function outcome(make: () => unknown): unknown {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.message.replace(/^(line \d+: )?\w+: /, "");
  }
}
