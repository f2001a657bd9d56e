import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { createLab, type Gateway, type Lab } from "../../lab/lab.ts";
import { LanDevice } from "../../lab/lan-device.ts";
import { type Carried, startStreams, streamed } from "../../lab/stream.ts";
import { until } from "../../lab/until.ts";
import { INTERNET } from "../../src/sandbox/topology.ts";

const TIMEOUT_MS = 240_000;
const SECONDS = 5;
/** Mbit/s. The lab carries some hundreds. */
const RATE = { down: 4, up: 2 };
/** What a device without a limit has at least: otherwise the machine is too busy to show anything. */
const FREE = 12;

let lab: Lab;
let gateway: Gateway;
let slow: LanDevice;
let other: LanDevice;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  [slow, other] = await Promise.all([LanDevice.plugIn(lab, 1), LanDevice.plugIn(lab, 2)]);
  gateway = await lab.startGateway();
  const { status } = await gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  expect(status).toBe(200);
  await startStreams(lab);
  await gateway.keep();
}, TIMEOUT_MS);
beforeEach(() => gateway.reset(), TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

const limit = async (rate: typeof RATE | null) =>
  expect((await gateway.api("PUT", `/api/devices/${slow.mac}`, { rate })).status).toBe(200);
const table = async () =>
  (await lab.exec(lab.namespaces.gateway, ["nft", "list", "table", "inet", "portcullis_limits"])).stdout;

/** Megabits a second. */
const rateOf = ({ bytes, ms }: Carried) => (bytes * 8) / 1_000 / ms;

/** What a limit lets through: a second's worth at once, then its rate. */
function isWithin({ bytes, ms }: Carried, megabits: number): boolean {
  const perSecond = megabits * 125_000;
  return bytes <= perSecond * (ms / 1_000 + 1) + 65_536 && bytes >= (perSecond * ms) / 1_000 / 2;
}

async function bothWays({ namespace }: LanDevice, address?: string): Promise<[Carried, Carried]> {
  const down = await streamed(lab, namespace, "down", SECONDS, address);
  return [down, await streamed(lab, namespace, "up", SECONDS, address)];
}

async function isSlow(address?: string): Promise<void> {
  const [down, up] = await bothWays(slow, address);
  expect([isWithin(down, RATE.down), isWithin(up, RATE.up), down, up]).toEqual([true, true, down, up]);
}

async function isFree(device: LanDevice): Promise<void> {
  const rates = (await bothWays(device)).map(rateOf);
  expect(rates.map((each) => [each > FREE, each])).toEqual(rates.map((each) => [true, each]));
}

test(
  "a device has its rate each way, over IPv4 and IPv6, and the one beside it is free",
  async () => {
    // Positive control.
    await isFree(slow);
    expect(await table()).toBe("");
    await limit(RATE);
    await isSlow();
    await isSlow(INTERNET.host6);
    const [, beside] = await Promise.all([isSlow(), streamed(lab, other.namespace, "down", SECONDS)]);
    expect(rateOf(beside)).toBeGreaterThan(FREE);
    await limit(null);
    expect(await table()).toBe("");
    await isFree(slow);
  },
  TIMEOUT_MS,
);

test(
  "a limit outlives the service, and comes back if another program removes the table",
  async () => {
    await limit(RATE);
    await gateway.kill("SIGKILL");
    await isSlow();
    // Positive control.
    await lab.exec(lab.namespaces.gateway, ["nft", "delete", "table", "inet", "portcullis_limits"]);
    await isFree(slow);
    await gateway.restart();
    await until(async () => (await table()).includes(slow.mac));
    await isSlow();
    await lab.exec(lab.namespaces.gateway, ["nft", "flush", "table", "inet", "portcullis_limits"]);
    await until(async () => (await table()).includes("limit name"));
    await isSlow();
  },
  TIMEOUT_MS,
);

test(
  "a device is blocked at the byte of its quota, and the one beside it is not",
  async () => {
    await limit(null);
    const megabytes = 3;
    // Positive control.
    expect((await streamed(lab, slow.namespace, "down", 2)).bytes).toBeGreaterThan(megabytes * 1_000_000);
    const quota = { megabytes, every: "day" };
    expect((await gateway.api("PUT", `/api/devices/${slow.mac}`, { quota })).status).toBe(200);
    const { bytes } = await streamed(lab, slow.namespace, "down", SECONDS);
    // Headers and acknowledgements count, too, and packets that are sent again.
    expect(bytes).toBeLessThanOrEqual(megabytes * 1_000_000);
    expect(bytes).toBeGreaterThan(megabytes * 800_000);
    expect(rateOf(await streamed(lab, other.namespace, "down", SECONDS))).toBeGreaterThan(FREE);
    expect((await gateway.api("PUT", `/api/devices/${slow.mac}`, { quota: null })).status).toBe(200);
  },
  TIMEOUT_MS,
);

test(
  "everybody else shares a rate, and a device with its own has that",
  async () => {
    const share = async (rate: typeof RATE | null) =>
      expect((await gateway.api("PUT", "/api/shared-rate", { rate })).status).toBe(200);
    await share(RATE);
    await isSlow();
    const begun = performance.now();
    const both = await Promise.all(
      [slow, other].map(({ namespace }) => streamed(lab, namespace, "down", SECONDS)),
    );
    const bytes = both.reduce((sum, each) => sum + each.bytes, 0);
    // They do not begin and end at the same moment: together they take longer than each.
    const ms = performance.now() - begun;
    expect([isWithin({ bytes, ms }, RATE.down), both]).toEqual([true, both]);
    await gateway.api("PUT", `/api/devices/${other.mac}`, { rate: { down: 1_000, up: null } });
    expect(rateOf(await streamed(lab, other.namespace, "down", SECONDS))).toBeGreaterThan(FREE);
    await share(null);
    await isFree(slow);
  },
  TIMEOUT_MS,
);
