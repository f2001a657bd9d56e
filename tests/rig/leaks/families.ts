import assert from "node:assert/strict";
import { INTERNET, TUNNEL, VPN } from "../../../src/sandbox/topology.ts";
import type { CustomServer } from "../../../src/servers/schema.ts";
import type { Scenario, Stage } from "./stage.ts";

const URLS = { 4: `http://${INTERNET.host4}/`, 6: `http://[${INTERNET.host6}]/` } as const;
const SEEN_AS = { 4: VPN.vpn1.v4, 6: VPN.vpn1.v6 } as const;

/** A tunnel of one family carries that one; the other is refused, and does not pass outside the tunnel. */
export const FAMILY_SCENARIOS: readonly Scenario[] = [
  {
    name: "a tunnel with an IPv4 address alone",
    cards: [2, 1],
    from: "blocked",
    run: (stage) => oneFamily(stage, 4, { name: "IPv4 alone", address: customAddress(stage, 4) }),
  },
  {
    name: "a tunnel with an IPv6 address alone",
    cards: [2, 1],
    from: "blocked",
    run: (stage) =>
      oneFamily(stage, 6, { name: "IPv6 alone", address: customAddress(stage, 6), dns: TUNNEL.server6 }),
  },
  {
    name: "a tunnel with both addresses that is allowed IPv4 alone",
    cards: [2, 1],
    from: "blocked",
    run: (stage) => oneFamily(stage, 4, { name: "IPv4 allowed alone", allowed_ips: "0.0.0.0/0" }),
  },
];

async function oneFamily(stage: Stage, carried: 4 | 6, server: Partial<CustomServer> & { name: string }) {
  const [{ customBody }] = stage.lab.sandbox.servers;
  // It may be there from an earlier play.
  await stage.request("/api/custom/add", { ...customBody, ...server });
  await stage.request("/api/provider/custom");
  assert.deepEqual((await stage.connect(server.name)).body, { success: true });
  await stage.observe();
  const refused = carried === 4 ? 6 : 4;
  const { client, gateway } = stage.lab.namespaces;
  for (const namespace of [client, gateway]) {
    assert(await stage.lab.isRefused(namespace, URLS[refused]), `IPv${refused} is not refused`);
    assert.match(
      (await stage.lab.fetchFrom(namespace, URLS[carried])) ?? "nothing",
      new RegExp(SEEN_AS[carried]),
    );
  }
  // The stage takes a tunnel that carries one family alone for a broken one.
  await stage.disconnect();
}

function customAddress(stage: Stage, family: 4 | 6): string {
  const addresses = stage.lab.sandbox.servers[0].customBody.address.split(",");
  return addresses.find((address) => address.includes(":") === (family === 6)) ?? "";
}
