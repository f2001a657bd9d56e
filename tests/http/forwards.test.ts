import { afterEach, beforeEach, expect } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { ip } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";
import { listenTo } from "./socket.ts";

const { test } = slow;

const TV = "02:00:00:00:00:20" as Mac;
const PHONE = "02:00:00:00:00:30" as Mac;
const PATH = `/api/forwards/${TV}/tcp/6881`;
const LED = 'iifname "wg0" meta nfproto ipv4 tcp dport 51413 dnat ip to';

let home: Home;
beforeEach(async () => {
  home = await Home.start();
  await home.parts.forwards.reload();
});
afterEach(() => home.stop());

const put = (path: string, body: object) => home.send("PUT", path, body);
const outcome = ({ status, text }: { status: number; text: string }) => [status, text];
const forwards = async () => (await home.send("GET", "/api/forwards")).json.forwards;

/** A packet of the device arrives, or it has left. */
async function hear(mac: Mac, address: string, isLost = false): Promise<void> {
  if (isLost) home.parts.devices.saw({ interface: "lan0", address: ip(address), mac, heardMsAgo: 0, isLost });
  else home.hear(mac, address);
  await home.pass(1_000);
}

/** The rules that lead ports to devices, as the kernel has them. */
async function led(): Promise<string[]> {
  const { chains } = await home.host
    .run(["nft", "-s", "-n", "list", "table", "inet", "portcullis"])
    .then((text) => ({
      chains: text.split("\n").filter((line) => line.includes('comment "a forwarded port"')),
    }));
  return chains
    .map((line) => line.trim().replace(' comment "a forwarded port"', ""))
    .filter((line) => line.includes("dnat ip"));
}

async function tvIsConnected(): Promise<void> {
  await home.connect();
  await hear(TV, "192.168.7.20");
}

test("a port that is set on the provider's site leads to the device, and status says so", async () => {
  await tvIsConnected();
  await put(`/api/devices/${TV}`, { name: "TV" });
  const { status, json } = await put(PATH, { external: 51413 });
  const row = {
    ...{ device: TV, name: "TV", protocol: "tcp", port: 6881, external: 51413, fixed: 51413 },
    ...{ address: null, tunnel: "main", opener: "fixed", asked_by: "operator" },
    ...{ state: "open", error: null, expires_at: null },
  };
  expect([status, json]).toEqual([200, row]);
  expect(await forwards()).toEqual([row]);
  expect(await led()).toEqual([`${LED} 192.168.7.20:6881`]);
  expect((await home.status()).forwarded_ports).toEqual([51413]);
  expect(home.parts.forwards.portsOf("main")).toEqual([51413]);
  expect((await home.send("GET", "/metrics")).text).toContain(
    'portcullis_forwarded_ports{tunnel="main"} 1\n',
  );
});

test("a removed forward leads nowhere", async () => {
  await tvIsConnected();
  await put(PATH, { external: 51413 });
  expect(outcome(await home.send("DELETE", PATH))).toEqual([200, '{"success":true}']);
  expect([await forwards(), await led()]).toEqual([[], []]);
  expect((await home.status()).forwarded_ports).toBeUndefined();
  expect(outcome(await home.send("DELETE", PATH))).toEqual([
    404,
    '{"success":false,"error":"there is no such forward; to list them: portcullis forwards"}',
  ]);
});

test("a port is closed with its tunnel, and open again with the next one", async () => {
  const { json } = await put(PATH, { external: 51413 });
  expect([json.state, json.error]).toEqual([
    "closed",
    "the main tunnel is disconnected; the port opens once it is connected",
  ]);
  await tvIsConnected();
  expect([(await forwards())[0].state, await led()]).toEqual(["open", [`${LED} 192.168.7.20:6881`]]);
  await home.send("POST", "/api/disconnect");
  expect([(await forwards())[0].state, await led()]).toEqual(["closed", []]);
  await home.connect();
  expect([(await forwards())[0].state, await led()]).toEqual(["open", [`${LED} 192.168.7.20:6881`]]);
});

test("a port leads to the address that the device has now", async () => {
  await tvIsConnected();
  await put(PATH, { external: 51413 });
  await hear(TV, "192.168.7.21");
  expect(await led()).toEqual([`${LED} 192.168.7.20:6881`]);
  await hear(TV, "192.168.7.20", true);
  expect(await led()).toEqual([`${LED} 192.168.7.21:6881`]);
  // Another device takes both addresses.
  await hear(PHONE, "192.168.7.20");
  await hear(PHONE, "192.168.7.21");
  expect(await led()).toEqual([]);
  expect(await forwards()).toMatchObject([
    {
      state: "closed",
      error: "the device was not seen on the LAN yet; the port opens as soon as it is",
    },
  ]);
});

