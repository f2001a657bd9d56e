import { expect, test } from "bun:test";
import { settingsFrom } from "../../src/base/settings.ts";
import { type Inside, measureInside, mtuFinding } from "../../src/checks/inside.ts";
import { hostNetworkOf } from "../../src/network/host-network.ts";
import { slotOf } from "../../src/network/slot.ts";
import { sessionFor } from "../../src/tunnel/session.ts";
import { ip } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { CONFIG, SERVER } from "../servers/example.ts";

/** Measures a tunnel with these resolvers; `longest` is the longest packet that reaches 10.64.0.1, if any does. */
async function measured(dns: readonly string[], longest?: number): Promise<Inside & { probes: string[] }> {
  const host = new FakeHost();
  host.links.get("lan0")?.addresses.push("192.168.7.1/24");
  if (longest !== undefined) host.resolvers.set("10.64.0.1", longest);
  const probes: string[] = [];
  host.onEvent = (event) => event.startsWith("probe") && probes.push(event);
  const config = { ...CONFIG, interface: { ...CONFIG.interface, dns: dns.map(ip) } };
  const endpoint = { address: ip("192.0.2.1"), port: 51820 };
  const session = sessionFor(slotOf(0, "wg"), { ...SERVER, config }, endpoint, null);
  const network = await hostNetworkOf(host, settingsFrom({ interface: "wg" }));
  return { ...(await measureInside(host, session, network, 1420)), probes };
}

test("a tunnel that carries its longest packets needs one measurement", async () => {
  const inside = await measured(["10.64.0.1"], 1420);
  expect(inside).toEqual({
    resolver: ip("10.64.0.1"),
    mtu: 1420,
    answered: [0, 1000, 1420],
    probes: ["probe 10.64.0.1 0,1000,1420"],
  });
  expect(mtuFinding(inside)?.found).toBe("packets of 1420 bytes, the longest, pass");
});

test("where the longest packets get lost, the longest that pass are found", async () => {
  const inside = await measured(["10.64.0.1"], 1395);
  expect(inside.probes[1]).toBe("probe 10.64.0.1 1412,1400,1392,1380,1360,1340,1320,1300,1280");
  expect(mtuFinding(inside)).toMatchObject({
    result: "warning",
    found: "packets of 1420 bytes do not pass; the longest that do have 1392: some sites hang",
    advice: "Give the server an MTU of 1392: the MTU line of its file, or --mtu of portcullis add.",
  });
});

test("a resolver that answers no long queries says nothing about the tunnel", async () => {
  const inside = await measured(["10.64.0.1"], 512);
  expect(inside.probes.length).toBe(1);
  expect(mtuFinding(inside)).toMatchObject({
    result: "ok",
    found: "not measured: the resolver answers no long queries",
    advice: null,
  });
});

test("where the resolver is silent, there is nothing to measure with", async () => {
  expect(mtuFinding(await measured(["10.64.0.1"]))).toBeNull();
});

test("a resolver with an address of the LAN is never asked: the query would leave outside the tunnel", async () => {
  expect((await measured(["192.168.7.9", "10.64.0.1"], 1420)).resolver).toBe(ip("10.64.0.1"));
  const none = await measured(["192.168.7.9"], 1420);
  expect(none.probes).toEqual([]);
  expect(mtuFinding(none)).toBeNull();
});
