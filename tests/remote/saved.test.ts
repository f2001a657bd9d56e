import { expect, test } from "bun:test";
import { REMOTE_ACCESS, REMOTE_KEY } from "../../src/remote/backed-up.ts";
import { partOf, REMOTE_DECISION, REMOTE_PEERS } from "../../src/remote/saved.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";
import { cidr, ips } from "../fake/address.ts";

const ACCESS = {
  ...{ on: true, port: 51_820, endpoint: { host: "home.example.org", port: 443 }, through: null },
  ...{ ipv4: cidr("10.200.7.0/24"), ipv6: cidr("fd12:3456:789a:1::/64") },
};
const key = () => generateKeyPair().publicKey;
const PEER = { id: cidr("10.200.7.2/32"), public_key: key(), preshared_key: key(), lan: false };

test("what was decided is read as it was written, and nothing else is", () => {
  const text = REMOTE_DECISION.format(ACCESS);
  expect(REMOTE_DECISION.parse(text)).toEqual(ACCESS);
  for (const other of [
    { ...ACCESS, port: 0 },
    { ...ACCESS, ipv4: "192.0.2.0/24" },
    { ...ACCESS, ipv4: "10.0.0.0/8" },
    { ...ACCESS, ipv6: "2001:db8::/64" },
    { ...ACCESS, through: "direct" },
    { ...ACCESS, endpoint: { host: "a b", port: 1 } },
    { ...ACCESS, more: 1 },
  ])
    expect(REMOTE_DECISION.parse(JSON.stringify(other))).toBeNull();
  expect(REMOTE_DECISION.parse("{")).toBeNull();
});

test("a device with another's key or id, or with a damaged one, is left out", () => {
  const odd = [
    { ...PEER, id: "10.200.7.3/32" },
    { ...PEER, public_key: key() },
    { ...PEER, id: "10.200.7.4/32", public_key: "x" },
    { ...PEER, id: "192.168.1.2/32", public_key: key() },
  ];
  expect(REMOTE_PEERS.parse(JSON.stringify([PEER, ...odd]))).toEqual([PEER]);
  expect(REMOTE_PEERS.isValid(REMOTE_PEERS.format([PEER]))).toBe(true);
  expect(REMOTE_PEERS.isValid(JSON.stringify([PEER, PEER]))).toBe(false);
});

test("the kill switch gets each device with its addresses, and nothing while it is off", () => {
  expect(partOf("wgr", ACCESS, [PEER])).toEqual({
    ...{ interface: "wgr", port: 51_820, through: null },
    addresses: ips("10.200.7.1", "fd12:3456:789a:1::1"),
    networks: [ACCESS.ipv4, ACCESS.ipv6],
    devices: [{ id: PEER.id, lan: false, addresses: ips("10.200.7.2", "fd12:3456:789a:1::2") }],
  });
  expect(partOf("wgr", { ...ACCESS, on: false }, [PEER])).toBeNull();
  expect(partOf("wgr", null, [PEER])).toBeNull();
});

test("a restore says what it changes, and no key", () => {
  const then = REMOTE_DECISION.format(ACCESS);
  expect(REMOTE_ACCESS.changes(null, then)).toEqual([
    {
      ...{ what: "remote access", name: "", before: null, replaces: false },
      after: "on, port 51820 by the uplink, called home.example.org:443, in 10.200.7.0/24",
    },
  ]);
  const [one, other] = [generateKeyPair().privateKey, generateKeyPair().privateKey];
  expect(REMOTE_KEY.changes(one, one)).toEqual([]);
  const told = JSON.stringify([REMOTE_KEY.changes(one, other), REMOTE_KEY.changes(null, other)]);
  expect(told).not.toContain(other);
  expect(REMOTE_KEY.changes(one, other)).toMatchObject([{ replaces: true }]);
  expect(REMOTE_PEERS.changes(null, REMOTE_PEERS.format([PEER]))).toMatchObject([
    { what: "remote device", name: "10.200.7.2/32", after: expect.stringContaining("without the LAN") },
  ]);
});
