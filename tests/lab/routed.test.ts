import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, LAN, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { Probe } from "../rig/tools/probe.ts";
import { askerIn, questions } from "../rig/tools/question.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("the same gateway with other networks behind it");

/** Two connects, restarts and some seconds of traffic, on a busy machine. */
setDefaultTimeout(240_000);

const PAGE = `http://${INTERNET.host4}/`;
const PAGE6 = `http://[${INTERNET.host6}]/`;
/** So many questions are enough for a loss to show. */
const ENOUGH = 100;

/** The second router of the LAN, and a host on each of the networks behind it. */
const INNER = { v4: "192.168.77.50", v6: "fd77::50", mac: "02:00:00:00:10:50" };
const OFFICE = {
  prefix: "10.8.0.0/24",
  host: "10.8.0.10",
  prefix6: "fd08:0:0:1::/64",
  host6: "fd08:0:0:1::10",
};
const CAMERAS = {
  prefix: "10.8.7.0/24",
  host: "10.8.7.10",
  prefix6: "fd08:0:0:7::/64",
  host6: "fd08:0:0:7::10",
};
const ROUTES = [`10.8.0.0/16 via ${INNER.v4}`, `fd08::/48 via ${INNER.v6}`];

let lab: Lab;
let gateway: Gateway;
let names: { inner: string; office: string; cameras: string };
const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  const { id } = lab.sandbox;
  names = { inner: `${id}-inner`, office: `${id}-office`, cameras: `${id}-cams` };
  await build();
  // Otherwise the kernel sends one ICMP error a second to each host.
  for (const path of ["ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"])
    expect((await inside("sysctl", "-qw", `net/${path}=0`)).code).toBe(0);
  gateway = await lab.startGateway();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  for (const prefix of [OFFICE.prefix, OFFICE.prefix6]) await assign(prefix, "second");
  for (const prefix of [CAMERAS.prefix, CAMERAS.prefix6]) await assign(prefix, "blocked");
  await gateway.keep();
});
beforeEach(async () => {
  await Probe.endIn(Object.values(names));
  await gateway.expose();
  await inside("ip", "-4", "route", "flush", "root", "10.8.0.0/16");
  await inside("ip", "-6", "route", "flush", "root", "fd08::/48");
  // A cable that was out has lost it.
  await inside("ip", "address", "replace", `${LAN.gateway6}/64`, "dev", "lan0", "nodad");
  await gateway.reset();
});
afterAll(async () => {
  await lab?.close();
  for (const name of Object.values(names)) await lab?.outside(["ip", "netns", "del", name]);
});

async function batch(namespace: string, lines: readonly string[]): Promise<void> {
  const { stderr } = await lab.outside(["ip", "-n", namespace, "-batch", "-"], `${lines.join("\n")}\n`);
  expect(stderr).toBe("");
}

async function build(): Promise<void> {
  const { inner } = names;
  for (const name of Object.values(names)) await lab.outside(["ip", "netns", "add", name]);
  await batch(lab.namespaces.client, [
    `link add link lan0 name inner address ${INNER.mac} netns ${inner} type macvlan mode private`,
  ]);
  await batch(inner, [
    "link set lo up",
    "link set inner name lan0",
    "link set lan0 up",
    `address add ${INNER.v4}/24 dev lan0`,
    `address add ${INNER.v6}/64 dev lan0 nodad`,
    `route add default via ${LAN.gateway4}`,
    `route add default via ${LAN.gateway6}`,
  ]);
  for (const path of ["ipv4/ip_forward", "ipv6/conf/all/forwarding"])
    await lab.exec(inner, ["sysctl", "-qw", `net/${path}=1`]);
  for (const [number, [name, { host, host6 }]] of [
    [names.office, OFFICE] as const,
    [names.cameras, CAMERAS] as const,
  ].entries()) {
    const [router4, router6] = [host.replace(/10$/, "1"), host6.replace(/10$/, "1")];
    await batch(inner, [
      `link add net${number} type veth peer name net0 netns ${name}`,
      `link set net${number} up`,
      `address add ${router4}/24 dev net${number}`,
      `address add ${router6}/64 dev net${number} nodad`,
    ]);
    await batch(name, [
      "link set lo up",
      "link set net0 up",
      `address add ${host}/24 dev net0`,
      `address add ${host6}/64 dev net0 nodad`,
      `route add default via ${router4}`,
      `route add default via ${router6}`,
    ]);
  }
}

const assign = (prefix: string, exit: string) =>
  gateway.ask("PUT", `/api/devices/${encodeURIComponent(prefix)}`, { exit });
const row = async (id: string) =>
  (await gateway.api("GET", "/api/devices")).body.devices.find((device: { id: string }) => device.id === id);
