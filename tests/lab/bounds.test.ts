import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BOUNDS_TABLE, boundsFor, mostConnections, OF_INTERFACE } from "../../src/network/bounds-table.ts";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { INTERNET, LAN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { inject } from "../rig/tools/injector.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { datagramFrame, ICMPV6, icmpBytes, packetFrame } from "../rig/tools/packet.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what the leaks show in passing");

setDefaultTimeout(240_000);

const ECHO_PORT = 7;
/** The kernel keeps an entry without an answer for 30 s. */
const FLOOD_MS = 20_000;
const FEW_PLACES = 16_384;
/** Of the others in the lab: the gateway's own, and what they fetch. */
const OTHERS = 500;
/** Without the bounds it hung for half a minute. */
const CHECKED_WITHIN_MS = 15_000;
/** In place of the service. */
const LISTENER = (port: number) => [
  ...[process.execPath, "-e"],
  `Bun.listen({ hostname: "::", port: ${port}, socket: { data() {} } })`,
];
const PAGE = `http://${INTERNET.host4}/`;

let lab: Lab;
let gateway: Gateway;
let greedy: LanDevice;
let other: LanDevice;
let gatewayMac: string;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  [greedy, other] = await Promise.all([LanDevice.plugIn(lab, 1), LanDevice.plugIn(lab, 2)]);
  // As on a real machine: the loopback and the dashboard are the gateway's own.
  gateway = await lab.startGateway({ flags: ["--host", "::"] });
  const { status } = await gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  expect(status).toBe(200);
  gatewayMac = (await inGateway("cat", "/sys/class/net/lan0/address")).trim().replaceAll(":", "");
  for (const { namespace } of [greedy, other])
    for (const address of [LAN.gateway4, LAN.gateway6]) await lab.exec(namespace, ["ping", "-c1", address]);
  await gateway.keep();
});
beforeEach(async () => {
  // The service forgets all connections when it puts back a firewall that was away.
  await gateway.expose();
  await gateway.reset();
  await until(async () => (await bounds()).includes("ct count over"));
  await until(async () => (await number("count")) < OTHERS);
});
afterAll(() => lab?.close());

