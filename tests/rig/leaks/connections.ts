import assert from "node:assert/strict";
import { VPN } from "../../../src/sandbox/topology.ts";
import { generateKeyPair } from "../../../src/wireguard/key.ts";
import type { Scenario, Stage } from "./stage.ts";

/** An address on the internet that no host has. */
export const DEAD = "203.0.113.99";
const SWITCHES = 30;

/** Requests over the interface, which succeed or fail. */
export const CONNECTIONS: readonly Scenario[] = [
  {
    name: "connect",
    cards: [2, 1],
    from: "blocked",
    run: async (stage) => {
      await succeeds(stage.connect());
      await stage.observe();
      await stage.sees(VPN.vpn1.v4);
    },
  },
  {
    name: "switch to another server",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      await succeeds(stage.connect("box-vpn-2"));
      await stage.observe();
      await stage.sees(VPN.vpn2.v4);
    },
  },
  {
    name: `${SWITCHES} switches in a row`,
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      for (let count = 1; count <= SWITCHES; count += 1) {
        await succeeds(stage.connect(count % 2 === 0 ? "box-vpn-1" : "box-vpn-2"));
      }
      await stage.sees(VPN.vpn1.v4);
    },
  },
  {
    name: "disconnect",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      await succeeds(stage.disconnect());
      await stage.observe();
      await stage.sees(null);
    },
  },
  {
    name: "disconnect during a connect",
    cards: [2, 1],
    from: "blocked",
    allowed: isHandshakeWithDead,
    run: async (stage) => {
      await add(stage, "silent", { endpoint: `${DEAD}:51820` });
      const connecting = stage.connect("silent");
      await stage.observe();
      await succeeds(stage.disconnect());
      assert.equal((await connecting).body.success, false);
      await stage.observe();
      await stage.sees(null);
    },
  },
  {
    name: "a failed connect to a dead endpoint",
    // It takes 10 s; with one card the connect that is interrupted shows the same packets.
    cards: [2],
    from: "blocked",
    allowed: isHandshakeWithDead,
    run: async (stage) => {
      await add(stage, "dead", { endpoint: `${DEAD}:51820` });
      assert.match((await stage.connect("dead")).body.error, /handshake/);
      await stage.sees(null);
    },
  },
  {
    name: "a failed switch to a server with another key",
    // It takes 10 s, as long as the dead endpoint takes the other lab.
    cards: [1],
    from: "connected",
    run: async (stage) => {
      await add(stage, "wrong key", { public_key: generateKeyPair().publicKey });
      assert.match((await stage.connect("wrong key")).body.error, /handshake/);
      await stage.sees(VPN.vpn1.v4);
    },
  },
  {
    name: "a failed connect to a name that does not resolve: only its lookup leaves",
    cards: [2, 1],
    from: "blocked",
    allowed: isLookup,
    run: async (stage) => {
      await add(stage, "nameless", { endpoint: "nowhere.test:51820" });
      assert.match((await stage.connect("nameless")).body.error, /resolve|lookup|name/);
      await stage.observe();
      await stage.sees(null);
    },
  },
];

/** Several servers of a place are probed for their round trip before one of them is dialled. */
export const CHOOSING: readonly Scenario[] = (["blocked", "connected"] as const).map((from) => ({
  name: `connect to a country of several servers while ${from}`,
  cards: [2, 1],
  from,
  allowed: isHandshakeWithDead,
  run: async (stage) => {
    const country = `Land of the ${from}`;
    await settle(stage, country);
    await succeeds(stage.connect(country));
    await stage.observe();
    const { server, location } = await stage.status();
    assert.equal(location, country);
    await stage.sees(
      server === `${country} 1` ? stage.lab.sandbox.servers[0].ipv4 : stage.lab.sandbox.servers[1].ipv4,
    );
  },
}));

export async function succeeds(answer: ReturnType<Stage["connect"]>): Promise<void> {
  const { status, body } = await answer;
  assert.equal(status, 200, body.error);
}

/** Adds a custom server like the sandbox's first, except for what `differs`. */
async function add(stage: Stage, name: string, differs: Record<string, string>): Promise<void> {
  const body = { ...stage.lab.sandbox.servers[0].customBody, ...differs, name };
  await succeeds(stage.request("/api/custom/add", body));
  await succeeds(stage.request("/api/provider/custom"));
}

export function isHandshakeWithDead(leak: string): boolean {
  return /^192\.168\.(88\.2|77\.1) > 203\.0\.113\.99 UDP \d+ > 51820, 148 bytes$/.test(leak);
}

/** Two questions, for A and AAAA, from the ports that the service keeps for this, to the system's resolver. */
function isLookup(leak: string): boolean {
  return /^192\.168\.(88\.2 > 192\.168\.88\.1|77\.1 > 192\.168\.77\.254) UDP 2\d{4} > 53, 30 bytes$/.test(
    leak,
  );
}

/** The sandbox's two servers, and one that never answers. */
async function settle(stage: Stage, location: string): Promise<void> {
  const [one, two] = stage.lab.sandbox.servers.map(({ customBody }) => customBody);
  const bodies = [one, two, { ...one, endpoint: `${DEAD}:51820` }];
  for (const [index, body] of bodies.entries()) {
    const name = `${location} ${index + 1}`;
    await succeeds(stage.request("/api/custom/add", { ...body, name, location }));
  }
  await succeeds(stage.request("/api/provider/custom"));
}
