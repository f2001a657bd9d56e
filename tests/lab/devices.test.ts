import { afterAll, beforeAll, expect, test } from "bun:test";
import { Value } from "typebox/value";
import { type Device, DeviceList } from "../../src/devices/schema.ts";
import { LAN } from "../../src/sandbox/topology.ts";
import { createLab, type Gateway, type Lab } from "./lab.ts";
import { until } from "./until.ts";

/** It takes some 10 ms on an idle machine, and must take less than a second; a busy one may take longer. */
const APPEARS_WITHIN_MS = 5_000;
/** The kernel asks a neighbour six times, a second apart, after it has waited for five. */
const FAILS_WITHIN_MS = 30_000;
const TIMEOUT_MS = 120_000;

let lab: Lab;
let gateway: Gateway;
beforeAll(async () => {
  lab = await createLab({ arms: 2 });
  gateway = await lab.startGateway();
}, TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

const inClient = (...argv: string[]) => lab.exec(lab.namespaces.client, argv);

async function mac(): Promise<string> {
  const { stdout } = await inClient("ip", "-j", "link", "show", "lan0");
  return JSON.parse(stdout)[0].address;
}

async function client(): Promise<Device | undefined> {
  const { body } = await gateway.api("GET", "/api/devices");
  expect(Value.Check(DeviceList, body)).toBe(true);
  const id = await mac();
  return body.devices.find((device: Device) => device.id === id);
}
const isOnline = async () => (await client())?.online === true;

test(
  "a device appears with its first packet, goes offline with its cable, and when it no longer answers",
  async () => {
    // Whatever it has sent so far.
    await inClient("ip", "link", "set", "lan0", "down");
    await until(async () => !(await isOnline()), FAILS_WITHIN_MS);
    await inClient("ip", "link", "set", "lan0", "up");
    await inClient("ip", "link", "set", "lan0", "address", "02:00:00:00:00:20");
    await inClient("ip", "address", "replace", `${LAN.client4}/24`, "dev", "lan0");
    expect(await client()).toBeUndefined();
    const sent = performance.now();
    await inClient("ping", "-c1", "-W1", LAN.gateway4);
    await until(isOnline, TIMEOUT_MS);
    expect(performance.now() - sent).toBeLessThan(APPEARS_WITHIN_MS);
    expect(await client()).toMatchObject({
      id: "02:00:00:00:00:20",
      name: "",
      addresses: [LAN.client4],
      interface: "lan0",
      exit: "main",
      assigned: false,
    });

    // Its cable stays in, and nobody answers.
    await inClient("ip", "address", "flush", "dev", "lan0");
    await lab.exec(lab.namespaces.gateway, ["ping", "-c12", "-i1", "-W1", LAN.client4]);
    await until(async () => !(await isOnline()), FAILS_WITHIN_MS);
    expect(await client()).toMatchObject({ addresses: [LAN.client4], online: false });
  },
  TIMEOUT_MS,
);
