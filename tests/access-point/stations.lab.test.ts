import { afterAll, beforeAll, expect } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode, encode } from "dns-packet";
import { serveStations } from "../../src/access-point/open.ts";
import { ADDRESS, PORTS } from "../../src/access-point/settings.ts";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { needsNamespaces } from "../fast.ts";
import { Listener } from "../rig/tools/listener.ts";
import { until } from "../rig/tools/until.ts";

const { test } = needsNamespaces;

/** In place of the Wi-Fi card there is a bridge, whose ports are isolated as the stations of an access point are. */
const [AIR, ONE, TWO, GATEWAY] = ["air", "one", "two", "gw"].map((each) => `pcap${process.pid}-${each}`) as [
  string,
  string,
  string,
  string,
];
const ADDRESSES = { [ONE]: "192.168.73.11", [TWO]: "192.168.73.12" };
const MAIN = join(import.meta.dir, "../../src/main.ts");
/** What listens there, and is no business of a station's. */
const OTHER_PORT = 2222;
const machine = new LinuxHost();
const ip = (text: string) => machine.run(["ip", "-batch", "-"], { stdin: text });
let serving: Awaited<ReturnType<typeof serveStations>>;
let page: Bun.Subprocess;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-stations-"));
  writeFileSync(
    join(folder, "script"),
    '#!/bin/sh\n[ "$1" != bound ] || env | grep -E "^(ip|router|dns|opt114)="\n',
    {
      mode: 0o755,
    },
  );
  await ip([AIR, ONE, TWO, GATEWAY].map((name) => `netns add ${name}\n`).join(""));
  const cables = [ONE, TWO].flatMap((station, number) => [
    `link add a${number} netns ${AIR} type veth peer name wlan0 netns ${station}`,
    `-n ${AIR} link set a${number} master wlan0 up`,
    `-n ${station} link set wlan0 up`,
    `-n ${station} address add ${ADDRESSES[station]}/24 dev wlan0`,
    `-n ${station} route add default via ${ADDRESS}`,
  ]);
  for (const line of [`-n ${AIR} link add wlan0 type bridge`, `-n ${AIR} link set wlan0 up`, ...cables])
    await machine.run(["ip", ...line.split(" ")]);
  for (const port of ["a0", "a1"])
    await machine.run(commandIn(AIR, ["bridge", "link", "set", "dev", port, "isolated", "on"]));
  await machine.run(["ip", "-n", GATEWAY, "link", "set", "lo", "up"]);
  const answer = `Bun.serve({ hostname: "127.0.0.1", port: ${PORTS.https}, fetch: (request, server) => new Response(server.requestIP(request).address) })`;
  page = Bun.spawn(commandIn(GATEWAY, [process.execPath, "-e", answer]));
  serving = await serveStations(machine, {
    ...{ netns: AIR, link: "wlan0", gateway: GATEWAY, program: [process.execPath, MAIN] },
  });
  await until(async () => (await get(ONE, `http://${ADDRESS}/`)) !== "");
});
afterAll(async () => {
  serving?.stop();
  page?.kill();
  rmSync(folder, { recursive: true });
  for (const name of [AIR, ONE, TWO, GATEWAY]) await machine.run(["ip", "netns", "del", name]);
});

/** Empty without an answer. */
function get(station: string, url: string, ...more: string[]): Promise<string> {
  return machine.run(commandIn(station, ["curl", "-s", "-m", "5", ...more, url])).catch(() => "");
}

/** The address in the answer to a question about a name. */
async function ask(station: string, port: number, name: string): Promise<unknown> {
  const query = encode({ type: "query", id: 7, flags: 256, questions: [{ type: "A", name }] });
  const send = `const s = await Bun.udpSocket({ socket: { data: (_, d) => { console.log(d.toBase64()); process.exit(); } } });
    setTimeout(() => process.exit(), 3000); s.send(Buffer.from("${query.toBase64()}", "base64"), ${port}, "${ADDRESS}");`;
  const text = await machine.run(commandIn(station, [process.execPath, "-e", send]));
  return text === ""
    ? null
    : decode(Buffer.from(text, "base64")).answers?.map((each) => each.type === "A" && each.data);
}