async function inGateway(...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await lab.exec(lab.namespaces.gateway, argv);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const bounds = async () =>
  (await lab.exec(lab.namespaces.gateway, ["nft", "list", "table", "inet", "portcullis_bounds"])).stdout;
const number = async (name: string) =>
  Number(await inGateway("cat", `/proc/sys/net/netfilter/nf_conntrack_${name}`));

/** Begins a connection from each of so many ports: UDP, to a host that answers. */
async function begin(first: number, count: number, mac = greedy.mac.replaceAll(":", "")): Promise<void> {
  const frames = Array.from({ length: count }, (_, at) =>
    datagramFrame({
      ...{ fromMac: mac, toMac: gatewayMac, from: greedy.v4, to: INTERNET.host4 },
      ...{ sourcePort: 1_024 + ((first + at) % 64_000), targetPort: ECHO_PORT, payload: "more" },
    }),
  );
  await inject(greedy.namespace, "lan0", frames);
}

/** The page by the tunnel, the dashboard on the LAN, and the gateway's own interface on the loopback. */
async function othersAreServed(): Promise<(boolean | number)[]> {
  const [page, dashboard, own] = await Promise.all([
    lab.fetchFrom(other.namespace, PAGE),
    lab.fetchFrom(other.namespace, `http://${LAN.gateway4}:${gateway.port}/health`),
    gateway.api("GET", "/api/status"),
  ]);
  return [page !== null, dashboard !== null, own.status];
}
const SERVED = [true, true, 200];

test("one device gets its share of the connection table and not more, and others do not notice", async () => {
  const most = mostConnections(await number("max"));
  const end = performance.now() + FLOOD_MS;
  let begun = 0;
  for (; performance.now() < end; begun += 3_000) {
    await begin(begun, 3_000);
    expect(await othersAreServed()).toEqual(SERVED);
  }
  const taken = await number("count");
  expect(begun).toBeGreaterThan(most + OTHERS);
  expect([taken > most * 0.9, taken <= most + OTHERS, taken]).toEqual([true, true, taken]);
  // It has an answer at once, and not a time-out.
  expect(await lab.isRefused(greedy.namespace, PAGE)).toBe(true);
  const asked = performance.now();
  const { body } = await gateway.api("GET", "/api/checks");
  expect(performance.now() - asked).toBeLessThan(CHECKED_WITHIN_MS);
  const { result, found } = body.checks.find(({ id }: { id: string }) => id === "connections");
  expect([result, found]).toEqual(["warning", expect.stringContaining(`were refused to ${greedy.mac}`)]);
});

test("a device that invents MAC addresses leaves room to the gateway and its page", async () => {
  // Only the service sees the smaller number.
  const seen = join(mkdtempSync(join(tmpdir(), "places-")), "nf_conntrack_max");
  writeFileSync(seen, `${FEW_PLACES}\n`);
  const max = "/proc/sys/net/netfilter/nf_conntrack_max";
  const mount = ["nsenter", "-t", `${gateway.pid}`, "-m", "-n", "mount", "--bind", seen, max];
  expect(await lab.outside(mount)).toMatchObject({ code: 0 });
  await inGateway("nft", "delete", "table", "inet", "portcullis_bounds");

  await until(async () => (await bounds()).includes(`ct count over ${mostConnections(FEW_PLACES)}`));
  const most = FEW_PLACES * OF_INTERFACE;
  const taken = async () => {
    for (let round = 0; round < 10; round += 1) {
      await begin(round * 2_000, 2_000, `02000000aa0${round}`);
      // Its network has no more room for what is forwarded.
      expect((await othersAreServed()).slice(1)).toEqual(SERVED.slice(1));
    }
    return number("count");
  };
  const bounded = await taken();
  expect([bounded > most * 0.8, bounded <= most + OTHERS, bounded]).toEqual([true, true, bounded]);
  expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-2" })).status).toBe(200);
  // Positive control: with the bounds of each device alone, they take more.
  await gateway.kill("SIGKILL");
  const rules = boundsFor({
    most: mostConnections(FEW_PLACES),
    places: 10 * FEW_PLACES,
    ports: [gateway.port],
    remote: null,
  });
  const kernel = new NamespaceHost(lab.namespaces.gateway);
  await kernel.run(["nft", "-f", "-"], { stdin: `delete table ${BOUNDS_TABLE}\n${rules}` });
  for (let round = 0; round < 10; round += 1) await begin(round * 2_000, 2_000, `02000000bb0${round}`);
  await until(async () => (await number("count")) > most + OTHERS);
});

test("a reload of the firewall, and a restart of the service, do not give it a second share", async () => {
  const most = mostConnections(await number("max"));
  await gateway.api("POST", "/api/connect", { server: "box-vpn-2" });
  await gateway.restart();
  for (let round = 0; round < 8; round += 1) {
    await begin(30_000 + round * 3_000, 3_000);
    expect(await othersAreServed()).toEqual(SERVED);
    await Bun.sleep(500);
  }
  const taken = await number("count");
  expect([taken <= most + OTHERS, taken]).toEqual([true, taken]);
});

/** Opens so many connections to the dashboard, and keeps them. Prints how many of them the gateway takes. */
const TAKING = (addresses: readonly string[], port: number, count: number) => `
  let open = 0;
  const one = (hostname) => new Promise((resolve) => {
    Bun.connect({ hostname, port: ${port}, socket: {
      open: () => { open += 1; resolve(); },
      data() {}, connectError: resolve, close() { open -= 1; },
    } }).catch(resolve);
  });
  for (let at = 0; at < ${count}; at++) await one(${JSON.stringify(addresses)}[at % ${addresses.length}]);
  await Bun.sleep(300);
  console.log(open);
  await Bun.sleep(60_000);`;

/** How many sockets at /ws so many connections of a device get, which come from several of its addresses. */
async function listen(device: LanDevice, count: number): Promise<number> {
  const code = `
    let open = 0;
    const one = (address) => new Promise((resolve) => {
      const socket = new WebSocket("ws://" + address + ":${gateway.port}/ws");
      socket.onopen = () => { open += 1; resolve(); };
      socket.onerror = resolve;
    });
    for (let at = 0; at < ${count}; at++) await one(["[${LAN.gateway6}]", "${LAN.gateway4}"][at % 2]);
    console.log(open);
    process.exit();`;
  return Number((await lab.exec(device.namespace, [process.execPath, "-e", code])).stdout);
}

/** How many connections to the dashboard a device gets that wants so many; \`end\` closes them. */
async function connect(device: LanDevice, count: number) {
  const argv = [process.execPath, "-e", TAKING([LAN.gateway4, LAN.gateway6], gateway.port, count)];
  const child = Bun.spawn(commandIn(device.namespace, argv), { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  const end = async () => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return { taken: Number(new TextDecoder().decode(value)), end };
}

test("one device gets some connections to the dashboard, by all of its addresses together, and others have theirs", async () => {
  const { taken, end } = await connect(greedy, 200);
  expect(taken).toBe(128);
  expect(await lab.isRefused(greedy.namespace, `http://${LAN.gateway4}:${gateway.port}/health`)).toBe(true);
  expect(await othersAreServed()).toEqual(SERVED);
  const { taken: ofOther, end: endOther } = await connect(other, 20);
  expect(ofOther).toBe(20);
  await Promise.all([end(), endOther()]);
  await until(async () => (await listen(other, 1)) === 1);
  expect(await listen(other, 120)).toBe(100);
});

test("who asks for neighbours in the name of many is heard some times a second, and others always", async () => {
  expect(await invented("aa")).toBeLessThan(200);
  expect((await lab.exec(other.namespace, ["ping", "-6", "-c3", "-W2", LAN.gateway6])).code).toBe(0);
  await inGateway("ip", "-6", "neigh", "flush", "dev", "lan0");
  expect((await lab.exec(other.namespace, ["ping", "-6", "-c3", "-W2", LAN.gateway6])).code).toBe(0);
  const { body } = await gateway.api("GET", "/api/checks");
  expect(JSON.stringify(body)).toContain(greedy.mac);
});

/** Asks for the gateway's address from so many addresses; how many of them the gateway then knows. */
async function invented(part: string): Promise<number> {
  const mac = greedy.mac.replaceAll(":", "");
  const frames = Array.from({ length: 400 }, (_, at) => {
    const ends = { from: `fd77::${part}:${(at + 1).toString(16)}`, to: LAN.gateway6 };
    const target = Uint8Array.fromHex(`fd77${"0".repeat(24)}0001`);
    const option = Uint8Array.fromHex(`0101${mac}`);
    const bytes = icmpBytes(ends, 135, 0, 0, Buffer.concat([target, option]));
    return packetFrame(
      { fromMac: mac, toMac: gatewayMac, ...ends },
      { protocol: ICMPV6, bytes, hopLimit: 255 },
    );
  });
  await inject(greedy.namespace, "lan0", frames);
  const shown = await inGateway("ip", "-6", "neigh", "show", "dev", "lan0");
  return shown.split("\n").filter((line) => line.startsWith(`fd77::${part}:`)).length;
}

test("positive control: without the bounds the device takes as many as it begins, and each address is a neighbour", async () => {
  const most = mostConnections(await number("max"));
  await gateway.kill("SIGKILL");
  await inGateway("nft", "delete", "table", "inet", "portcullis_bounds");
  const listening = lab.exec(lab.namespaces.gateway, ["timeout", "20", ...LISTENER(gateway.port)]);
  await until(async () => (await inGateway("ss", "-Htln", `sport = :${gateway.port}`)) !== "");
  const { taken: opened, end } = await connect(greedy, 200);
  expect(opened).toBe(200);
  await end();
  await listening;
  for (let round = 0; round < 5; round += 1) await begin(round * 3_000, 3_000);
  await until(async () => (await number("count")) > most + OTHERS);
  expect(await invented("bb")).toBeGreaterThan(300);
});
