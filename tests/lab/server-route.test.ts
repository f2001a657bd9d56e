import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

setDefaultTimeout(120_000);

/** While the uplink seems to be down, the first pause takes 30 s. */
const DIALLED_WITHIN_MS = 20_000;

let lab: Lab;
let service: Gateway;
beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  const { gateway } = lab.namespaces;
  for (const [family, { v4, v6 }] of [
    ["-4", ROUTER.lan[2]],
    ["-6", ROUTER.lan[2]],
  ] as const) {
    await lab.exec(gateway, ["ip", family, "route", "del", "default"]);
    const [server, via] = family === "-4" ? [VPN.vpn1.v4, v4] : [VPN.vpn1.v6, v6];
    const { stderr } = await lab.exec(gateway, [
      "ip",
      family,
      "route",
      "add",
      server,
      "via",
      via,
      "dev",
      "wan0",
    ]);
    expect(stderr).toBe("");
  }
  service = await lab.startGateway();
});
afterAll(() => lab.close());

test("without a default route, with a route to the server alone, a dead tunnel is dialled again at once", async () => {
  expect((await service.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  const network = (await service.api("GET", "/api/network")).body;
  expect([network.uplink, network.online]).toEqual(["wan0", true]);
  const since = async () => (await service.api("GET", "/api/status")).body;
  const before = await since();
  expect(before.state).toBe("connected");
  await lab.exec(lab.namespaces.gateway, ["ip", "link", "del", "dev", `${lab.sandbox.interface}0`]);
  await until(async () => (await since()).state === "reconnecting", 5_000);
  await until(async () => (await since()).state === "connected", DIALLED_WITHIN_MS);
});
