import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { BOUNDS_TABLE, boundsFor } from "../../src/network/bounds-table.ts";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { INTERNET, LAN, UPLINK, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { Doorbell } from "../rig/peers/visited-port.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what the leaks show in passing");

/** Connects, switches and restarts on a busy machine. */
setDefaultTimeout(240_000);

const PORT = 6881;
/** Open at both servers of the provider, as a port is that a person sets on its site; and another one. */
const [EXTERNAL, OTHER] = [51_413, 51_414];
/** The address of the managed account inside the tunnel. */
const [INSIDE4, INSIDE6] = ["10.64.0.2", "fd64::2"];

let lab: Lab;
let gateway: Gateway;
let tv: LanDevice;
let phone: LanDevice;
let bell: Doorbell;
let otherBell: Doorbell;
let sniffer: Awaited<ReturnType<Lab["sniff"]>>;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  [tv, phone] = await Promise.all([LanDevice.plugIn(lab, 1), LanDevice.plugIn(lab, 2)]);
  bell = await Doorbell.start(lab, tv.namespace, PORT);
  otherBell = await Doorbell.start(lab, phone.namespace, PORT);
  for (const namespace of [lab.namespaces.vpn1, lab.namespaces.vpn2]) await openPorts(namespace);
  gateway = await lab.startGateway();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.keep();
});

beforeEach(async () => {
  await gateway.reset();
  // Of IPv6 only a device that sends something is known.
  for (const { namespace } of [tv, phone])
    for (const address of [LAN.gateway4, LAN.gateway6])
      await lab.exec(namespace, ["ping", "-c", "1", address]);
  await gateway.hears(2, 2);
  rings();
  sniffer = await lab.sniff();
});

afterEach(async () => {
  expect((await sniffer.stop()).leaks).toEqual([]);
});

afterAll(async () => {
  bell?.stop();
  otherBell?.stop();
  await lab?.close();
});

/** The provider sends what arrives at these ports of its server into the tunnel. */
async function openPorts(namespace: string): Promise<void> {
  const rule = (family: string, to: string) =>
    [EXTERNAL, OTHER].map(
      (port) => `iifname "wan0" meta nfproto ${family} meta l4proto { tcp, udp } th dport ${port} dnat ${to}`,
    );
  const rules = [...rule("ipv4", `ip to ${INSIDE4}`), ...rule("ipv6", `ip6 to ${INSIDE6}`)];
  const table = `table inet ports { chain in { type nat hook prerouting priority dstnat - 1\n${rules.join("\n")}\n}\n}\n`;
  expect(await lab.exec(namespace, ["nft", "-f", "-"], table)).toMatchObject({ code: 0, stderr: "" });
}

const forward = (protocol: string, external = EXTERNAL) =>
  gateway.ask("PUT", `/api/forwards/${tv.mac}/${protocol}/${PORT}`, { external });
const unforward = (protocol: string) => gateway.ask("DELETE", `/api/forwards/${tv.mac}/${protocol}/${PORT}`);

async function call(
  namespace: string,
  protocol: string,
  address: string,
  port: number,
): Promise<string | null> {
  const host = address.includes(":") ? `[${address}]` : address;
  if (protocol === "tcp") return lab.fetchFrom(namespace, `http://${host}:${port}/`);
  const script = `exec 3<>/dev/udp/${address}/${port}; echo ring >&3; timeout 2 dd bs=100 count=1 status=none <&3`;
  const { stdout } = await lab.exec(namespace, ["bash", "-c", script]);
  return stdout.trim() === "" ? null : stdout.trim();
}

/** What most tests begin with: the port is open by TCP and UDP. */
async function forwardBoth(): Promise<void> {
  for (const protocol of ["tcp", "udp"]) await forward(protocol);
  await until(async () => Bun.deepEquals(await fromInternet("vpn1"), everyCall()));
  rings();
}

const CALLS = ["tcp", "udp"].flatMap((protocol) => ["v4", "v6"].map((family) => [protocol, family] as const));

/** What a host on the internet hears from the port of a server: by TCP and UDP, by IPv4 and IPv6. */
async function fromInternet(server: keyof typeof VPN, port = EXTERNAL): Promise<(string | null)[]> {
  const { internet } = lab.namespaces;
  return Promise.all(
    CALLS.map(([protocol, family]) =>
      call(internet, protocol, VPN[server][family === "v4" ? "v4" : "v6"], port),
    ),
  );
}

