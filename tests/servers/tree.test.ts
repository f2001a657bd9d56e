import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Compile } from "typebox/compile";
import { ServerTree } from "../../src/servers/schema.ts";
import { listed, placeOf, treeOf } from "../../src/servers/tree.ts";
import { CONFIG, SERVER } from "./example.ts";

const at = (country: string, city: string, name: string) => ({
  name,
  label: "Managed",
  country,
  city,
  ipv4: "192.0.2.1",
});

test("countries, cities and records are sorted", () => {
  const tree = treeOf([
    at("Sweden", "Stockholm", "se-2"),
    at("Norway", "Oslo", "no-1"),
    at("Sweden", "Malmö", "se-9"),
    at("Sweden", "Stockholm", "se-10"),
  ]);
  const record = (hostname: string) => ({
    hostname,
    ipv4: "192.0.2.1",
    type: "WireGuard",
    provider: "Managed",
  });
  expect(JSON.stringify(tree)).toBe(
    JSON.stringify({
      Norway: { Oslo: [record("no-1")] },
      Sweden: { Malmö: [record("se-9")], Stockholm: [record("se-10"), record("se-2")] },
    }),
  );
});

test("without servers the tree is empty", () => {
  expect(JSON.stringify(treeOf([]))).toBe("{}");
});

test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
  "a place called %s is a place",
  (name) => {
    const tree = treeOf([at(name, name, name)]);
    expect(JSON.parse(JSON.stringify(tree))[name]?.[name]).toEqual([
      { hostname: name, ipv4: "192.0.2.1", type: "WireGuard", provider: "Managed" },
    ]);
    expect(JSON.stringify(tree)).toStartWith(`{"${name}":{"${name}":[{`);
    expect(Compile(ServerTree).Check(tree)).toBeTrue();
    expect(Object.hasOwn(Object.prototype, "Managed")).toBeFalse();
  },
);

test("a record has four fields and no key", () => {
  expect(treeOf([listed(SERVER)])).toEqual({
    Unknown: { Unknown: [{ hostname: "home", ipv4: "192.0.2.1", type: "WireGuard", provider: "Custom" }] },
  } as never);
});

test.each([
  ["vpn.example", ""],
  ["2001:db8::1", ""],
  ["192.0.2.7", "192.0.2.7"],
])("the endpoint %s shows as the IPv4 address %j", (host, ipv4) => {
  const config = { ...CONFIG, peer: { ...CONFIG.peer, endpoint: { host, port: 1 } } };
  expect(listed({ ...SERVER, config }).ipv4).toBe(ipv4);
});

describe("a location", () => {
  test.each([
    ["Stockholm, Sweden", "Sweden", "Stockholm"],
    ["Washington, D.C., USA", "USA", "Washington, D.C."],
    ["Sweden", "Sweden", "Unknown"],
    ["", "Unknown", "Unknown"],
    [" , ", "Unknown", "Unknown"],
    ["Stockholm,", "Unknown", "Stockholm"],
    [",Sweden", "Sweden", "Unknown"],
  ])("%j is the country %s and the city %s", (location, country, city) => {
    expect(placeOf(location)).toEqual({ country, city });
  });

  test("always gives both a country and a city", () => {
    fc.assert(
      fc.property(fc.string(), (location) => {
        const { country, city } = placeOf(location);
        expect([country.length > 0, city.length > 0, country.includes(",")]).toEqual([true, true, false]);
      }),
    );
  });
});
