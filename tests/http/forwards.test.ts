import { afterEach, beforeEach, expect } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

const TV = "02:00:00:00:00:20" as Mac;
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
async function hear(mac: Mac, address: string): Promise<void> {
  home.hear(mac, address);
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