/** The same of multicast DNS, as phones ask: the answer comes to the group too. */
async function askAll(station: string, name: string): Promise<unknown> {
  const query = encode({ type: "query", id: 0, questions: [{ type: "A", name }] });
  const send = `const s = require("node:dgram").createSocket({ type: "udp4", reuseAddr: true });
    s.on("message", (d) => { if (d[2] & 0x80) { console.log(d.toString("base64")); process.exit(); } });
    s.bind(${PORTS.mdns}, () => { s.addMembership("224.0.0.251", "${ADDRESSES[station]}");
      s.setMulticastInterface("${ADDRESSES[station]}"); s.send(Buffer.from("${query.toBase64()}", "base64"), ${PORTS.mdns}, "224.0.0.251"); });
    setTimeout(() => process.exit(), 5000);`;
  const text = await machine.run(commandIn(station, [process.execPath, "-e", send]));
  return text === ""
    ? null
    : decode(Buffer.from(text, "base64")).answers?.map((each) => each.type === "A" && each.data);
}

/** Whether what a station sends another one by way of the gateway arrives. */
async function reaches(): Promise<boolean> {
  const listener = await Listener.start(TWO, OTHER_PORT);
  const mac = (await machine.run(commandIn(AIR, ["cat", "/sys/class/net/wlan0/address"]))).trim();
  await machine.run([
    "ip",
    "-n",
    ONE,
    "neigh",
    "replace",
    ADDRESSES[TWO] ?? "",
    "lladdr",
    mac,
    "dev",
    "wlan0",
  ]);
  const send = `const s = await Bun.udpSocket({}); for (let n = 0; n < 5; n++) s.send("x", ${OTHER_PORT}, "${ADDRESSES[TWO]}"); s.close();`;
  await machine.run(commandIn(ONE, [process.execPath, "-e", send]));
  return (await listener.stop()).length > 0;
}

test("a station's address comes with the portal's (RFC 8910), its router and its resolver", async () => {
  const lease = await machine.run(
    commandIn(TWO, ["udhcpc", "-i", "wlan0", "-n", "-q", "-f", "-O", "114", "-s", join(folder, "script")]),
  );
  expect(lease).toMatch(/^ip=192\.168\.73\.\d+$/m);
  expect(lease).toContain(`router=${ADDRESS}\n`);
  expect(lease).toContain(`dns=${ADDRESS}\n`);
  const [, hex = ""] = /^opt114=(.*)$/m.exec(lease) ?? [];
  expect(Buffer.from(hex, "hex").toString()).toBe(`http://${ADDRESS}/`);
});

test("each name has the gateway's address, and its own one also by multicast DNS", async () => {
  expect(await ask(ONE, PORTS.dns, "captive.apple.com")).toEqual([ADDRESS]);
  const own = `${(await machine.run(["hostname"])).trim()}.local`;
  expect(await ask(ONE, PORTS.mdns, own)).toEqual([ADDRESS]);
  expect(await askAll(ONE, own)).toEqual([ADDRESS]);
});

test("a probe leads to the page, and the gateway's own page sees each station with an address of loopback", async () => {
  const probe = ["-o", "/dev/null", "-w", "%{http_code} %{redirect_url}", "-H", "Host: captive.apple.com"];
  expect(await get(ONE, `http://${ADDRESS}/hotspot-detect.html`, ...probe)).toBe(`302 http://${ADDRESS}/`);
  expect(await get(ONE, `http://${ADDRESS}:${PORTS.https}/`)).toBe("127.73.0.11");
});

test("the portal has no right but that to the usual ports", async () => {
  const pids = await machine.run(["ip", "netns", "pids", AIR]);
  const files = pids.trim().split("\n");
  const states = await Promise.all(files.map((pid) => machine.read(`/proc/${pid}/status`)));
  const [portal] = states.filter((text) => text?.includes("NoNewPrivs:\t1"));
  expect(portal).toContain("Uid:\t65534\t65534\t65534\t65534");
  expect(portal).toContain("CapBnd:\t0000000000000400");
});

test("a station reaches no other port of the gateway, and nothing beyond: without the rules it does", async () => {
  const other = await Listener.start(AIR, OTHER_PORT);
  expect(await get(ONE, `http://${ADDRESS}:${OTHER_PORT}/`)).toBe("");
  expect(await other.stop()).toEqual([]);
  expect(await reaches()).toBe(false);
  await machine.run(commandIn(AIR, ["nft", "flush", "ruleset"]));
  await machine.run(commandIn(AIR, ["sysctl", "-qw", "net.ipv4.ip_forward=1"]));
  const open = await Listener.start(AIR, OTHER_PORT);
  await get(ONE, `http://${ADDRESS}:${OTHER_PORT}/`);
  expect(await open.stop()).toEqual(["192.168.73.11"]);
  expect(await reaches()).toBe(true);
});
