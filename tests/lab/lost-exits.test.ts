import { afterAll, afterEach, beforeAll, beforeEach, expect } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { long } from "../fast.ts";
import { CLEAR, Sightings } from "../rig/judges/sightings.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { Sender } from "../rig/tools/sender.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what the leaks show in passing");

/** Several starts, on a busy machine. */
const TIMEOUT_MS = 240_000;
/** Packets of each device. */
const ENOUGH = 200;
const LOST = "The exits of devices were lost with the database: until you choose the default exit";

let lab: Lab;
let gateway: Gateway;
let sightings: Sightings;
/** `camera` is to be blocked, `tv` has another tunnel, and nobody has assigned `phone`. */
let [camera, tv, phone]: LanDevice[] = [];
let senders: Sender[];

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  const devices = await Promise.all([1, 2, 3].map((number) => LanDevice.plugIn(lab, number)));
  [camera, tv, phone] = devices;
  gateway = await lab.startGateway();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  sightings = await Sightings.start(lab);
  senders = await Promise.all(devices.map((device) => Sender.start(device, 4)));
  await gateway.keep();
}, TIMEOUT_MS);
beforeEach(() => gateway.reset(), TIMEOUT_MS);
afterAll(async () => {
  await Promise.all((senders ?? []).map((sender) => sender.stop()));
  await sightings?.stop();
  await lab?.close();
}, TIMEOUT_MS);
afterEach(() => {
  expect(sightings.take().filter(({ place }) => place === CLEAR)).toEqual([]);
});

const assign = (device: LanDevice | undefined, exit: string) =>
  gateway.ask("PUT", `/api/devices/${device?.mac}`, { exit });

/** Where packets of these devices were seen that they have sent from now until they have sent enough. */
async function placesOf(...devices: (LanDevice | undefined)[]): Promise<string[]> {
  sightings.take();
  const before = await Promise.all(senders.map((sender) => sender.now()));
  await Promise.all(
    senders.map((sender, at) => sender.until(({ number }) => number > (before[at]?.number ?? 0) + ENOUGH)),
  );
  const numbers = devices.map((device) => device?.number);
  const places = sightings.all
    .filter(({ device, number }) => numbers.includes(device) && number > (before[device - 1]?.number ?? 0))
    .map(({ place }) => place);
  return [...new Set(places)].sort();
}

/** What the others begin with. */
async function assignAll(): Promise<void> {
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  await assign(camera, "blocked");
  await assign(tv, "second");
  expect(await placesOf(tv)).toEqual(["box-vpn-2"]);
  expect(await placesOf(phone)).toEqual(["box-vpn-1"]);
}

const stateFile = (name: string) => join(lab.sandbox.directory, "state", name);

/** A power cut that the files of these names do not survive; the kernel keeps its state, which is the worse case here. */
async function loseState(...names: string[]): Promise<void> {
  await gateway.kill("SIGKILL");
  for (const name of names) writeFileSync(stateFile(name), "not a database ".repeat(1_000));
  for (const suffix of ["-wal", "-shm"]) rmSync(stateFile(`portcullis.db${suffix}`), { force: true });
  sightings.take();
  await gateway.start();
}

test(
  "positive control: devices without an exit of their own are seen on main",
  async () => {
    await until(async () => Bun.deepEquals(await placesOf(camera), ["box-vpn-1"]));
    expect(await placesOf(tv, phone)).toEqual(["box-vpn-1"]);
  },
  TIMEOUT_MS,
);

test(
  "with a damaged database each device has the exit that it had, or is refused",
  async () => {
    await assignAll();
    await loseState("portcullis.db");
    // Of all that they have sent since the power cut.
    const seen = sightings.all.filter(({ device }) => device === camera?.number);
    expect(seen).toEqual([]);
    expect(sightings.all.filter(({ device, place }) => device === 2 && place !== "box-vpn-2")).toEqual([]);
    expect(await placesOf(camera, tv)).toEqual([]);
    expect(await placesOf(phone)).toEqual(["box-vpn-1"]);
    const { body } = await gateway.api("GET", "/api/status");
    expect(body.error).toEndWith("The names and exits of devices are as they were.");
    expect(body.connected).toBe(true);
    // The tunnel of that name is lost; a new one is what the TV has.
    await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
    await until(async () => Bun.deepEquals(await placesOf(tv), ["box-vpn-2"]));
  },
  TIMEOUT_MS,
);

test(
  "if the second copy is damaged as well, nothing leaves until a person has chosen the default exit",
  async () => {
    await assignAll();
    await loseState("portcullis.db", "exits.db");
    const { body: status } = await gateway.api("GET", "/api/status");
    expect(status.error).toStartWith(LOST);
    // What was on its way while the service started went by the exits of before.
    expect(sightings.all.filter(({ device }) => device === camera?.number)).toEqual([]);
    expect(sightings.all.filter(({ device, place }) => device === 2 && place !== "box-vpn-2")).toEqual([]);
    expect(await placesOf(camera, tv, phone)).toEqual([]);
    const { body: checks } = await gateway.api("GET", "/api/checks");
    expect(checks.checks.find(({ id }: { id: string }) => id === "database")).toMatchObject({
      result: "fault",
      found: expect.stringContaining(LOST),
    });
    const { body: alerts } = await gateway.api("GET", "/api/events");
    expect(JSON.stringify(alerts)).toContain(LOST);
    // Whatever happens meanwhile.
    await gateway.restart();
    await assign(camera, "blocked");
    expect(await placesOf(camera, tv, phone)).toEqual([]);
    await gateway.ask("PUT", "/api/default-exit", { exit: "main" });
    expect((await gateway.api("GET", "/api/status")).body.error).toBeNull();
    await until(async () => Bun.deepEquals(await placesOf(phone), ["box-vpn-1"]));
    expect(await placesOf(camera)).toEqual([]);
  },
  TIMEOUT_MS,
);
