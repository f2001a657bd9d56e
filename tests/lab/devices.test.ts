import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { Value } from "typebox/value";
import { type Device, DeviceList } from "../../src/devices/schema.ts";
import type { TrafficUpdate } from "../../src/http/traffic.ts";
import { INTERNET, LAN } from "../../src/sandbox/topology.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { startResponder } from "../rig/tools/mdns-responder.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

/** It takes some 10 ms on an idle machine, and must take less than a second; a busy one may take longer. */
const APPEARS_WITHIN_MS = 5_000;
/** The kernel asks a neighbour six times, a second apart, after it has waited for five. */
const FAILS_WITHIN_MS = 30_000;
const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);

/** What the pings take; a connection or two come on top. */
const PING_BYTES = 100_000;

let lab: Lab;
let gateway: Gateway;
beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway();
  await gateway.keep();
});
beforeEach(async () => {
  await inClient("ip", "link", "set", "lan0", "up");
  await inClient("ip", "address", "replace", `${LAN.client4}/24`, "dev", "lan0");
  await inClient("ip", "route", "replace", "default", "via", LAN.gateway4);
  // A test that switches IPv6 off loses its addresses and routes.
  await inClient("sysctl", "-qw", "net.ipv6.conf.lan0.disable_ipv6=0");
  await inClient("ip", "address", "replace", `${LAN.client6}/64`, "dev", "lan0", "nodad");
  await inClient("ip", "route", "replace", "default", "via", LAN.gateway6);
  await gateway.reset();
});
afterAll(() => lab?.close());

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

test("a device appears with its first packet, goes offline with its cable, and when it no longer answers", async () => {
  // Whatever it has sent so far.
  await inClient("ip", "link", "set", "lan0", "down");
  await until(async () => !(await isOnline()), FAILS_WITHIN_MS);
  // With IPv6 it would look for routers by itself, and be heard too early.
  await inClient("sysctl", "-qw", "net.ipv6.conf.lan0.disable_ipv6=1");
  await inClient("ip", "link", "set", "lan0", "address", "02:00:00:00:00:20");
  await inClient("ip", "link", "set", "lan0", "up");
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
});

/** A page that has heard nothing for so long says that the gateway is lost. */
const LOST_AFTER_MS = 3_000;

/** The service reads the figures once a second at most. */
const SECOND_MS = 1_000;

/** So many bytes and some more, each way. */
async function exchange(): Promise<void> {
  const url = `http://${INTERNET.host4}/`;
  await until(async () => (await lab.fetchFrom(lab.namespaces.client, url)) !== null);
  const { stdout } = await inClient("ping", "-c100", "-i0.002", "-s972", "-q", INTERNET.host4);
  expect(stdout).toContain("100 received");
}

const inGateway = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);

test("a device's bytes are counted both ways, across a restart, and after another program has removed the table", async () => {
  await gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  const figures = async () => {
    await Bun.sleep(SECOND_MS);
    const { rx_bytes: rx = 0, tx_bytes: tx = 0 } = (await client()) ?? {};
    return [rx, tx];
  };
  const before = await figures();
  await exchange();
  const [rx = 0, tx = 0] = await figures();
  const [received, sent] = [rx - (before[0] ?? 0), tx - (before[1] ?? 0)];
  for (const bytes of [received, sent]) expect(bytes).toBeWithin(PING_BYTES, 2 * PING_BYTES);
  await gateway.restart();
  await exchange();
  const after = await figures();
  expect(after.map((bytes, at) => bytes > PING_BYTES + ([rx, tx][at] ?? 0))).toEqual([true, true]);

  await inGateway("nft", "delete", "table", "inet", "portcullis_traffic");
  await until(async () => (await inGateway("nft", "list", "table", "inet", "portcullis_traffic")).code === 0);
  await exchange();
  expect((await figures()).map((bytes, at) => bytes > PING_BYTES + (after[at] ?? 0))).toEqual([true, true]);
  expect(gateway.log()).not.toContain("security_alert");
});

/** Datagrams over IPv6, each from an address of its own. More begin at once than one device may, so that takes a while. */
const INVENTIONS = 4_200;
const INVENTING = `
  for (let number = 0; number < ${INVENTIONS}; number += 1) {
    const hostname = "fd77::9:0:" + (number + 1).toString(16);
    const socket = await Bun.udpSocket({ hostname, connect: { hostname: "${INTERNET.host6}", port: 9 } });
    socket.send("x");
    socket.close();
    await Bun.sleep(number < 1_900 ? 0 : 2.5);
  }`;

