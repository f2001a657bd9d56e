import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { INTERNET, ROUTER } from "../../src/sandbox/topology.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

setDefaultTimeout(120_000);

let lab: Lab;
let service: Gateway;
beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  service = await lab.startGateway();
  expect((await service.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
});
afterAll(() => lab.close());

/** What the home router sees in clear while the gateway sends to the internet, with routing alone. */
async function leaksWithoutFirewall(): Promise<readonly string[]> {
  const { gateway } = lab.namespaces;
  await service.kill("SIGKILL");
  await lab.exec(gateway, ["nft", "flush", "ruleset"]);
  const sniffer = await lab.sniff();
  await lab.exec(gateway, ["ping", "-c", "3", "-i", "0.2", "-W", "1", INTERNET.host4]);
  await sniffer.stop();
  return sniffer.leaks;
}

test("another program's routes in tunnels' tables and the LAN's, used or not, are removed at once and told; else routing alone leaks", async () => {
  const { gateway } = lab.namespaces;
  const way = ["via", ROUTER.lan[2].v4, "dev", lab.sandbox.uplink];
  const add = async (...route: string[]) =>
    expect((await lab.exec(gateway, ["ip", "route", "add", ...route])).stderr).toBe("");
  const inTables = async () =>
    (await lab.exec(gateway, ["ip", "route", "show", "table", "all"])).stdout
      .split("\n")
      .filter((line) => /table 205(5[6-9]|6[0-5])/.test(line) && line.includes(lab.sandbox.uplink));
  await add("203.0.113.0/25", ...way, "table", "20556");
  await add("default", ...way, "table", "20561");
  await add("192.168.77.128/25", ...way, "table", "20565");
  await until(async () => (await inTables()).length === 0, 10_000);
  await until(async () => {
    const { body } = await service.api("GET", "/api/events");
    return JSON.stringify(body).includes(
      "Another program has put a route into a routing table of the gateway",
    );
  }, 10_000);
  expect(await lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/`)).not.toBeNull();
  expect(await leaksWithoutFirewall()).toEqual([]);
  // Positive control: without the service such a route stays.
  await add("203.0.113.0/25", ...way, "table", "20556");
  expect((await leaksWithoutFirewall()).length).toBeGreaterThan(0);
});
