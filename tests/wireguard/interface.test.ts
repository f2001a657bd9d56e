import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../src/base/errors.ts";
import {
  type Peer,
  parseDump,
  parseUapi,
  peersInDump,
  peersInUapi,
  setconfText,
  uapiText,
} from "../../src/wireguard/interface.ts";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import type { Config } from "../../src/wireguard/schema.ts";
import { cidr, cidrs, ip } from "../fake/address.ts";

const PRIVATE = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
const PUBLIC = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";
const PRESHARED = "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE=";
const hex = (key: string) => Uint8Array.fromBase64(key).toHex();

const CONFIG: Config = {
  interface: {
    privateKey: PRIVATE,
    addresses: [cidr("10.64.0.2/32")],
    dns: [ip("10.64.0.1")],
    searchDomains: ["lan"],
    mtu: 1420,
  },
  peer: {
    publicKey: PUBLIC,
    presharedKey: PRESHARED,
    endpoint: { host: "vpn.example", port: 51820 },
    allowedIps: cidrs("0.0.0.0/0", "::/0"),
    persistentKeepalive: 7,
  },
};

const OWN = { privateKey: PRIVATE, fwmark: 51820 };
const PEER: Peer = {
  config: CONFIG.peer,
  endpoint: { address: ip("2001:db8::1"), port: 51820 },
  keepalive: 25,
};
const { presharedKey: _, ...withoutPreshared } = CONFIG.peer;
const OTHER: Peer = {
  config: { ...withoutPreshared, publicKey: publicKeyOf(PRIVATE), allowedIps: [] },
  endpoint: { address: ip("192.0.2.1"), port: 443 },
  keepalive: 0,
};

describe("the text for wg setconf", () => {
  const text = `[Interface]
PrivateKey = ${PRIVATE}
FwMark = 51820

[Peer]
PublicKey = ${PUBLIC}
PresharedKey = ${PRESHARED}
Endpoint = [2001:db8::1]:51820
AllowedIPs = 0.0.0.0/0, ::/0
PersistentKeepalive = 25
`;
  const programs = `set=1
private_key=${hex(PRIVATE)}
fwmark=51820
replace_peers=true
public_key=${hex(PUBLIC)}
preshared_key=${hex(PRESHARED)}
endpoint=[2001:db8::1]:51820
persistent_keepalive_interval=25
allowed_ip=0.0.0.0/0
allowed_ip=::/0
`;

  test("it has WireGuard's part of the configuration, and the resolved endpoint", () => {
    expect(setconfText(OWN, [PEER])).toBe(text);
  });

  test("the text for the userspace interface has the same, with keys in hexadecimal", () => {
    expect(uapiText(OWN, [PEER])).toBe(`${programs}\n`);
  });

  test("several peers follow each other, without lines for missing values", () => {
    expect(setconfText(OWN, [PEER, OTHER])).toBe(`${text}
[Peer]
PublicKey = ${OTHER.config.publicKey}
Endpoint = 192.0.2.1:443
PersistentKeepalive = 0
`);
    expect(uapiText(OWN, [PEER, OTHER])).toBe(`${programs}public_key=${hex(OTHER.config.publicKey)}
endpoint=192.0.2.1:443
persistent_keepalive_interval=0

`);
  });
});

const INTERFACE = {
  publicKey: publicKeyOf(PRIVATE),
  fwmark: 0xca6c,
  peer: {
    publicKey: PUBLIC,
    endpoint: { address: ip("2001:db8::1"), port: 51820 },
    latestHandshake: 1_700_000_000_000,
    rxBytes: 123,
    txBytes: 4_294_967_296,
  },
};
const EMPTY = { publicKey: null, fwmark: 0, peer: null };
const SILENT = { publicKey: PUBLIC, endpoint: null, latestHandshake: 0, rxBytes: 0, txBytes: 0 };

describe("the output of wg show dump", () => {
  const own = `${PRIVATE}\t${publicKeyOf(PRIVATE)}\t51820\t0xca6c\n`;
  const peer = `${PUBLIC}\t${PRESHARED}\t[2001:db8::1]:51820\t0.0.0.0/0,::/0\t1700000000\t123\t4294967296\t25\n`;

  test("an interface with its peer, without the secret keys", () => {
    expect(parseDump(own + peer)).toEqual(INTERFACE);
    expect(JSON.stringify(parseDump(own + peer))).not.toMatch(/yAnz5TF|FpCyhws/);
  });

  test("an interface without a configuration", () => {
    expect(parseDump("(none)\t(none)\t0\toff\n")).toEqual(EMPTY);
  });

  test("a peer that never answered", () => {
    const text = `${own}${PUBLIC}\t(none)\t(none)\t(none)\t0\t0\t0\toff\n`;
    expect(parseDump(text)).toEqual({ ...INTERFACE, peer: SILENT });
  });

  test.each([
    ["nothing", ""],
    ["a peer only", peer],
    ["a peer cut short", own + peer.slice(0, 100)],
    ["a word for a number", own + peer.replace("123", "many")],
    ["a negative number", own + peer.replace("123", "-1")],
    ["two peers", own + peer + peer],
  ])("%s is refused, without a word of it", (_, text) => {
    expect(faultOf(() => parseDump(text))).not.toMatch(/yAnz5TF|FpCyhws/);
  });
});

