import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { INTERNET, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { type Seen, seenAt, tableOf } from "../rig/judges/where-seen.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import type { Mark } from "../rig/tools/marker.ts";
import { until } from "../rig/tools/until.ts";

/** Some connects and restarts, and seconds of traffic, on a busy machine. */
const TIMEOUT_MS = 240_000;
const PAGE = `http://${INTERNET.host4}/`;
/** So many questions are enough for a loss or a leak to show. */
const ENOUGH = 100;
/** Long enough for some marks of each kind. */
const MOMENT_MS = 600;
const RELOADS = 30;
/** The servers of the tunnels are beside the host, and its resolvers have no rule. */
const HOST = ["203.0.113.64/26", `${INTERNET.host6}/128`];
/** Nothing has these addresses. */
const ELSEWHERE = ["198.51.100.0/24"];
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
  await gateway.ask("POST", "/api/custom/add", lab.sandbox.servers[0].customBody);
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  await gateway.keep();
}, TIMEOUT_MS);
beforeEach(() => gateway.reset(), TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

const assign = (device: Device, exit: string) =>
  gateway.ask("PUT", `/api/devices/${macOf(device)}`, { exit });
/** Returns the rule's id. */
const lead = async (exit: string, only: readonly Device[] = [], prefixes = HOST): Promise<string> =>
  (await gateway.ask("POST", "/api/destinations", { prefixes, devices: only.map(macOf), exit })).id;
const remove = (id: string) => gateway.ask("DELETE", `/api/destinations/${id}`);
const pageOf = (device: Device) => lab.fetchFrom(namespaceOf(device), PAGE);
const isRefused = (device: Device) => lab.isRefused(namespaceOf(device), PAGE);
const allow = async (wanted: "on" | "off") => expect((await gateway.operate("direct", wanted)).code).toBe(0);

/** What each place saw of each device during the work. */
const seenDuring = (work: () => Promise<unknown>) =>
  seenAt(
    lab,
    NUMBERS.map((each) => [each, namespaceOf(each)] as const),
    work,
  );

const table = (seen: Seen) => tableOf(seen, NUMBERS);
const DNS: Mark["kind"][] = ["dns4"];
const OTHERS: Mark["kind"][] = ["tcp4", "tcp6", "udp4", "udp6"];
const BY_MAIN = { main: [...DNS, ...OTHERS], second: [], clear: [] };
const BY_SECOND = { main: DNS, second: OTHERS, clear: [] };
const REFUSED = { main: DNS, second: [], clear: [] };

test(
  "positive control: without rules all of it is seen on main; without a kill switch, in clear",
  async () => {
    expect(table(await seenDuring(() => Bun.sleep(MOMENT_MS)))).toEqual([BY_MAIN, BY_MAIN, BY_MAIN]);
    await lead("second");
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
  "a destination takes the exit of its rule, DNS that of the device; rules of devices come first",
  async () => {
    await lead("second");
    const all = await seenDuring(() => Bun.sleep(MOMENT_MS));
    expect(table(all)).toEqual([BY_SECOND, BY_SECOND, BY_SECOND]);
    expect(await pageOf(1)).toContain(VPN.vpn2.v4);
    await lead("main", [1]);
    await lead("blocked", [2]);
    const each = await seenDuring(() => Bun.sleep(MOMENT_MS));
    expect(table(each)).toEqual([BY_MAIN, REFUSED, BY_SECOND]);
    expect(await isRefused(2)).toBe(true);
    expect([...all.leaks, ...each.leaks]).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "a rule whose tunnel is down refuses, and takes no other exit",
  async () => {
    await lead("second");
    await gateway.ask("POST", "/api/tunnels/second/disconnect");
    const seen = await seenDuring(() => Bun.sleep(MOMENT_MS));
    expect(table(seen)).toEqual([REFUSED, REFUSED, REFUSED]);
    expect(seen.leaks).toEqual([]);
    expect(await isRefused(1)).toBe(true);
    const { destinations } = await gateway.ask("GET", "/api/destinations");
    expect(destinations).toMatchObject([{ open: false, warning: expect.stringContaining("not connected") }]);
  },
  TIMEOUT_MS,
);

test(
  "a blocked device reaches nothing by rules of all devices, and what its own rules permit",
  async () => {
    await assign(1, "blocked");
    await assign(2, "blocked");
    await lead("main");
    await lead("second", [2]);
    const seen = await seenDuring(() => Bun.sleep(MOMENT_MS));
    expect(table(seen)).toEqual([
      { main: [], second: [], clear: [] },
      { main: [], second: OTHERS, clear: [] },
      BY_MAIN,
    ]);
    expect(seen.leaks).toEqual([]);
  },
  TIMEOUT_MS,
);

long("many replacements of the table").test(
  `${RELOADS} replacements of the table let nothing of a direct device past its rules`,
  async () => {
    await allow("on");
    await assign(1, "direct");
    await assign(2, "direct");
    await lead("second", [1]);
    await lead("blocked", [2]);
    const seen = await seenDuring(async () => {
      for (let count = 0; count < RELOADS; count += 1) await remove(await lead("blocked", [], ELSEWHERE));
      await inside("nft", "flush", "ruleset");
      await Bun.sleep(MOMENT_MS);
    });
    // DNS of direct devices is their own.
    const others = table(seen).map(({ clear, ...tunnels }) => ({
      ...tunnels,
      clear: clear.filter((kind) => !kind.startsWith("dns")),
    }));
    expect(others.slice(0, 2)).toEqual([
      { main: [], second: OTHERS, clear: [] },
      { main: [], second: [], clear: [] },
    ]);
  },
  TIMEOUT_MS,
);

test(
  "a killed service changes no connection's exit, nor does the next one",
  async () => {
    await lead("second");
    const traffic = await lab.traffic(namespaceOf(1), { kinds: ["udp", "udp6", "flow"] });
    await traffic.sends(ENOUGH);
    const seen = await seenDuring(async () => {
      await gateway.kill("SIGKILL");
      await traffic.sends(ENOUGH);
      await gateway.start();
      await traffic.sends(ENOUGH);
    });
    for (const [kind, { lost, refused }] of Object.entries(await traffic.stop()))
      expect({ kind, lost, refused }).toEqual({ kind, lost: [], refused: 0 });
    expect(table(seen)).toEqual([BY_SECOND, BY_SECOND, BY_SECOND]);
    expect(seen.leaks).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "when a rule is removed, its connections are reset, and those of other destinations go on",
  async () => {
    const id = await lead("second", [1]);
    const [ruled, other] = await Promise.all(
      ([1, 2] as const).map((device) => lab.traffic(namespaceOf(device), { kinds: ["udp", "flow"] })),
    );
    await Promise.all([ruled?.sends(ENOUGH), other?.sends(ENOUGH)]);
    await remove(id);
    await Promise.all([ruled?.sends(ENOUGH), other?.sends(ENOUGH)]);
    const [cut, whole] = [await ruled?.stop(), await other?.stop()];
    expect((cut?.flow?.refused ?? 0) > 0).toBe(true);
    expect([whole?.flow?.refused, whole?.flow?.lost]).toEqual([0, []]);
    expect(await pageOf(1)).toContain(VPN.vpn1.v4);
  },
  TIMEOUT_MS,
);

test(
  "direct leaves outside the tunnel, without DNS, until the permission or the rule ends",
  async () => {
    await allow("on");
    await lead("direct", [1]);
    await until(async () => (await pageOf(1))?.includes(ROUTER.public4) === true);
    const open = await seenDuring(() => Bun.sleep(MOMENT_MS));
    expect(table(open)).toEqual([{ main: DNS, second: [], clear: OTHERS }, BY_MAIN, BY_MAIN]);
    await allow("off");
    const closed = await seenDuring(() => Bun.sleep(MOMENT_MS));
    expect(table(closed)).toEqual([REFUSED, BY_MAIN, BY_MAIN]);
    expect(closed.leaks).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "a flushed table comes back with its rules, and nothing leaves meanwhile",
  async () => {
    await lead("second", [1]);
    await lead("blocked", [2]);
    const seen = await seenDuring(async () => {
      for (let count = 0; count < 3; count += 1) {
        await inside("nft", "flush", "ruleset");
        await until(
          async () =>
            (await inside("nft", "list", "chain", "inet", "portcullis", "leave_by_second")).code === 0,
        );
      }
      await Bun.sleep(MOMENT_MS);
    });
    expect(table(seen)).toEqual([BY_SECOND, REFUSED, BY_MAIN]);
    expect(seen.leaks).toEqual([]);
  },
  TIMEOUT_MS,
);
