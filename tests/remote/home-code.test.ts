import { expect, test } from "bun:test";
import { formatCode, type HomeCode, parseCode } from "../../src/remote/home-code.ts";
import { HOMES, type Home, linkedIn } from "../../src/remote/home-record.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";
import { cidrs } from "../fake/address.ts";

const CODE: HomeCode = {
  ...{ id: "0123456789abcdef", isAnswer: false, key: generateKeyPair().publicKey, name: "Küche" },
  endpoint: { host: "home.example.org", port: 51_820 },
  prefixes: cidrs("192.168.66.0/24", "fd66::/64"),
  exit: { addresses: ["10.200.7.2/32", "fd00::2/128"], dns: ["10.200.7.1"], mtu: 1_420 },
  exitKey: null,
};
const HOME: Home = {
  ...{ name: "parents", id: CODE.id, offered: true, public_key: CODE.key, endpoint: CODE.endpoint },
  ...{ prefixes: CODE.prefixes, exit: { id: "10.200.7.2/32", public_key: null }, devices: [] },
};
const coded = (change: object) => formatCode({ ...CODE, ...change } as HomeCode);

test("a code is one word, and is read as it was written", () => {
  expect(formatCode(CODE)).toMatch(/^home1_[\w-]+$/);
  expect(parseCode(`  ${formatCode(CODE)}\n`)).toEqual(CODE);
  expect(parseCode(coded({ endpoint: null }))).toEqual({ ...CODE, endpoint: null });
});

test("a code that is not whole, or claims what is not a home's, is refused", () => {
  for (const text of [
    "",
    formatCode(CODE).slice(0, -2),
    formatCode(CODE).replace("home1_", "home2_"),
    "home1_gA",
    coded({ key: "x" }),
    coded({ exitKey: "x" }),
    coded({ exit: { ...CODE.exit, addresses: ["8.8.8.8/32"] } }),
    coded({ exit: { ...CODE.exit, mtu: 1 } }),
    coded({ more: 1 }),
    coded({ id: "1" }),
    coded({ endpoint: { host: "a b", port: 1 } }),
    coded({ endpoint: { host: "home.example.org", port: 0 } }),
    ...[
      "0.0.0.0/0",
      "::/0",
      "8.8.8.0/24",
      "192.168.66.1/24",
      "169.254.0.0/16",
      "fe80::/64",
      "2001:db8::/64",
      "x",
    ].map((prefix) => coded({ prefixes: [prefix] })),
    coded({ prefixes: Array.from({ length: 17 }, (_, at) => `10.0.${at}.0/24`) }),
  ])
    expect(() => parseCode(text)).toThrow("code: is not whole");
});

test("a link is kept as it was written; one that is not whole is left out, and no two have one gateway", () => {
  const text = HOMES.format([HOME]);
  expect(HOMES.parse(text)).toEqual([HOME]);
  expect(HOMES.isValid(text)).toBe(true);
  const odd = [
    { ...HOME, name: "a/b" },
    { ...HOME, name: "other" },
    { ...HOME, name: "key", public_key: "x" },
    { ...HOME, name: "net", public_key: generateKeyPair().publicKey, prefixes: ["0.0.0.0/0"] },
    { ...HOME, name: "host", public_key: generateKeyPair().publicKey, endpoint: { host: "a b", port: 1 } },
  ];
  expect(HOMES.parse(JSON.stringify([HOME, ...odd]))).toEqual([HOME]);
  // As a former build has kept it: without the address there is no exit.
  const former = { ...HOME, exit: { id: null, public_key: HOME.public_key } };
  expect(HOMES.parse(JSON.stringify([former]))).toEqual([{ ...HOME, exit: null }]);
});

test("a restore brings no second home with addresses of the first, which would reach what that may", () => {
  const given = { ...HOME, name: "former", id: "ffffffffffffffff", public_key: generateKeyPair().publicKey };
  const within = {
    ...HOME,
    name: "part",
    public_key: generateKeyPair().publicKey,
    prefixes: ["192.168.66.128/25"],
  };
  const text = HOMES.merge(JSON.stringify([HOME, within]), JSON.stringify([given]));
  expect(HOMES.parse(text)).toEqual([given]);
  expect(HOMES.isValid(text)).toBe(true);
});

test("a code that claims most of the private addresses is refused with what to change, and is not kept", () => {
  for (const [prefix, least] of [
    ["10.0.0.0/8", 16],
    ["172.16.0.0/12", 16],
    ["fd00::/8", 48],
  ] as const) {
    const refusal = `code: ${prefix} of the other home is too large for a home: give its LAN a network of /${least} or`;
    expect(() => parseCode(coded({ prefixes: [prefix] }))).toThrow(refusal);
    expect(HOMES.parse(JSON.stringify([{ ...HOME, prefixes: [prefix] }]))).toEqual([]);
  }
  expect(parseCode(coded({ prefixes: ["10.7.0.0/16"] })).prefixes).toEqual(cidrs("10.7.0.0/16"));
});

test("the name that another gateway calls itself reads as it is written", () => {
  for (const name of ["a\u202eb", "a/b", "a\nb", ""])
    expect(() => parseCode(coded({ name }))).toThrow("code: is not whole");
  expect(parseCode(coded({ name: "", isAnswer: true })).name).toBe("");
});

test("a home that has not answered is no peer", () => {
  const waiting = { ...HOME, public_key: null, prefixes: [] };
  expect(linkedIn([waiting, HOME]).map(({ public_key }) => public_key)).toEqual([CODE.key]);
  expect(HOMES.changes(null, HOMES.format([waiting]))).toMatchObject([
    { what: "link to another home", name: "parents", after: "has not answered" },
  ]);
  expect(HOMES.changes(null, HOMES.format([HOME]))).toMatchObject([
    { after: "192.168.66.0/24, fd66::/64; at home.example.org:51820; reaches nothing" },
  ]);
});