test("both formats give the same endpoint, whatever the spelling, and none for one with a zone", () => {
  const dump = (endpoint: string) =>
    parseDump(`(none)\t(none)\t0\toff\n${PUBLIC}\t(none)\t${endpoint}\t(none)\t0\t0\t0\toff\n`).peer
      ?.endpoint;
  const go = (endpoint: string) =>
    parseUapi(`public_key=${hex(PUBLIC)}\nendpoint=${endpoint}\nerrno=0\n\n`).peer?.endpoint;
  const at = (address: string) => ({ address: ip(address), port: 1 });
  expect([dump("[::0.1.0.0]:1"), go("[::1:0]:1")]).toEqual([at("::1:0"), at("::1:0")]);
  expect([dump("192.0.2.1:1"), go("192.0.2.1:1")]).toEqual([at("192.0.2.1"), at("192.0.2.1")]);
  expect([dump("[fe80::1%2]:1"), go("[fe80::1%eth0]:1")]).toEqual([null, null]);
});

test("all peers of an interface with several are read", () => {
  const keys = [PUBLIC, publicKeyOf(PRIVATE)];
  const told = keys.map((key) => `${key}\t(none)\t(none)\t(none)\t0\t0\t0\toff\n`).join("");
  expect(peersInDump(`(none)\t(none)\t0\toff\n${told}`).map((peer) => peer.publicKey)).toEqual(keys);
  const exchanged = keys.map((key) => `public_key=${hex(key)}\n`).join("");
  expect(peersInUapi(`${exchanged}errno=0\n\n`).map((peer) => peer.publicKey)).toEqual(keys);
});

describe("the answer of the userspace interface", () => {
  const own = `private_key=${hex(PRIVATE)}\nlisten_port=51820\nfwmark=51820\n`;
  const peer = [
    `public_key=${hex(PUBLIC)}`,
    `preshared_key=${hex(PRESHARED)}`,
    "protocol_version=1",
    "endpoint=[2001:db8::1]:51820",
    "last_handshake_time_sec=1700000000",
    "last_handshake_time_nsec=123999999",
    "tx_bytes=4294967296",
    "rx_bytes=123",
    "persistent_keepalive_interval=25",
    "allowed_ip=0.0.0.0/0",
    "allowed_ip=::/0",
    "",
  ].join("\n");
  const ok = "errno=0\n\n";

  test("an interface with its peer, finer than a millisecond, without the secret keys", () => {
    const parsed = parseUapi(own + peer + ok);
    const latestHandshake = 1_700_000_000_000 + 123.999999;
    expect(parsed).toEqual({ ...INTERFACE, peer: { ...INTERFACE.peer, latestHandshake } });
    expect(JSON.stringify(parsed)).not.toContain(hex(PRIVATE).slice(0, 8));
  });

  test("an interface without a configuration", () => {
    expect(parseUapi("listen_port=0\nerrno=0\n\n")).toEqual(EMPTY);
    expect(parseUapi("errno=0\n")).toEqual(EMPTY);
  });

  test("a peer that never answered", () => {
    const text = `${own}public_key=${hex(PUBLIC)}\nlast_handshake_time_sec=0\nlast_handshake_time_nsec=0\n${ok}`;
    expect(parseUapi(text)).toEqual({ ...INTERFACE, peer: SILENT });
  });

  test.each([
    ["nothing", ""],
    ["an error", "errno=5\n\n"],
    ["an answer cut short", own + peer],
    ["a malformed key", `public_key=abc\n${ok}`],
    ["two peers", own + peer + peer + ok],
    ["a word", `word\n${ok}`],
  ])("%s is refused, without a word of it", (_, text) => {
    expect(faultOf(() => parseUapi(text))).not.toMatch(new RegExp(`${hex(PRIVATE)}|${hex(PRESHARED)}`));
  });
});

test("whatever an interface answers, the result is an Interface or a GatewayError", () => {
  const scrap = fc.constantFrom(
    "\t",
    "\n",
    "=",
    "errno=0",
    "public_key",
    hex(PUBLIC),
    PUBLIC,
    "(none)",
    "off",
    "7",
  );
  fc.assert(
    fc.property(fc.array(scrap), (scraps) => {
      for (const parse of [parseDump, parseUapi]) {
        try {
          expect(parse(scraps.join(""))).toContainAllKeys(["publicKey", "fwmark", "peer"]);
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
        }
      }
    }),
  );
});

function faultOf(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (error instanceof GatewayError && error.code === "unable") return error.message;
  }
  return expect.unreachable();
}