test("the port of a device whose exit is not a tunnel is closed before the answer", async () => {
  await tvIsConnected();
  await put(PATH, { external: 51413 });
  await home.again("PUT", `/api/devices/${TV}`, { exit: "blocked" });
  expect(await led()).toEqual([]);
  await home.pass(1_000);
  const [{ state, tunnel, error }] = await forwards();
  expect([state, tunnel, error]).toEqual([
    "closed",
    null,
    `the device's exit is blocked, and ports are opened at the server of a tunnel; to give it one: portcullis device ${TV} exit main`,
  ]);
  await put(`/api/devices/${TV}`, { exit: "main" });
  await home.pass(1_000);
  expect(await led()).toEqual([`${LED} 192.168.7.20:6881`]);
});

test("a port that the server does not open stays closed, and the reason says what to look at", async () => {
  await tvIsConnected();
  let isAnswered = false;
  const answer = put(PATH, {}).finally(() => {
    isAnswered = true;
  });
  // NAT-PMP is tried until nobody answers.
  while (!isAnswered) await home.pass(1_000);
  const { json } = await answer;
  expect([json.state, json.error]).toEqual([
    "closed",
    "10.64.0.1 does not answer. With Proton, make the key with NAT-PMP on, for a P2P server; other providers may forward no ports",
  ]);
  expect((await put(PATH, { external: 51413 })).json.state).toBe("open");
});

test("one external port leads to one device", async () => {
  await tvIsConnected();
  await hear(PHONE, "192.168.7.30");
  await put(PATH, { external: 51413 });
  const second = await put(`/api/forwards/${PHONE}/tcp/6881`, { external: 51413 });
  expect(second.json.error).toBe(
    "port 51413 of the main tunnel already leads to another device or port; remove that forward first",
  );
  expect((await put(`/api/forwards/${TV}/udp/6881`, { external: 51413 })).json.state).toBe("open");
  expect(await led()).toEqual([
    `${LED} 192.168.7.20:6881`,
    'iifname "wg0" meta nfproto ipv4 udp dport 51413 dnat ip to 192.168.7.20:6881',
  ]);
});

test("forwards survive a restart, and lead to a device that was not seen since", async () => {
  await tvIsConnected();
  await put(PATH, { external: 51413 });
  await hear(TV, "192.168.7.21");
  await hear(TV, "192.168.7.20", true);
  expect(JSON.parse(home.parts.store.read("forwards") ?? "")).toEqual([
    { device: TV, protocol: "tcp", port: 6881, fixed: 51413, address: "192.168.7.21" },
  ]);
});

test.each([
  [
    "/api/forwards/10.8.0.5/tcp/80",
    400,
    "device: must be a MAC address, such as 02:00:00:00:00:20; only a single device on the LAN itself can be forwarded to",
  ],
  [`/api/forwards/${TV}/tcp/0`, 400, "port: must be a number from 1 to 65535"],
  [`/api/forwards/${TV}/tcp/00`, 400, "port must be like 6881 (1 to 65535)"],
  [`/api/forwards/${TV}/tcp/70000`, 400, "port: must be a number from 1 to 65535"],
  [
    `/api/forwards/${TV}/udp/53`,
    400,
    "port: the kill switch keeps port 53, DNS, inside the tunnels; choose another port of the device",
  ],
])("PUT %s is refused", async (path, status, error) => {
  expect(outcome(await put(path, {}))).toEqual([status, JSON.stringify({ success: false, error })]);
  expect(await forwards()).toEqual([]);
});

test("listeners are told when a port is opened, closed and removed", async () => {
  const socket = await listenTo(home.port);
  await tvIsConnected();
  await put(PATH, { external: 51413 });
  await home.send("POST", "/api/disconnect");
  await home.send("DELETE", PATH);
  await home.pass(1_000);
  await home.parts.forwards.list();
  const told = socket.messages
    .map((text) => JSON.parse(text))
    .filter(({ type }: { type: string }) => type.startsWith("forward_"));
  expect(told.map(({ type, payload }) => [type, payload.state])).toEqual([
    ["forward_update", "opening"],
    ["forward_update", "open"],
    ["forward_update", "closed"],
    ["forward_removed", undefined],
  ]);
});
