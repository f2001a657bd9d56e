import assert from "node:assert/strict";
import { DEAD, isHandshakeWithDead, succeeds } from "./connections.ts";
import type { Scenario, Stage } from "./stage.ts";

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
