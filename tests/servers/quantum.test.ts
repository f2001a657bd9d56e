import { expect, test } from "bun:test";
import { readList } from "../../src/servers/lists/list.ts";
import { keyedAs, keyedAsBefore, keyedLike, quantumIn } from "../../src/servers/quantum.ts";
import type { Server } from "../../src/servers/schema.ts";
import { reachedLike } from "../../src/servers/transport.ts";
import { ONE, placeOf, TWO } from "../tunnel/gateway.ts";
import { PUBLIC } from "./example.ts";
import { fixture } from "./lists/fixture.ts";

const OFFERS: Server = { ...ONE, ephemeralPeers: true };
const REFUSAL = "agrees on no keys that are safe from quantum computers; only Mullvad's servers do";

test("a server of the lists of Mullvad agrees on such keys, and of others only one whose list says so", async () => {
  const offering = async (name: string) =>
    new Set(readList(await fixture(name)).servers.map(({ ephemeralPeers }) => ephemeralPeers));
  expect(await offering("mullvad")).toEqual(new Set([true as const]));
  expect(await offering("mullvad-app")).toEqual(new Set([true as const]));
  expect(await offering("gluetun-ivpn")).toEqual(new Set([undefined]));
  const { servers } = readList(await fixture("gluetun"));
  const labels = new Set(servers.filter(({ ephemeralPeers }) => ephemeralPeers).map(({ label }) => label));
  expect(labels).toEqual(new Set(["Mullvad"]));
  const entry = { country: "Sweden", city: "Malmö", port: 51_820, public_key: PUBLIC };
  const own = ["yes", true, false].map((ephemeral_peers, index) => ({
    ...{ ...entry, hostname: `se-${index}`, ipv4: `192.0.2.${index + 1}`, ephemeral_peers },
  }));
  const read = readList(JSON.stringify({ servers: own })).servers;
  expect(read.map(({ ephemeralPeers }) => ephemeralPeers)).toEqual([undefined, true, undefined]);
});

test("what is asked for is refused where it is not offered, and a place has only servers that offer it", () => {
  expect(quantumIn(keyedAs(OFFERS, "on"))).toBe("on");
  expect(keyedAs(ONE, "off")).toEqual(ONE);
  expect(() => keyedAs(ONE, "on")).toThrow(`quantum: one ${REFUSAL}`);
  const place = keyedAs(placeOf([OFFERS, TWO]), "require");
  expect([place.servers.map(({ name }) => name), quantumIn(place)]).toEqual([["one"], "require"]);
  expect(() => keyedAs(placeOf([TWO]), "on")).toThrow(REFUSAL);
  const hops = { name: "Sweden", provider: "custom" as const, exit: placeOf([OFFERS, TWO]), entry: TWO };
  expect(quantumIn(keyedAs(hops, "require"))).toBe("require");
  expect(() => keyedAs({ ...hops, exit: TWO }, "require")).toThrow(REFUSAL);
});

test("what held before is kept: `on` where it is offered, and `require` without exception", () => {
  expect(quantumIn(keyedAsBefore(OFFERS, "on"))).toBe("on");
  expect(keyedAsBefore(ONE, "on")).toEqual(ONE);
  expect(() => keyedAsBefore(ONE, "require")).toThrow(REFUSAL);
  expect(keyedAsBefore(ONE)).toEqual(ONE);
});

test("a server that takes another one's place has what was asked for that one, whatever its list says", () => {
  expect(keyedLike(TWO, { quantum: "require" }).quantum).toBe("require");
  expect(reachedLike(TWO, { quantum: "require" })?.quantum).toBe("require");
  expect(
    reachedLike({ ...TWO, via: { name: "a", country: "b", city: "c" } }, { quantum: "on" })?.quantum,
  ).toBe("on");
  expect(reachedLike(TWO, {})).toEqual(TWO);
});
