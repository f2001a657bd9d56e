import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import type { Forward } from "../../src/forwards/schema.ts";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { INTERNET, LAN, UPLINK, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { NAMED_ADDRESS, NatPmpProvider } from "../rig/peers/nat-pmp-provider.ts";
import { Doorbell } from "../rig/peers/visited-port.ts";
import { CLIENT_ENVIRONMENT } from "../rig/tools/client-programs.ts";
import { createLab, type Gateway, type GatewayOptions, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

/** Connects and switches on a busy machine. */
const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);

const PORT = 6881;
/** Transmission's own. */
const PEER_PORT = 51_413;
/** The first port that each server gives. */
const FIRST = { vpn1: 50_100, vpn2: 60_100 };

const options: GatewayOptions = { flags: ["--port-mapping", "on"] };
let lab: Lab;
let gateway: Gateway;
let tv: LanDevice;
let phone: LanDevice;
let bell: Doorbell;
let phoneBell: Doorbell;
let provider: NatPmpProvider;
let other: NatPmpProvider;
let sniffer: Awaited<ReturnType<Lab["sniff"]>>;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  [tv, phone] = await Promise.all([LanDevice.plugIn(lab, 1), LanDevice.plugIn(lab, 2)]);
  bell = await Doorbell.start(lab, tv.namespace, PORT);
  phoneBell = await Doorbell.start(lab, phone.namespace, PORT);
  gateway = await lab.startGateway(options);
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.keep();
});

beforeEach(async () => {
  options.flags = ["--port-mapping", "on"];
  // They give their first ports again.
  provider = await NatPmpProvider.start(lab, "vpn1", FIRST.vpn1);
  other = await NatPmpProvider.start(lab, "vpn2", FIRST.vpn2);
  await gateway.reset();
  for (const { namespace } of [tv, phone]) await lab.exec(namespace, ["ping", "-c", "1", LAN.gateway4]);
  // Until then the gateway does not know the address that the tunnel gives.
  await until(async () => (await natpmpc(tv)).code === 0);
  bell.rings();
  sniffer = await lab.sniff();
});

afterEach(async () => {
  await Promise.all([provider.stop(), other.stop()]);
  expect((await sniffer.stop()).leaks).toEqual([]);
});

afterAll(async () => {
  for (const each of [bell, phoneBell]) each?.stop();
  await lab?.close();
});

/** What `natpmpc` prints, and its exit code. */
async function natpmpc(device: LanDevice, ...words: string[]): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await lab.exec(device.namespace, [
    "natpmpc",
    "-g",
    LAN.gateway4,
    ...words,
  ]);
  return { code, text: `${stdout}${stderr}` };
}

const map = (device: LanDevice, protocol = "tcp", port = PORT, lifetime = 3600) =>
  natpmpc(device, "-a", "0", String(port), protocol, String(lifetime));

/** What most tests begin with: the TV's port is mapped. */
async function mapTv(): Promise<void> {
  expect((await map(tv)).text).toContain(`Mapped public port ${FIRST.vpn1} protocol TCP`);
  expect(await fromInternet("vpn1", FIRST.vpn1)).toBe(tv.namespace);
}

/** The name of the device that answers at a port of a server, or null. */
const fromInternet = (server: keyof typeof VPN, port: number) =>
  lab.fetchFrom(lab.namespaces.internet, `http://${VPN[server].v4}:${port}/`);

async function forwards(): Promise<Forward[]> {
  return ((await gateway.ask("GET", "/api/forwards")) as { forwards: Forward[] }).forwards;
}

/** Waits until the forwards are as they should be; the interface limits how often it is asked. */
async function eventually(are: (all: readonly Forward[]) => boolean): Promise<Forward[]> {
  let all: Forward[] = [];
  const met = async () => {
    all = await forwards();
    return are(all);
  };
  await until(met, TIMEOUT_MS, 500);
  return all;
}

test("a device maps its port by itself, and a host on the internet reaches it there", async () => {
  expect(await fromInternet("vpn1", FIRST.vpn1)).toBeNull();
  const { code, text } = await map(tv);
  expect([code, text]).toEqual([0, expect.stringContaining(`Public IP address : ${NAMED_ADDRESS.vpn1}`)]);
  // Older versions have it as `liftime`.
  expect(text).toMatch(
    new RegExp(
      `Mapped public port ${FIRST.vpn1} protocol TCP to local port ${PORT} (lifetime|liftime) 3600\\b`,
    ),
  );
  expect(await fromInternet("vpn1", FIRST.vpn1)).toBe(tv.namespace);
  expect(bell.rings()).toEqual([`tcp ${INTERNET.host4}`]);
  expect(await forwards()).toMatchObject([
    {
      device: tv.mac,
      protocol: "tcp",
      port: PORT,
      external: FIRST.vpn1,
      asked_by: "device",
      state: "open",
    },
  ]);
});