const NOBODY = [null, null, null, null];
const everyCall = () => Array<string>(4).fill(tv.namespace);
const rings = () => [...new Set([...bell.rings(), ...otherBell.rings()])].sort();

test("positive control: the server sends into the tunnel what arrives, and without a forward nothing of it reaches a device", async () => {
  const { code, stdout } = await lab.exec(lab.namespaces.gateway, ["ip", "-br", "address"]);
  expect([code, stdout]).toEqual([0, expect.stringContaining(INSIDE4)]);
  const before = await received();
  expect(await fromInternet("vpn1")).toEqual(NOBODY);
  expect((await received()) - before).toBeGreaterThan(3);
  expect(rings()).toEqual([]);
});

/** Packets that have come out of the tunnels. */
async function received(): Promise<number> {
  const { stdout } = await lab.exec(lab.namespaces.gateway, ["ip", "-j", "-s", "link"]);
  const links = JSON.parse(stdout) as { ifname: string; stats64: { rx: { packets: number } } }[];
  return links
    .filter(({ ifname }) => ifname.startsWith(lab.sandbox.id))
    .reduce((sum, { stats64 }) => sum + stats64.rx.packets, 0);
}

test("a host on the internet reaches the device through the server, and the device sees the host's own address", async () => {
  expect(await forward("tcp")).toMatchObject({ state: "open", external: EXTERNAL, error: null });
  await forward("udp");
  expect(await fromInternet("vpn1")).toEqual(everyCall());
  // The host has two addresses of each family.
  const callers = Object.values(INTERNET).flatMap((host) => [`tcp ${host}`, `udp ${host}`]);
  const seen = rings();
  expect([seen.length, seen.filter((ring) => !callers.includes(ring))]).toEqual([4, []]);
});

test("nothing else reaches it: from the uplink, from the LAN, at another port, or at the other server", async () => {
  await forwardBoth();
  const { router, client } = lab.namespaces;
  await lab.exec(router, ["ip", "route", "replace", INSIDE4, "via", UPLINK.gateway4]);
  await lab.exec(router, ["ip", "route", "replace", tv.v4, "via", UPLINK.gateway4]);
  const ways = [
    [router, UPLINK.gateway4],
    [router, INSIDE4],
    [router, tv.v4],
    [client, LAN.gateway4],
    [client, INSIDE4],
  ] as const;
  const calls = ways.flatMap(([from, to]) =>
    ["tcp", "udp"].flatMap((protocol) => [EXTERNAL, PORT].map((port) => ({ from, to, protocol, port }))),
  );
  const heard = await Promise.all(
    calls.map(async (way) => ({ ...way, name: await call(way.from, way.protocol, way.to, way.port) })),
  );
  expect(heard.filter(({ name }) => name !== null)).toEqual([]);
  expect(await fromInternet("vpn1", OTHER)).toEqual(NOBODY);
  expect(await fromInternet("vpn2")).toEqual(NOBODY);
  expect(rings()).toEqual([]);
  expect(await fromInternet("vpn1")).toEqual(everyCall());
  rings();
});

test("after a restart with an empty neighbour table, the kernel finds the device, and the port is open again", async () => {
  await forwardBoth();
  await gateway.kill("SIGTERM");
  const { code } = await lab.exec(lab.namespaces.gateway, ["ip", "neigh", "flush", "all"]);
  expect(code).toBe(0);
  await gateway.start();
  const call4 = () => call(lab.namespaces.internet, "tcp", VPN.vpn1.v4, EXTERNAL);
  await until(async () => (await call4()) === tv.namespace);
  // By IPv6, once it has sent something.
  await lab.exec(tv.namespace, ["ping", "-c", "1", LAN.gateway6]);
  await until(async () => Bun.deepEquals(await fromInternet("vpn1"), everyCall()));
});

