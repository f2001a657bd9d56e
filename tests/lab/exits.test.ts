import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { INTERNET, LAN, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { type Place, type Seen, seenAt, tableOf } from "../rig/judges/where-seen.ts";
import { craftedBodies } from "../rig/leaks/crafted.ts";
import { inject } from "../rig/tools/injector.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { Listener } from "../rig/tools/listener.ts";
import type { Mark } from "../rig/tools/marker.ts";
import { datagramFrame, fragmentFrames, packetFrame, tagged, UDP, udpBytes } from "../rig/tools/packet.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

/** Two connects, restarts and some seconds of traffic, on a busy machine. */
const TIMEOUT_MS = 240_000;
const PAGE = `http://${INTERNET.host4}/`;
/** So many questions are enough for a loss or a leak to show. */
const ENOUGH = 100;
/** Long enough for some marks of each kind. */
const MOMENT_MS = 600;
const FLUSHES = 5;
const IN_TABLE = "inet portcullis";
const NUMBERS = [1, 2, 3] as const;
type Device = (typeof NUMBERS)[number];

let lab: Lab;
let gateway: Gateway;
let devices: LanDevice[];
const namespaceOf = (device: Device) => devices[device - 1]?.namespace ?? "";
const macOf = (device: Device) => devices[device - 1]?.mac ?? "";
const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  devices = await Promise.all(NUMBERS.map((number) => LanDevice.plugIn(lab, number)));
  // Otherwise the kernel sends one ICMP error a second to each device.
  for (const path of ["ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"])
    expect((await inside("sysctl", "-qw", `net/${path}=0`)).code).toBe(0);
  gateway = await lab.startGateway();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  await gateway.keep();
}, TIMEOUT_MS);
beforeEach(() => gateway.reset(), TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

const assign = (device: Device, exit: string) =>
  gateway.ask("PUT", `/api/devices/${macOf(device)}`, { exit });
/** What most tests begin with: one device by the second tunnel, one by none, and one by main. */
async function assignAll(): Promise<void> {
  await assign(1, "second");
  await assign(2, "blocked");
  await assign(3, "main");
}
async function nft(command: string): Promise<void> {
  expect(await inside("nft", command)).toEqual({ code: 0, stdout: "", stderr: "" });
}
/** The devices that have an exit of their own, as the kernel knows them. */
const listed = async () => (await inside("nft", "list", "set", "inet", "portcullis", "assigned")).stdout;
const mapped = async () => (await inside("nft", "list", "map", "inet", "portcullis", "exit_of")).stdout;
const pageOf = (device: Device) => lab.fetchFrom(namespaceOf(device), PAGE);
const isRefused = (device: Device) => lab.isRefused(namespaceOf(device), PAGE);

/** What each place saw of each device during the work. */
const seenDuring = (work: () => Promise<unknown>) =>
  seenAt(
    lab,
    NUMBERS.map((each) => [each, namespaceOf(each)] as const),
    work,
  );

const ALL_KINDS: Mark["kind"][] = ["dns4", "tcp4", "tcp6", "udp4", "udp6"];

const table = (seen: Seen) => tableOf(seen, NUMBERS);
const BY_MAIN: Record<Place, Mark["kind"][]> = { main: ALL_KINDS, second: [], clear: [] };
const BY_SECOND: typeof BY_MAIN = { main: [], second: ALL_KINDS, clear: [] };
const NOWHERE: typeof BY_MAIN = { main: [], second: [], clear: [] };

test(
  "positive control: without an exit of their own the devices are seen on main; without a kill switch, in clear",
  async () => {
    const assigned = await seenDuring(() => Bun.sleep(MOMENT_MS));
    expect(table(assigned)).toEqual([BY_MAIN, BY_MAIN, BY_MAIN]);
    const open = await seenDuring(async () => {
      await gateway.expose();
      await Bun.sleep(MOMENT_MS);
    });
    expect(table(open).map(({ clear }) => clear.includes("udp4"))).toEqual([true, true, true]);
    expect(open.leaks.length).toBeGreaterThan(ENOUGH);
  },
  TIMEOUT_MS,
);

test(
  "a device's TCP connection is reset when it is moved, and another device's is not",
  async () => {
    await assignAll();
    const [moved, other] = await Promise.all(
      ([1, 3] as const).map((device) => lab.traffic(namespaceOf(device), { kinds: ["udp", "flow"] })),
    );
    await moved?.sends(ENOUGH);
    await assign(1, "main");
    await moved?.sends(ENOUGH);
    expect((await moved?.stop())?.flow?.refused).toBeGreaterThan(0);
    const report = await other?.stop();
    expect([report?.flow?.refused, report?.flow?.lost, report?.udp?.lost]).toEqual([0, [], []]);
  },
  TIMEOUT_MS,
);

/** Packets of every kind to the internet, some of them in fragments or with a priority tag. */
async function craftedFrames(device: Device): Promise<Uint8Array[]> {
  const [link] = JSON.parse((await inside("ip", "-j", "link", "show", "lan0")).stdout);
  const macs = { fromMac: macOf(device).replaceAll(":", ""), toMac: link.address.replaceAll(":", "") };
  return [
    { ...macs, from: `192.168.77.2${device}`, to: INTERNET.host4 },
    { ...macs, from: `fd77::2${device}`, to: INTERNET.host6 },
  ].flatMap((way) => {
    const datagram = { ...way, sourcePort: 4242, targetPort: 4242, payload: "x".repeat(1_000) };
    return [
      ...craftedBodies(way.from, way.to).map((body) => packetFrame(way, body)),
      ...fragmentFrames(way, { protocol: UDP, bytes: udpBytes(datagram) }, 496),
      tagged(datagramFrame({ ...datagram, targetPort: 4243 }), 0),
    ];
  });
}

test(
  "whatever frames a device makes up, they leave by its exit or not at all",
  async () => {
    const { vpn1, vpn2 } = lab.sandbox.serverInterfaces;
    await assignAll();
    const seen: string[][][] = [];
    for (const device of NUMBERS) {
      const filter = `dst host ${INTERNET.host4} or dst host ${INTERNET.host6}`;
      const taps = [
        await Wiretap.start(lab.namespaces.vpn1, vpn1, filter),
        await Wiretap.start(lab.namespaces.vpn2, vpn2, filter),
        await Wiretap.start(lab.namespaces.router, "lan0", filter),
      ];
      await inject(namespaceOf(device), "lan0", await craftedFrames(device));
      // Behind them in every queue.
      const page = `http://[${INTERNET.host6}]/`;
      await until(async () => (await lab.fetchFrom(namespaceOf(device), page)) !== null || device === 2);
      seen.push(await Promise.all(taps.map((tap) => tap.stop())));
    }
    const [[oneOnMain, oneOnSecond, oneInClear] = [], two, [threeOnMain, ...threeElsewhere] = []] = seen;
    expect([oneOnMain, oneInClear, two, threeElsewhere]).toEqual([[], [], [[], [], []], [[], []]]);
    for (const lines of [oneOnSecond, threeOnMain]) {
      const arrived = lines?.flatMap(
        (line) => /^(IP6?) .*[ .](424[23]): UDP, (?:bad )?length 1000/.exec(line)?.slice(1) ?? [],
      );
      expect(arrived).toEqual(["IP", "4242", "IP", "4243", "IP6", "4242", "IP6", "4243"]);
    }
  },
  TIMEOUT_MS,
);

test(
  "a resolver on the gateway, which asks through main, hears the devices of main alone, over TLS too",
  async () => {
    await assignAll();
    const heard = async (port: number) => {
      const listener = await Listener.start(lab.namespaces.gateway, port);
      for (const device of NUMBERS)
        for (const gate of [LAN.gateway4, LAN.gateway6])
          for (const protocol of ["tcp", "udp"])
            await lab.exec(namespaceOf(device), ["bash", "-c", `echo x > /dev/${protocol}/${gate}/${port}`]);
      return listener.stop();
    };
    const all = NUMBERS.map((device) => [`192.168.77.2${device}`, `fd77::2${device}`]);
    expect(await heard(8530)).toEqual(all.flat().sort());
    for (const port of [53, 853]) expect([port, await heard(port)]).toEqual([port, all[2] ?? []]);
  },
  TIMEOUT_MS,
);

test(
  "positive control: a device that another program takes out of every set is one that nobody has assigned",
  async () => {
    await assignAll();
    await gateway.kill("SIGKILL");
    const taken = await seenDuring(async () => {
      await nft(`delete element ${IN_TABLE} assigned { ${macOf(1)} }`);
      await nft(`delete element ${IN_TABLE} exit_of { ${macOf(1)} }`);
      await Bun.sleep(MOMENT_MS);
    });
    expect(table(taken)[0]?.main).toEqual(ALL_KINDS);
  },
  TIMEOUT_MS,
);

long("each set that another program empties").test(
  "sets of devices that another program empties close and never open, until they are repaired",
  async () => {
    await assign(1, "second");
    await assign(2, "blocked");
    const sets = ["flush set inet portcullis assigned", "flush map inet portcullis exit_of"];
    const empty = {
      some: async () => nft(`delete element ${IN_TABLE} assigned { ${macOf(1)}, ${macOf(2)} }`),
      list: async () => nft(sets[0] ?? ""),
      map: async () => nft(sets[1] ?? ""),
      both: async () => nft(sets.join("; ")),
      all: async () => nft([...sets, "flush set inet portcullis on_second"].join("; ")),
    };
    for (const [which, work] of Object.entries(empty)) {
      const seen = await seenDuring(async () => {
        for (let times = 0; times < FLUSHES; times++) {
          await work();
          await until(async () => (await listed()).includes(macOf(2)));
          await until(async () => (await mapped()).includes(macOf(2)));
        }
        await Bun.sleep(MOMENT_MS);
      });
      expect({ which, seen: table(seen).slice(0, 2) }).toEqual({ which, seen: [BY_SECOND, NOWHERE] });
      expect(seen.leaks).toEqual([]);
    }
    // Nobody repairs it now.
    await gateway.kill("SIGKILL");
    await empty.list();
    const unrepaired = await seenDuring(() => Bun.sleep(MOMENT_MS));
    expect(table(unrepaired)).toEqual([BY_SECOND, NOWHERE, NOWHERE]);
    await empty.both();
    const gone = await seenDuring(() => Bun.sleep(MOMENT_MS));
    expect(table(gone)).toEqual([NOWHERE, NOWHERE, NOWHERE]);
    expect(await isRefused(3)).toBe(true);
    await gateway.start();
    await until(async () => (await pageOf(3))?.includes(VPN.vpn1.v4) === true);
    expect(await pageOf(1)).toContain(VPN.vpn2.v4);
  },
  TIMEOUT_MS,
);
