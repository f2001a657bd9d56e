import { afterAll, beforeAll, expect } from "bun:test";
import type { Device } from "../../src/devices/schema.ts";
import { INTERNET, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { kindsOf, seenAt } from "../rig/judges/where-seen.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import type { Mark } from "../rig/tools/marker.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what the leaks show in passing");

/** A tunnel that has failed is left for a minute at least, and this machine may be busy. */
const TIMEOUT_MS = 400_000;
const RETURNS_WITHIN_MS = 180_000;
/** Long enough for some marks of each kind. */
const MOMENT_MS = 600;
const PAGE = `http://${INTERNET.host4}/`;
const ORDER = ["second", "main", "blocked"];
const ENOUGH = 50;
const ALL_KINDS: Mark["kind"][] = ["dns4", "tcp4", "tcp6", "udp4", "udp6"];

let lab: Lab;
let gateway: Gateway;
let device: LanDevice;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  device = await LanDevice.plugIn(lab, 1);
  for (const path of ["ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"])
    await lab.exec(lab.namespaces.gateway, ["sysctl", "-qw", `net/${path}=0`]);
  gateway = await lab.startGateway();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  await gateway.ask("PUT", `/api/devices/${device.mac}`, { name: "TV", exit: ORDER });
}, TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

const cableOf = (server: "vpn1" | "vpn2", way: "up" | "down") =>
  lab.exec(lab.namespaces.internet, ["ip", "link", "set", server, way]);
const page = () => lab.fetchFrom(device.namespace, PAGE);
const isAt = (exit: string) => async () => {
  const { devices }: { devices: Device[] } = (await gateway.api("GET", "/api/devices")).body;
  return devices.find(({ id }) => id === device.mac)?.exit === exit;
};

/** Which kinds of packets of the device each place saw during the work, and what leaked besides. */
async function seenDuring(work: () => Promise<unknown>) {
  const { main, second, clear, leaks } = await seenAt(lab, [[1, device.namespace]], work);
  return { main: kindsOf(main, 1), second: kindsOf(second, 1), clear: kindsOf(clear, 1), leaks };
}

test(
  "a device leaves by the first of its exits, moves when that one dies, and goes back when it has been up for a while",
  async () => {
    expect(await isAt("second")()).toBe(true);
    expect(await seenDuring(() => Bun.sleep(MOMENT_MS))).toEqual({
      ...{ main: [], second: ALL_KINDS, clear: [], leaks: [] },
    });
    const flow = await lab.traffic(device.namespace, { kinds: ["udp", "flow"] });
    await flow.sends(ENOUGH);
    const dies = await seenDuring(async () => {
      await cableOf("vpn2", "down");
      await until(isAt("main"));
      await until(async () => (await page())?.includes(VPN.vpn1.v4) === true);
      await Bun.sleep(MOMENT_MS);
    });
    expect([dies.main, dies.clear, dies.leaks]).toEqual([ALL_KINDS, [], []]);
    await flow.sends(ENOUGH);
    expect((await flow.stop()).flow?.refused).toBeGreaterThan(0);
    await cableOf("vpn2", "up");
    const others = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
    const returns = await seenDuring(async () => {
      await until(isAt("second"), RETURNS_WITHIN_MS);
      await until(async () => (await page())?.includes(VPN.vpn2.v4) === true);
      await Bun.sleep(MOMENT_MS);
    });
    expect([returns.second, returns.clear, returns.leaks]).toEqual([ALL_KINDS, [], []]);
    expect((await others.stop()).udp?.lost).toEqual([]);
    expect(await seenDuring(() => Bun.sleep(MOMENT_MS))).toEqual({
      ...{ main: [], second: ALL_KINDS, clear: [], leaks: [] },
    });
    const { events } = (await gateway.api("GET", "/api/events")).body;
    const told = events.filter(({ code }: { code?: string }) => code === "exit_moved");
    expect(told.map(({ message }: { message: string }) => message)).toEqual([
      `Moved from second to main, because second is down: TV (${device.mac}).`,
      `Moved from main to second, because second is up: TV (${device.mac}).`,
    ]);
  },
  TIMEOUT_MS,
);

test(
  "while the service is away, nothing moves: a device whose exit dies leaves by none, and by the next one after the start",
  async () => {
    await until(isAt("second"), RETURNS_WITHIN_MS);
    await gateway.kill("SIGKILL");
    const kept = await seenDuring(() => Bun.sleep(MOMENT_MS));
    expect(kept).toEqual({ main: [], second: ALL_KINDS, clear: [], leaks: [] });
    await cableOf("vpn2", "down");
    expect(await seenDuring(() => Bun.sleep(MOMENT_MS))).toEqual({
      ...{ main: [], second: [], clear: [], leaks: [] },
    });
    const started = await seenDuring(async () => {
      await gateway.start();
      await until(isAt("main"));
      await until(async () => (await page())?.includes(VPN.vpn1.v4) === true);
      await Bun.sleep(MOMENT_MS);
    });
    expect(started).toEqual({ main: ALL_KINDS, second: [], clear: [], leaks: [] });
  },
  TIMEOUT_MS,
);

test(
  "with all its tunnels dead a device leaves by none, killed and started or not, until one is back",
  async () => {
    await until(isAt("main"));
    await cableOf("vpn1", "down");
    await until(isAt("blocked"));
    const nothing = { main: [], second: [], clear: [], leaks: [] };
    expect(await seenDuring(() => Bun.sleep(MOMENT_MS))).toEqual(nothing);
    expect(await lab.isRefused(device.namespace, PAGE)).toBe(true);
    await gateway.kill("SIGKILL");
    expect(await seenDuring(() => gateway.start())).toEqual(nothing);
    await cableOf("vpn1", "up");
    await until(isAt("main"));
    await until(async () => (await page())?.includes(VPN.vpn1.v4) === true);
    await cableOf("vpn2", "up");
  },
  TIMEOUT_MS,
);

test(
  "positive control: without the kill switch the device is seen in clear",
  async () => {
    const open = await seenDuring(async () => {
      await gateway.expose();
      await Bun.sleep(MOMENT_MS);
    });
    expect(open.clear).toContain("udp4");
    expect(open.leaks.length).toBeGreaterThan(ENOUGH);
  },
  TIMEOUT_MS,
);
