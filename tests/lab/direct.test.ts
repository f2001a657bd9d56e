import { afterAll, beforeAll, beforeEach, describe, expect } from "bun:test";
import { appendFileSync } from "node:fs";
import { TABLE } from "../../src/killswitch/ruleset.ts";
import { DIRECT_MARK } from "../../src/network/slot.ts";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { INTERNET, LAN, type NetworkCards, ROUTER, TUNNEL, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { knock } from "../rig/tools/connection-attempt.ts";
import { inject } from "../rig/tools/injector.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { type Mark, Marker, markIn } from "../rig/tools/marker.ts";
import { packetFrame, TCP, tcpBytes } from "../rig/tools/packet.ts";
import type { Traffic } from "../rig/tools/traffic.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what the leaks show in passing");

/** Some connects and restarts, and seconds of traffic, on a busy machine. */
const TIMEOUT_MS = 240_000;
const PAGE = `http://${INTERNET.host4}/`;
const PAGE6 = `http://[${INTERNET.host6}]/`;
/** So many questions are enough for a loss or a leak to show. */
const ENOUGH = 100;
/** Long enough for some marks of each kind. */
const MOMENT_MS = 600;
/** What the kernel may take to report that the cable is out, on a busy machine. */
const REFUSED_WITHIN_MS = 10_000;
/** Of a host on the internet that goes on sending. */
const STREAM_PORT = 9_123;
/** Nobody else uses it. */
const ODD_PORT = 9_321;
const STRAY_PORT = 57_166;
/** RFC 9293, section 3.1. */
const FIN_ACK = 0x11;
const DEVICES = [1, 2] as const;
type Device = (typeof DEVICES)[number];
type Place = "main" | "clear";

