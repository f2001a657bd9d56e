import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { LAN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { ArpFlood } from "../rig/tools/arp-flood.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { processorMs } from "../rig/tools/processor-time.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what the leaks show in passing");

setDefaultTimeout(120_000);

const FLOOD_MS = 8_000;

let lab: Lab;
let gateway: Gateway;
beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway();
});
afterAll(() => lab.close());

test("a device that asks by ARP from ever new MAC addresses takes little of the processor, and the firewall is repaired meanwhile", async () => {
  const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);
  const hasTable = async () => (await inside("nft", "list", "table", "inet", "portcullis")).code === 0;
  // The programs that report events are listening by then.
  await until(async () => (await gateway.api("GET", "/api/devices")).body.devices.length >= 0);
  await Bun.sleep(3_000);
  const start = performance.now();
  const before = processorMs(gateway.pid);
  const flood = ArpFlood.start(lab.namespaces.client, "lan0", LAN.gateway4);
  let repairs = 0;
  while (performance.now() - start < FLOOD_MS) {
    await inside("nft", "delete", "table", "inet", "portcullis");
    await until(hasTable);
    repairs++;
    // One a second is repaired at once.
    await Bun.sleep(1_500);
  }
  const used = processorMs(gateway.pid) - before;
  const lasted = performance.now() - start;
  // Positive control: it is a flood, and the gateway has heard it.
  expect(await flood.stop()).toBeGreaterThan(20_000);
  const { devices } = (await gateway.api("GET", "/api/devices")).body;
  expect(devices.length).toBeGreaterThan(50);
  expect(repairs).toBeGreaterThan(1);
  expect(used).toBeLessThan(lasted / 3);
});
