import assert from "node:assert/strict";
import { ROUTER, VPN } from "../../../src/sandbox/topology.ts";
import { type FreshScenario, forgetRedirects } from "./fresh.ts";

/**
 * TCP and UDP flows, from client and gateway, that began while the gateway was a plain router: the kernel knows
 * them, and would go on with them as they were.
 */
export const FLOWS_BEFORE_THE_SERVICE: FreshScenario = {
  name: "flows that began before the service and before the tunnel",
  cards: [2, 1],
  run: async (fresh) => {
    await fresh.startTraffic();
    await fresh.control(() => fresh.observe());
    assert.match((await fresh.browse()) ?? "nothing", new RegExp(ROUTER.public4));
    const gateway = await fresh.lab.startGateway();
    await forgetRedirects(fresh.lab);
    await fresh.guarded(() => fresh.observe());
    await fresh.guarded(async () => {
      assert.equal((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status, 200);
      await fresh.observe();
      assert.match((await fresh.browse()) ?? "nothing", new RegExp(VPN.vpn1.v4));
      await gateway.api("POST", "/api/disconnect");
      await fresh.observe();
    });
  },
};