test("a connection from the internet ends with its forward, also one that has begun", async () => {
  const script = `exec 3<>/dev/tcp/${VPN.vpn1.v4}/${EXTERNAL}; for n in $(seq 100); do echo $n >&3; read -t 5 -u 3 line || exit; echo $line; sleep 0.2; done`;
  await forwardBoth();
  const caller = lab.exec(lab.namespaces.internet, ["timeout", "30", "bash", "-c", script]);
  await until(() => bell.rings().length > 0);
  await Bun.sleep(1_000);
  await unforward("tcp");
  const echoes = (await caller).stdout.split("\n").filter((line) => line !== "");
  expect(echoes.length).toBeWithin(2, 90);
  rings();
  expect(await call(lab.namespaces.internet, "tcp", VPN.vpn1.v4, EXTERNAL)).toBeNull();
  await unforward("udp");
  expect([await fromInternet("vpn1"), rings()]).toEqual([NOBODY, []]);
});

test("one that has begun ends with the tunnel, too: nothing of it is left when the next server has the tunnel's place", async () => {
  await forwardBoth();
  const script = `exec 3<>/dev/tcp/${VPN.vpn1.v4}/${EXTERNAL}; echo ring >&3; exec cat <&3`;
  const caller = Bun.spawn(commandIn(lab.namespaces.internet, ["bash", "-c", script]), {
    stdout: "ignore",
  });
  const led = async () => {
    let count = 0;
    await new NamespaceHost(lab.namespaces.gateway).endConnections(({ isOpen, original }) => {
      if (isOpen && original.destinationPort === EXTERNAL) count += 1;
      return false;
    });
    return count;
  };
  try {
    await until(async () => (await led()) > 0);
    await gateway.ask("POST", "/api/connect", { server: "box-vpn-2" });
    await until(async () => (await led()) === 0);
  } finally {
    caller.kill("SIGKILL");
    await caller.exited;
  }
});

test("hosts on the internet open no more connections to a device than it may have, and other devices are reached", async () => {
  const own = new NamespaceHost(lab.namespaces.gateway);
  const replace = async (most: number) => {
    const bounds = boundsFor({ most, places: 65_536, remote: null, ports: [5000] });
    await own.run(["nft", "-f", "-"], { stdin: `delete table ${BOUNDS_TABLE}\n${bounds}` });
  };
  await forwardBoth();
  await replace(3);
  const heard: (string | null)[] = [];
  // Each from another port; the kernel keeps them for half a minute.
  for (let count = 0; count < 6; count += 1)
    heard.push(await call(lab.namespaces.internet, "udp", VPN.vpn1.v4, EXTERNAL));
  expect(heard).toEqual([...Array<string>(3).fill(tv.namespace), null, null, null]);
  expect(await call(lab.namespaces.internet, "udp", VPN.vpn1.v6, EXTERNAL)).toBe(tv.namespace);
  // Positive control.
  await replace(8_192);
  expect(await call(lab.namespaces.internet, "udp", VPN.vpn1.v4, EXTERNAL)).toBe(tv.namespace);
});

test("without the firewall nothing is led to the device, and without routing no reply leaves", async () => {
  await forwardBoth();
  await gateway.kill("SIGKILL");
  const { gateway: own } = lab.namespaces;
  const { stdout: table } = await lab.exec(own, ["nft", "list", "ruleset"]);
  await lab.exec(own, ["nft", "flush", "ruleset"]);
  expect([await fromInternet("vpn1"), rings()]).toEqual([NOBODY, []]);
  expect((await lab.exec(own, ["nft", "-f", "-"], table)).code).toBe(0);
  expect(await fromInternet("vpn1")).toEqual(everyCall());
  for (const family of ["-4", "-6"])
    for (const table of ["20556"]) await lab.exec(own, ["ip", family, "route", "flush", "table", table]);
  expect(await fromInternet("vpn1")).toEqual(NOBODY);
});

test("a host of a network that a rule leads to another exit has no answer from the port, until the rule is gone", async () => {
  await forwardBoth();
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  const rule = { prefixes: ["203.0.113.64/26"], exit: "second" };
  const { id } = (await gateway.ask("POST", "/api/destinations", rule)) as { id: string };
  const byFamily = CALLS.map(([, family]) => (family === "v4" ? null : tv.namespace));
  expect(await fromInternet("vpn1")).toEqual(byFamily);
  await gateway.ask("DELETE", `/api/destinations/${id}`);
  await until(async () => Bun.deepEquals(await fromInternet("vpn1"), everyCall()));
});