const routes = async (verb: "add" | "del") => {
  for (const route of ROUTES)
    expect((await inside("ip", "route", verb, ...route.split(" "))).stderr).toBe("");
};
/** What most tests begin with: the gateway knows the way to the networks. */
async function useRoutes(): Promise<void> {
  await routes("add");
  await until(async () => (await officePages()).every((page) => page !== null));
}
const officePages = async () => [
  await lab.fetchFrom(names.office, PAGE),
  await lab.fetchFrom(names.office, PAGE6),
];
const BY_SECOND = [expect.stringContaining(VPN.vpn2.v4), expect.stringContaining(VPN.vpn2.v6)];

test("without a route of the LAN a network is assigned and offline, and what it sends is dropped", async () => {
  expect(await row(OFFICE.prefix)).toMatchObject({ exit: "second", interface: null, online: false });
  expect(await officePages()).toEqual([null, null]);
});

test("with the route each network leaves by its exit, the router by its own, and nobody else notices", async () => {
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp", "udp6", "flow"] });
  await traffic.sends(ENOUGH);
  await routes("add");
  await until(async () => (await lab.fetchFrom(names.office, PAGE)) !== null);
  expect(await officePages()).toEqual(BY_SECOND);
  for (const page of [PAGE, PAGE6]) expect(await lab.isRefused(names.cameras, page)).toBe(true);
  expect(await lab.fetchFrom(names.inner, PAGE)).toContain(VPN.vpn1.v4);
  await assign(CAMERAS.prefix, "main");
  expect(await lab.fetchFrom(names.cameras, PAGE)).toContain(VPN.vpn1.v4);
  await assign(CAMERAS.prefix, "blocked");
  const office = await lab.traffic(names.office, { resolver: LAN.gateway4 });
  await office.sends(ENOUGH);
  for (const [kind, { sent, lost, refused }] of Object.entries(await office.stop()))
    expect({ kind, some: sent > 2, lost, refused }).toEqual({ kind, some: true, lost: [], refused: 0 });
  await traffic.sends(ENOUGH);
  for (const [kind, { lost, refused }] of Object.entries(await traffic.stop()))
    expect({ kind, lost, refused }).toEqual({ kind, lost: [], refused: 0 });
  await until(async () => (await row(OFFICE.prefix)).online);
  const found = await row(OFFICE.prefix);
  expect(found).toMatchObject({ interface: "lan0", addresses: [OFFICE.host] });
  expect([found.rx_bytes > 0, found.tx_bytes > 0]).toEqual([true, true]);
});

test("questions of a network whose route or prefix is gone are dropped, whatever its hosts asked before", async () => {
  const gone = async () => (await row(CAMERAS.prefix))?.interface == null;
  const asked = async () => {
    const tap = await Wiretap.start(lab.namespaces.vpn1, lab.sandbox.serverInterfaces.vpn1, "dst port 53");
    const before = (await asking.count())[0]?.sent ?? 0;
    await asking.until(({ sent }) => sent >= before + ENOUGH);
    // The gateway itself asks other questions, which measure the tunnel.
    return (await tap.stop()).filter((line) => line.includes("whoami.test")).length;
  };
  await useRoutes();
  await assign(CAMERAS.prefix, "main");
  const asking = await Probe.start(names.cameras, questions([LAN.gateway4]).slice(0, 1));
  await asking.until(({ answered }) => answered > 0);
  expect(await asked()).toBeGreaterThan(0);
  await assign(CAMERAS.prefix, "blocked");
  expect(await asked()).toBe(0);
  await routes("del");
  await until(gone);
  expect(await asked()).toBe(0);
  await routes("add");
  await until(async () => !(await gone()));
  await gateway.ask("DELETE", `/api/devices/${encodeURIComponent(CAMERAS.prefix)}`);
  expect(await asked()).toBe(0);
  await asking.stop();
});

test("a host of the LAN that takes an address of the network gets that network's exit at most", async () => {
  await useRoutes();
  const { vpn1, vpn2 } = lab.sandbox.serverInterfaces;
  const filter = `tcp and dst host ${INTERNET.host4}`;
  const main = await Wiretap.start(lab.namespaces.vpn1, vpn1, filter);
  const second = await Wiretap.start(lab.namespaces.vpn2, vpn2, filter);
  const { client } = lab.namespaces;
  for (const host of ["10.8.0.99", "10.8.7.99"]) {
    await batch(client, [`address add ${host}/32 dev lan0`]);
    await lab.exec(client, ["curl", "-s", "-m", "2", "--interface", host, PAGE]);
    await batch(client, [`address del ${host}/32 dev lan0`]);
  }
  expect([(await main.stop()).length, (await second.stop()).length > 0]).toEqual([0, true]);
});