test("a device's bytes are its own, whatever addresses another one uses, and history and list agree after a pause of the service", async () => {
  await gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  const other = await LanDevice.plugIn(lab, 1);
  const inOther = async (...argv: string[]) => {
    const { code, stdout } = await lab.exec(other.namespace, argv);
    return [code, stdout];
  };
  const bytesOf = async (id: string): Promise<number[]> => {
    await Bun.sleep(SECOND_MS);
    const { devices } = (await gateway.api("GET", "/api/devices")).body;
    const device = devices.find((each: Device) => each.id === id);
    return [device?.rx_bytes ?? 0, device?.tx_bytes ?? 0];
  };
  const victim = await mac();
  await exchange();
  // Positive control: it is another device, and is counted.
  const ping = ["ping", "-c100", "-i0.002", "-W1", "-s972", "-q"];
  await inOther(...ping, INTERNET.host4);
  const [before, own] = [await bytesOf(victim), await bytesOf(other.mac)];
  for (const bytes of own) expect(bytes).toBeWithin(PING_BYTES, 2 * PING_BYTES);
  // It asks in the victim's name, and announces nothing: the answers go to the victim.
  const { stdout: link } = await inGateway("ip", "-j", "link", "show", "lan0");
  const [{ address: router }] = JSON.parse(link);
  await inOther("ip", "neigh", "replace", LAN.gateway4, "lladdr", router, "dev", "lan0", "nud", "permanent");
  await inOther("ip", "address", "add", `${LAN.client4}/32`, "dev", "lan0");
  await inOther(...ping, "-I", LAN.client4, INTERNET.host4);
  const [after, forged] = [await bytesOf(victim), await bytesOf(other.mac)];
  const more = (then: number[], now: number[]) => now.map((bytes, at) => bytes - (then[at] ?? 0));
  for (const bytes of more(before, after)) expect(bytes).toBeLessThan(PING_BYTES / 10);
  for (const bytes of more(own, forged)) expect(bytes).toBeWithin(PING_BYTES, 2 * PING_BYTES);

  await inOther("sysctl", "-qw", "net.ipv6.ip_nonlocal_bind=1");
  expect(await inOther(process.execPath, "-e", INVENTING)).toEqual([0, ""]);
  // An address that no set had before.
  await inClient("ip", "address", "add", "fd77::88/64", "dev", "lan0", "nodad");
  const { stdout: pinged } = await inClient(...ping, "-I", "fd77::88", INTERNET.host6);
  expect(pinged).toContain("100 received");
  for (const bytes of more(after, await bytesOf(victim))) expect(bytes).toBeGreaterThan(PING_BYTES);

  await gateway.kill("SIGKILL");
  await exchange();
  await gateway.start();
  await until(async () => (await bytesOf(victim))[0] !== 0);
  // When it stops, it writes what it has counted.
  await gateway.restart();
  const { points } = (await gateway.api("GET", `/api/history?device=${victim}`)).body;
  const sum = (field: "rx_bytes" | "tx_bytes") =>
    points.reduce((total: number, point: Record<typeof field, number>) => total + point[field], 0);
  expect([sum("rx_bytes"), sum("tx_bytes")]).toEqual(await bytesOf(victim));
});

test("/ws?traffic tells what a device and its tunnel carry, while they do, and each second that there is a gateway", async () => {
  await gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/ws?traffic`);
  const updates: TrafficUpdate[] = [];
  const arrivals: number[] = [];
  socket.onmessage = ({ data }) => {
    const { type, payload } = JSON.parse(data);
    if (type !== "traffic") return;
    updates.push(payload);
    arrivals.push(performance.now());
  };
  const id = await mac();
  const tunnel = () => updates.at(-1)?.tunnels.find(({ name }) => name === "main");
  const device = () => updates.flatMap(({ devices }) => devices).findLast((each) => each.id === id);
  try {
    await until(async () => updates.length >= 2);
    const [before, bytes] = [tunnel(), (await client())?.tx_bytes ?? 0];
    await exchange();
    await until(
      async () =>
        (tunnel()?.tx_bytes ?? 0) > (before?.tx_bytes ?? 0) + PING_BYTES &&
        (tunnel()?.rx_bytes ?? 0) > (before?.rx_bytes ?? 0) + PING_BYTES,
    );
    await until(async () => (device()?.tx_bytes ?? 0) > bytes + PING_BYTES);
    expect(device()?.tx_bytes).toBe((await client())?.tx_bytes);
    await until(async () => updates.length >= 10);
  } finally {
    socket.close();
  }
  const pauses = arrivals.slice(1).map((at, index) => at - (arrivals[index] ?? 0));
  expect(Math.max(...pauses)).toBeLessThan(LOST_AFTER_MS);
});

test("a device that takes part in multicast DNS is asked for its name, and no frame of it reaches the router", async () => {
  const tap = await Wiretap.start(lab.namespaces.router, "lan0", "port 5353");
  const responder = await startResponder(lab.namespaces.client);
  try {
    // A device is asked when it is new.
    await inClient("ip", "link", "set", "lan0", "address", "02:00:00:00:00:21");
    await until(async () => {
      await inClient("ping", "-c1", "-W1", LAN.gateway4);
      return (await client())?.name === "living-room";
    });
  } finally {
    responder.kill();
    await responder.exited;
  }
  expect(await tap.stop()).toEqual([]);
});
