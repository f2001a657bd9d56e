import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { ArpFlood } from "../../lab/arp-flood.ts";
import { createLab, type Gateway, type Lab } from "../../lab/lab.ts";
import { until } from "../../lab/until.ts";
import { LAN } from "../../src/sandbox/topology.ts";

const TEST_MS = 120_000;
const FLOOD_MS = 8_000;
/** Of `/proc/<pid>/stat`, on every Linux (proc_pid_stat(5)). */
const MS_PER_TICK = 10;

let lab: Lab;
let gateway: Gateway;
beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway();
}, TEST_MS);
afterAll(() => lab.close(), TEST_MS);

/** The processor time of the service, without that of the programs that it starts. */
function processorMs(): number {
  const stat = readFileSync(`/proc/${gateway.pid}/stat`, "utf8");
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (user + system) * MS_PER_TICK;
}

test(
  "a device that asks by ARP from ever new MAC addresses takes little of the processor, and the firewall is repaired meanwhile",
  async () => {
    const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);
    const hasTable = async () => (await inside("nft", "list", "table", "inet", "portcullis")).code === 0;
    // The programs that report events are listening by then.
    await until(async () => (await gateway.api("GET", "/api/devices")).body.devices.length >= 0);
    await Bun.sleep(3_000);
    const start = performance.now();
    const before = processorMs();
    const flood = ArpFlood.start(lab.namespaces.client, "lan0", LAN.gateway4);
    let repairs = 0;
    while (performance.now() - start < FLOOD_MS) {
      await inside("nft", "delete", "table", "inet", "portcullis");
      await until(hasTable);
      repairs++;
      // One a second is repaired at once.
      await Bun.sleep(1_500);
    }
    const used = processorMs() - before;
    const lasted = performance.now() - start;
    // Positive control: it is a flood, and the gateway has heard it.
    expect(await flood.stop()).toBeGreaterThan(20_000);
    const { devices } = (await gateway.api("GET", "/api/devices")).body;
    expect(devices.length).toBeGreaterThan(50);
    expect(repairs).toBeGreaterThan(1);
    expect(used).toBeLessThan(lasted / 3);
  },
  TEST_MS,
);