test("another device gets a port of its own for the same number, and cannot take or remove the first one's", async () => {
  await mapTv();
  expect((await map(phone)).text).toContain(`Mapped public port ${FIRST.vpn1 + 1} protocol TCP`);
  expect(await fromInternet("vpn1", FIRST.vpn1 + 1)).toBe(phone.namespace);
  expect(await fromInternet("vpn1", FIRST.vpn1)).toBe(tv.namespace);
  // All of its own, which leaves the other device's alone.
  expect((await natpmpc(phone, "-a", "0", "0", "tcp", "0")).code).toBe(0);
  expect(await fromInternet("vpn1", FIRST.vpn1 + 1)).toBeNull();
  expect(await fromInternet("vpn1", FIRST.vpn1)).toBe(tv.namespace);
  expect((await forwards()).map(({ device }) => device)).toEqual([tv.mac]);
});

test("nobody but the LAN is answered, and nothing of it leaves outside the tunnel", async () => {
  await mapTv();
  const { router, internet, vpn1 } = lab.namespaces;
  await lab.exec(router, ["ip", "route", "replace", LAN.prefix4, "via", UPLINK.gateway4]);
  for (const [from, to] of [
    [router, UPLINK.gateway4],
    [router, LAN.gateway4],
    [vpn1, "10.64.0.2"],
    [internet, VPN.vpn1.v4],
  ] as const) {
    const { code, stdout } = await lab.exec(from, [
      "timeout",
      "3",
      "natpmpc",
      "-g",
      to,
      "-a",
      "0",
      "99",
      "tcp",
      "60",
    ]);
    expect([from, to, code === 0, stdout.includes("Mapped")]).toEqual([from, to, false, false]);
  }
  expect((await forwards()).map(({ port }) => port)).toEqual([PORT]);
});

test("Transmission on a device maps its port by itself, and its peers reach it there", async () => {
  const settings = ["--portmap", "--peerport", String(PEER_PORT), "--no-dht", "--no-lpd"];
  const argv = [
    "transmission-daemon",
    "--foreground",
    "--config-dir",
    join(lab.sandbox.directory, "peer"),
    ...settings,
  ];
  const peer = Bun.spawn(commandIn(phone.namespace, argv), {
    env: { ...process.env, ...CLIENT_ENVIRONMENT },
    stdio: ["ignore", "ignore", "ignore"],
  });
  try {
    const isPeers = ({ port }: Forward) => port === PEER_PORT;
    const mapped = (await eventually((all) => all.find(isPeers)?.state === "open")).find(isPeers);
    expect(mapped).toMatchObject({ device: phone.mac, protocol: "tcp", asked_by: "device" });
    const call = `exec 3<>/dev/tcp/${VPN.vpn1.v4}/${mapped?.external}`;
    const peers = async () =>
      (await lab.exec(lab.namespaces.internet, ["timeout", "5", "bash", "-c", call])).code === 0;
    await until(peers);
  } finally {
    peer.kill("SIGKILL");
  }
  expect((await natpmpc(phone, "-a", "0", "0", "tcp", "0")).code).toBe(0);
  expect(await forwards()).toEqual([]);
});

test("a server that loses its ports gives another one, which the device is told of and maps again", async () => {
  await mapTv();
  const heard = lab.exec(tv.namespace, ["timeout", "60", process.execPath, "-e", HEARS]);
  provider.restart();
  // The renewal after 45 s notices it.
  await eventually(([first]) => first?.external === FIRST.vpn1 + 100);
  expect(await fromInternet("vpn1", FIRST.vpn1 + 100)).toBe(tv.namespace);
  expect(await fromInternet("vpn1", FIRST.vpn1)).toBeNull();
  expect((await heard).stdout).toContain(`${LAN.gateway4} 00800000`);
  expect((await map(tv)).text).toContain(`Mapped public port ${FIRST.vpn1 + 100} protocol TCP`);
});

/** Prints the first announcement of a new epoch, and ends. */
const HEARS = `const socket = require("node:dgram").createSocket({ type: "udp4", reuseAddr: true });
socket.on("message", (bytes, from) => {
  console.log(from.address, bytes.toString("hex"));
  if (bytes.readUInt32BE(4) < 2) process.exit(0);
});
socket.bind(5350);`;

test("the port moves with a switch to another server, and with the device to another tunnel", async () => {
  const port = FIRST.vpn1;
  await mapTv();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-2" });
  // The other server gives it the same number, which it asks for.
  await until(async () => (await fromInternet("vpn2", port)) === tv.namespace);
  expect(await fromInternet("vpn1", port)).toBeNull();
  expect(other.asked.at(-1)).toStartWith("10.64.0.2 ");
  await gateway.ask("POST", "/api/custom/add", lab.sandbox.servers[0].customBody);
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "custom", server: "custom-1" });
  await gateway.ask("PUT", `/api/devices/${tv.mac}`, { exit: "second" });
  await eventually(([first]) => first?.tunnel === "second" && first.state === "open");
  const [moved] = await forwards();
  expect(await fromInternet("vpn1", moved?.external ?? 0)).toBe(tv.namespace);
  expect(await fromInternet("vpn2", port)).toBeNull();
  expect(provider.asked.at(-1)).toStartWith("10.64.0.11 ");
});

test("without a tunnel a device hears of a failure of the network, and without --port-mapping of nothing that listens", async () => {
  await gateway.ask("POST", "/api/disconnect");
  const { code, text } = await map(phone);
  expect([code === 0, text]).toEqual([false, expect.stringContaining("network failure")]);
  delete options.flags;
  await gateway.restart();
  expect((await map(phone)).text).toContain("does not support");
});
