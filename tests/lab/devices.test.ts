import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { Value } from "typebox/value";
import { createLab, type Gateway, type Lab } from "../../lab/lab.ts";
import { startResponder } from "../../lab/mdns-responder.ts";
import { until } from "../../lab/until.ts";
import { Wiretap } from "../../lab/wiretap.ts";
import { type Device, DeviceList } from "../../src/devices/schema.ts";
import type { TrafficUpdate } from "../../src/http/traffic.ts";
import { INTERNET, LAN } from "../../src/sandbox/topology.ts";

/** It takes some 10 ms on an idle machine, and must take less than a second; a busy one may take longer. */
const APPEARS_WITHIN_MS = 5_000;
/** The kernel asks a neighbour six times, a second apart, after it has waited for five. */
const FAILS_WITHIN_MS = 30_000;
const TIMEOUT_MS = 240_000;
/** What the pings take; a connection or two come on top. */
const PING_BYTES = 100_000;

let lab: Lab;
let gateway: Gateway;
beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway();
  await gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  await inClient("ip", "link", "set", "lan0", "up");
  await inClient("ip", "address", "replace", `${LAN.client4}/24`, "dev", "lan0");
  await inClient("ip", "route", "replace", "default", "via", LAN.gateway4);
  await gateway.reset();
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
  },
  TIMEOUT_MS,
);

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

test(
  "a device's bytes are counted both ways, across a restart, and after another program has removed the table",
  async () => {
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
    await until(
      async () => (await inGateway("nft", "list", "table", "inet", "portcullis_traffic")).code === 0,
    );
    await exchange();
    expect((await figures()).map((bytes, at) => bytes > PING_BYTES + (after[at] ?? 0))).toEqual([true, true]);
    expect(gateway.log()).not.toContain("security_alert");
  },
  TIMEOUT_MS,
);

test(
  "/ws?traffic tells what a device and its tunnel carry, while they do, and each second that there is a gateway",
  async () => {
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
  },
  TIMEOUT_MS,
);

test(
  "a device that takes part in multicast DNS is asked for its name, and no frame of it reaches the router",
  async () => {
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
  },
  TIMEOUT_MS,
);