test("the gateway's own resolver takes the questions of a network from its router only, and asks by the network's exit", async () => {
  await useRoutes();
  await gateway.ask("PUT", "/api/dns/lists", { lists: [], block_doh: true });
  await until(async () => (await gateway.api("GET", "/api/dns")).body.state === "on");
  const { vpn1, vpn2 } = lab.sandbox.serverInterfaces;
  const taps = await Promise.all([
    Wiretap.start(lab.namespaces.vpn1, vpn1, "dst port 53"),
    Wiretap.start(lab.namespaces.vpn2, vpn2, "dst port 53"),
  ]);
  const asking = await Probe.start(
    names.office,
    questions([LAN.gateway4, LAN.gateway6], "office.whoami.test"),
  );
  await asking.until(({ answered }) => answered > 0);
  for (const { answer } of await asking.stop()) expect(askerIn(answer)).toBe(VPN.vpn2.v4);
  const blocked = await Probe.start(
    names.cameras,
    questions([LAN.gateway4, LAN.gateway6], "cameras.whoami.test"),
  );
  await blocked.until(({ answered, refused }) => answered + refused > 0);
  await blocked.stop();
  const { client } = lab.namespaces;
  for (const [host, size] of [
    ["10.8.0.99", 32],
    ["fd08:0:0:1::99", 128],
  ] as const) {
    await batch(client, [`address add ${host}/${size} dev lan0`]);
    const payload = questions([LAN.gateway4], "forged.whoami.test")[0]?.payload;
    const script = `const socket = await Bun.udpSocket({ hostname: "${host}", socket: { error() {} } });
        socket.send(Buffer.from("${payload}", "hex"), 53, "${size === 32 ? LAN.gateway4 : LAN.gateway6}");
        await Bun.sleep(200); socket.close();`;
    await lab.exec(client, [process.execPath, "-e", script]);
    await batch(client, [`address del ${host}/${size} dev lan0`]);
  }
  const [main, second] = (await Promise.all(taps.map((tap) => tap.stop()))).map((lines) =>
    lines.join().toLowerCase(),
  );
  const seen = (name: string) => [main?.includes(name), second?.includes(name)];
  expect(seen("office.whoami")).toEqual([false, true]);
  for (const name of ["cameras.whoami", "forged.whoami"])
    expect([name, ...seen(name)]).toEqual([name, false, false]);
});

test("what is for the network, errors included, never leaves by the uplink: not without its route, nor by another, nor with either layer alone", async () => {
  await useRoutes();
  // What the gateway refuses, the firewall rejects or, without it, the kernel.
  for (const network of [names.office, names.cameras])
    await Probe.start(
      network,
      [LAN.gateway4, LAN.gateway6].flatMap((to) => [
        ...questions([to]),
        { protocol: "udp", address: to, port: 9, payload: "00" },
      ]),
    );
  const { sandbox, namespaces } = lab;
  const tap = () => Wiretap.start(namespaces.router, "lan0", "net 10.8.0.0/16 or net fd08::/48");
  const send = async () => {
    for (const host of [OFFICE.host, CAMERAS.host, OFFICE.host6, CAMERAS.host6])
      await inside("ping", "-c2", "-i0.1", "-W1", host);
  };
  const lines = [OFFICE.prefix, CAMERAS.prefix].map(
    (prefix) => `route add ${prefix} via ${ROUTER.lan[2].v4} dev ${sandbox.uplink}`,
  );
  lines.push(
    ...[OFFICE.prefix6, CAMERAS.prefix6].map(
      (prefix) => `route add ${prefix} via ${ROUTER.lan[2].v6} dev ${sandbox.uplink}`,
    ),
  );
  const firewall = await tap();
  // As DHCP or a router's advertisement would add them (CVE-2024-3661).
  await batch(namespaces.gateway, lines);
  expect(await officePages()).toEqual(BY_SECOND);
  await routes("del");
  await until(async () => (await row(OFFICE.prefix)).interface === null);
  await send();
  expect(await firewall.stop()).toEqual([]);
  await routes("add");
  // The way to the network is known before the kernel has it.
  await until(async () => (await officePages()).every((page) => page !== null));
  expect(await officePages()).toEqual(BY_SECOND);
  // Another program removes the gateway's own routes.
  for (const family of ["-4", "-6"]) await inside("ip", family, "route", "flush", "table", "20564");
  await until(async () => (await officePages()).every((page) => page !== null));

  await gateway.kill("SIGKILL");
  const routing = await tap();
  const { stdout: table } = await inside("nft", "list", "table", "inet", "portcullis");
  await inside("nft", "flush", "ruleset");
  await send();
  await inside("ip", "link", "set", "dev", sandbox.lan, "down");
  await send();
  await inside("ip", "link", "set", "dev", sandbox.lan, "up");
  expect(await routing.stop()).toEqual([]);

  for (const family of ["-4", "-6"]) await inside("ip", family, "rule", "del", "priority", "35");
  for (const family of ["-4", "-6"])
    await inside("ip", family, "rule", "add", "priority", "9", "lookup", "main");
  const control = await tap();
  await send();
  expect((await control.stop()).length).toBeGreaterThan(0);
  expect((await lab.exec(namespaces.gateway, ["nft", "-f", "-"], table)).stderr).toBe("");
  const alone = await tap();
  await send();
  expect(await alone.stop()).toEqual([]);
});