describe.each([2, 1] as const)("with %i network cards", (cards: NetworkCards) => {
  let lab: Lab;
  let gateway: Gateway;
  const router = ROUTER.lan[cards];
  let devices: LanDevice[];
  const namespaceOf = (device: Device) => devices[device - 1]?.namespace ?? "";
  const macOf = (device: Device) => devices[device - 1]?.mac ?? "";
  const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);

  beforeAll(async () => {
    lab = await createLab({ cards });
    appendFileSync(`/etc/netns/${lab.namespaces.gateway}/resolv.conf`, `nameserver ${router.v6}\n`);
    devices = await Promise.all(DEVICES.map((number) => LanDevice.plugIn(lab, number)));
    // Otherwise the kernel sends one ICMP error a second to each device.
    for (const path of ["ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"])
      expect((await inside("sysctl", "-qw", `net/${path}=0`)).code).toBe(0);
    gateway = await lab.startGateway();
    await ask("POST", "/api/connect", { server: "box-vpn-1" });
    await gateway.keep();
  }, TIMEOUT_MS);
  beforeEach(() => gateway.reset(), TIMEOUT_MS);
  afterAll(() => lab?.close(), TIMEOUT_MS);

  async function ask(method: string, path: string, body?: unknown, status = 200): Promise<void> {
    const answer = await gateway.api(method, path, body);
    expect({ path, status: answer.status, body: answer.status === status ? null : answer.body }).toEqual({
      ...{ path, status, body: null },
    });
  }

  const assign = (device: Device, exit: string, status?: number) =>
    ask("PUT", `/api/devices/${macOf(device)}`, { exit }, status);
  const allow = async (wanted: "on" | "off") =>
    expect((await gateway.operate("direct", wanted)).code).toBe(0);
  /** What most tests begin with: the first device is direct. */
  async function assignDirect(): Promise<void> {
    await allow("on");
    await assign(1, "direct");
    await until(async () => (await pageOf(1))?.includes(ROUTER.public4) === true);
  }
  const pageOf = (device: Device, page = PAGE) => lab.fetchFrom(namespaceOf(device), page);
  const isRefused = (device: Device, page = PAGE) => lab.isRefused(namespaceOf(device), page);

  /** What each place saw of each device during the work, and what the uplink saw of the client and the gateway. */
  async function seenDuring(work: (markers: Record<Device, Marker>) => Promise<unknown>) {
    const filter = "udp or tcp or ip6";
    const { vpn1 } = lab.sandbox.serverInterfaces;
    const taps = await Promise.all([
      Wiretap.start(lab.namespaces.vpn1, vpn1, filter),
      Wiretap.start(lab.namespaces.router, "lan0", filter),
    ]);
    const [one, two] = await Promise.all(DEVICES.map((each) => Marker.start(namespaceOf(each), each)));
    if (one === undefined || two === undefined) throw new Error("two devices");
    await work({ 1: one, 2: two }).finally(() => Promise.all([one, two].map((marker) => marker.stop())));
    const [main = [], clear = []] = await Promise.all(taps.map((tap) => tap.stop()));
    return {
      main: main.flatMap(marksIn),
      clear: clear.flatMap(marksIn),
      // A direct device resets its former connections to the same port.
      others: clear.filter(
        (line) =>
          [INTERNET.host4, INTERNET.host6].some((host) => line.includes(` > ${host}.7:`)) &&
          !line.includes("Flags [R]"),
      ),
    };
  }

  /** Answers and errors have the mark as well. */
  function marksIn(line: string): Mark[] {
    const isQuery = / > (203\.0\.113|2001:db8|10\.64\.0\.1\.|fd64::1\.)/.test(line);
    const toRouter = [router.v4, router.v6].some((address) => line.includes(` > ${address}.53:`));
    const mark = isQuery || toRouter ? markIn(line) : null;
    return mark === null ? [] : [mark];
  }

  const kinds = (marks: readonly Mark[], device: Device) =>
    [...new Set(marks.filter((mark) => mark.device === device).map(({ kind }) => kind))].sort();
  const TUNNELLED: Mark["kind"][] = ["dns4", "tcp4", "tcp6", "udp4", "udp6"];
  // The uplink has a resolver of each family, and the tunnel none with an IPv6 address.
  const ALL_KINDS: Mark["kind"][] = [...TUNNELLED, "dns6"].toSorted() as Mark["kind"][];
  const BY_MAIN: Record<Place, Mark["kind"][]> = { main: TUNNELLED, clear: [] };
  const DIRECT: typeof BY_MAIN = { main: [], clear: ALL_KINDS };
  const NOWHERE: typeof BY_MAIN = { main: [], clear: [] };
  const table = (seen: Record<Place, readonly Mark[]>) =>
    DEVICES.map((device) => ({ main: kinds(seen.main, device), clear: kinds(seen.clear, device) }));

  /** The end of a connection that the gateway does not know, over both families. */
  async function strayFrames(device: Device): Promise<Uint8Array[]> {
    const { stdout } = await inside("cat", "/sys/class/net/lan0/address");
    const { mac, v4, v6 } = devices[device - 1] as LanDevice;
    return [
      [v4, INTERNET.host4],
      [v6, INTERNET.host6],
    ].map(([from = "", to = ""]) => {
      const ends = { from, to, sourcePort: STRAY_PORT, targetPort: 7, payload: "" };
      const [fromMac, toMac] = [mac, stdout.trim()].map((each) => each.replaceAll(":", ""));
      return packetFrame(
        { from, to, fromMac: fromMac ?? "", toMac: toMac ?? "" },
        { protocol: TCP, bytes: tcpBytes(ends, FIN_ACK) },
      );
    });
  }

  /** The client, which nobody has assigned, loses nothing, and no connection of its own is reset. */
  async function undisturbed<T>(work: (traffic: Traffic) => Promise<T>): Promise<T> {
    const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp", "udp6", "flow"] });
    await traffic.sends(ENOUGH);
    const result = await work(traffic);
    await traffic.sends(ENOUGH);
    for (const [kind, { lost, refused }] of Object.entries(await traffic.stop()))
      expect({ kind, lost, refused }).toEqual({ kind, lost: [], refused: 0 });
    return result;
  }

  test(
    "positive control: no device is direct before the operator allows it; without a kill switch, all are seen in clear",
    async () => {
      await assign(1, "direct", 403);
      for (const device of DEVICES) await until(async () => (await pageOf(device)) !== null);
      expect(table(await seenDuring(() => Bun.sleep(MOMENT_MS)))).toEqual([BY_MAIN, BY_MAIN]);
      const open = await seenDuring(async () => {
        await gateway.expose();
        const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
        await traffic.sends(ENOUGH);
        await traffic.stop();
      });
      expect(table(open).map(({ clear }) => clear.includes("udp4"))).toEqual([true, true]);
      expect(open.others.length).toBeGreaterThanOrEqual(ENOUGH);
    },
    TIMEOUT_MS,
  );

  async function flushRules(): Promise<void> {
    for (const family of ["-4", "-6"]) {
      const { stdout } = await inside("ip", "-j", family, "rule", "show");
      for (const { priority } of JSON.parse(stdout))
        if (priority > 40 && priority < 100)
          await inside("ip", family, "rule", "del", "priority", `${priority}`);
    }
  }

  test(
    "its queries to the gateway are answered by the uplink's resolvers, and those to others there",
    async () => {
      await assignDirect();
      for (const resolver of [LAN.gateway4, LAN.gateway6, INTERNET.dns4, INTERNET.dns6]) {
        const tap = await Wiretap.start(lab.namespaces.router, "lan0", "dst port 53");
        const traffic = await lab.traffic(namespaceOf(1), { kinds: ["udp", "dns"], resolver });
        await traffic.sends(ENOUGH);
        const { dns } = await traffic.stop();
        expect({ resolver, lost: dns?.lost, refused: dns?.refused }).toEqual({
          resolver,
          lost: [],
          refused: 0,
        });
        expect(dns?.answered).toBeGreaterThan(2);
        const own = resolver === LAN.gateway4 ? router.v4 : resolver === LAN.gateway6 ? router.v6 : resolver;
        const lines = await tap.stop();
        expect(lines.length).toBeGreaterThan(2);
        expect(lines.filter((line) => !line.includes(` > ${own}.53:`))).toEqual([]);
      }
    },
    TIMEOUT_MS,
  );

  test(
    "another MAC address with its IP address is not direct, nor is a source from outside the LAN, nor the gateway with the mark",
    async () => {
      await assignDirect();
      const page = (device: Device, from: string) =>
        lab.exec(namespaceOf(device), [
          "curl",
          "-s",
          "-m",
          "1",
          "--interface",
          from,
          `http://${INTERNET.host4}:${ODD_PORT}`,
        ]);
      await lab.exec(namespaceOf(2), ["ip", "address", "add", "192.168.77.21/32", "dev", "lan0"]);
      await lab.exec(namespaceOf(1), ["ip", "address", "add", "198.51.100.7/32", "dev", "lan0"]);
      const seenAt = async (work: () => Promise<unknown>) => {
        const tap = await Wiretap.start(
          lab.namespaces.router,
          "lan0",
          `dst port ${ODD_PORT} or icmp[icmptype] == icmp-echo`,
        );
        await work();
        return (await tap.stop()).length;
      };
      expect(await seenAt(() => page(1, "192.168.77.21"))).toBeGreaterThan(0);
      expect(await seenAt(() => page(1, "198.51.100.7"))).toBe(0);
      expect(await seenAt(() => page(2, "192.168.77.21"))).toBe(0);
      expect(await seenAt(() => inside("ping", "-c2", "-W1", "-m", `${DIRECT_MARK}`, INTERNET.host4))).toBe(
        0,
      );
      await lab.exec(namespaceOf(2), ["ip", "address", "del", "192.168.77.21/32", "dev", "lan0"]);
      await lab.exec(namespaceOf(1), ["ip", "address", "del", "198.51.100.7/32", "dev", "lan0"]);
      // The neighbours' tables know the right card again.
      await lab.exec(namespaceOf(1), ["ping", "-c1", "-W1", LAN.gateway4]);
      await until(async () => (await pageOf(1)) !== null);
    },
    TIMEOUT_MS,
  );

  test(
    "a query of the gateway with the mark of direct devices leaves in no way, and with rules that redirect it, in clear",
    async () => {
      await assignDirect();
      let sourcePort = 20_400;
      const asked = async () => {
        const tap = await Wiretap.start(lab.namespaces.router, "lan0", `udp src port ${++sourcePort}`);
        const query = { address: INTERNET.dns4, port: 53, isUdp: true, mark: DIRECT_MARK };
        await knock(lab.namespaces.gateway, { ...query, sourcePort, from: LAN.gateway4 });
        return (await tap.stop()).length;
      };
      expect(await asked()).toBe(0);
      await gateway.kill("SIGKILL");
      const rules = [
        `redirect_own_dns oifname "${lab.sandbox.uplink}" udp dport 53 dnat ip to ${TUNNEL.server4}`,
        "redirected_dns return",
      ].map((rule) => `insert rule ${TABLE} ${rule}\n`);
      expect(await lab.exec(lab.namespaces.gateway, ["nft", "-f", "-"], rules.join(""))).toMatchObject({
        code: 0,
      });
      // With one card the source is the uplink's own address, so NAT changes nothing, and what it has not changed is dropped.
      expect((await asked()) > 0).toBe(cards === 2);
    },
    TIMEOUT_MS,
  );

  test(
    "when it is taken away during a download, no packet of the device leaves directly after the answer, and the server's reach it no more",
    async () => {
      await assignDirect();
      const stream = lab.outside(commandIn(lab.namespaces.internet, [process.execPath, "-e", STREAMER]));
      const [one, traffic] = [namespaceOf(1), await lab.traffic(namespaceOf(1), { kinds: ["udp", "flow"] })];
      await traffic.sends(ENOUGH);
      const listener = lab.exec(one, [process.execPath, "-e", LISTENER]);
      const reached = async () => {
        const tap = await Wiretap.start(one, "lan0", `udp src port ${STREAM_PORT}`);
        await Bun.sleep(MOMENT_MS);
        return (await tap.stop()).length;
      };
      await until(async () => (await reached()) > 5);
      const arriving = await Wiretap.start(lab.namespaces.router, "lan0", `udp src port ${STREAM_PORT}`);
      let epoch = 0;
      const seen = await seenDuring(async (markers) =>
        undisturbed(async () => {
          await allow("off");
          ({ epoch } = await markers[1].next());
          await traffic.sends(ENOUGH);
          expect(await reached()).toBe(0);
        }),
      );
      expect((await arriving.stop()).length).toBeGreaterThan(5);
      expect(seen.clear.some((mark) => mark.device === 1)).toBe(true);
      expect(seen.clear.filter((mark) => mark.device === 1 && mark.epoch >= epoch)).toEqual([]);
      expect(seen.main.some((mark) => mark.device === 1 && mark.epoch >= epoch)).toBe(true);
      expect((await traffic.stop()).flow?.refused).toBeGreaterThan(0);
      expect(await pageOf(1)).toContain(VPN.vpn1.v4);
      await assign(1, "direct", 403);
      await Promise.all([stream, listener]);
    },
    TIMEOUT_MS,
  );

  test(
    "while another program's rule accepts all that is forwarded, nothing leaves with a device's own address",
    async () => {
      await assignDirect();
      const frames = await strayFrames(1);
      const seen = async (...nft: string[]) => {
        expect((await inside("nft", ...nft)).code).toBe(0);
        const sniffer = await lab.sniff();
        await inject(namespaceOf(1), "lan0", frames);
        await Bun.sleep(MOMENT_MS);
        return (await sniffer.stop()).leaks.filter((line) => line.includes(` ${STRAY_PORT} > `));
      };
      process.kill(gateway.pid, "SIGSTOP");
      try {
        expect(await seen("insert", "rule", ...TABLE.split(" "), "forward", "accept")).toEqual([]);
        // Positive control.
        const open = await seen("flush", "chain", ...TABLE.split(" "), "check_leaving");
        expect(open.length).toBeGreaterThanOrEqual(frames.length);
      } finally {
        process.kill(gateway.pid, "SIGCONT");
      }
    },
    TIMEOUT_MS,
  );

  test(
    "connections through the tunnel are reset when their device becomes direct, over IPv4 and IPv6",
    async () => {
      await allow("on");
      const flows = [INTERNET.host4, INTERNET.host6].map((host) =>
        lab.exec(namespaceOf(1), [process.execPath, "-e", FLOW, host]),
      );
      const atServer = ["ss", "-Htn", "state", "established", "sport = :7"];
      await until(async () => {
        const { stdout } = await lab.exec(lab.namespaces.internet, atServer);
        return stdout.trim().split("\n").length >= flows.length;
      });
      await assign(1, "direct");
      for (const flow of flows) expect((await flow).stdout).toBe("ECONNRESET\n");
    },
    TIMEOUT_MS,
  );

  test(
    "either layer alone: without the firewall nothing is direct, without the rules no other device is",
    async () => {
      await assignDirect();
      await gateway.kill("SIGKILL");
      await inside("nft", "flush", "ruleset");
      const routing = await seenDuring(() => Bun.sleep(MOMENT_MS));
      expect([table(routing), routing.others]).toEqual([[NOWHERE, NOWHERE], []]);
      await gateway.start();
      await until(async () => (await pageOf(1)) !== null && (await pageOf(2)) !== null);
      await gateway.kill("SIGKILL");
      const firewall = await seenDuring(async () => {
        await flushRules();
        await Bun.sleep(MOMENT_MS);
      });
      expect([kinds(firewall.clear, 2), kinds(firewall.main, 1), firewall.others]).toEqual([[], [], []]);
    },
    TIMEOUT_MS,
  );

  test(
    "with the kill switch off each device keeps its exit",
    async () => {
      await assignDirect();
      expect((await gateway.operate("killswitch", "off")).code).toBe(0);
      expect([await pageOf(1), await pageOf(2)]).toEqual([
        expect.stringContaining(ROUTER.public4),
        expect.stringContaining(VPN.vpn1.v4),
      ]);
      expect((await gateway.operate("killswitch", "on")).code).toBe(0);
      expect(table(await seenDuring(() => Bun.sleep(MOMENT_MS)))).toEqual([DIRECT, BY_MAIN]);
    },
    TIMEOUT_MS,
  );

  test.skipIf(cards === 1)(
    "without a carrier on the uplink a direct device is refused at once, and served again when it is back",
    async () => {
      await assignDirect();
      await lab.unplug();
      // A page that was on its way when the cable came out never arrives.
      const refused = ["curl", "-gsf", "-m", "2", PAGE];
      await until(async () => (await lab.exec(namespaceOf(1), refused)).code === 7, REFUSED_WITHIN_MS);
      expect(await isRefused(1, PAGE6)).toBe(true);
      await lab.plug();
      await until(async () => (await pageOf(1)) !== null);
    },
    TIMEOUT_MS,
  );
});

/** Says what ends a connection that is in use. */
const FLOW = `
const socket = require("node:net").connect({ host: process.argv[1], port: 7 });
socket.on("error", ({ code }) => { console.log(code); process.exit(); });
setInterval(() => socket.write("x"), 20);
setTimeout(() => process.exit(), 20_000);`;
/** Sends datagrams for some seconds to whoever sends one. */
const STREAMER = `
const socket = await Bun.udpSocket({ hostname: "${INTERNET.host4}", port: ${STREAM_PORT}, socket: {
  error() {},
  data(socket, _, port, address) { setInterval(() => socket.send("x", port, address), 20); },
} });
setTimeout(() => process.exit(0), 12_000);`;
/** Asks for them once, and takes them for as long. */
const LISTENER = `
const socket = await Bun.udpSocket({ port: 9_124, socket: { error() {}, data() { clearInterval(asking); } } });
const asking = setInterval(() => socket.send("x", ${STREAM_PORT}, "${INTERNET.host4}"), 100);
setTimeout(() => process.exit(0), 12_000);`;
