import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { mustParseAddress, mustParsePrefix } from "../../src/base/address.ts";
import { alertText } from "../../src/base/alert-rows.ts";
import { Bus } from "../../src/base/bus.ts";
import { GatewayError } from "../../src/base/errors.ts";
import type { Mac } from "../../src/base/mac.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { MAX_ASSIGNED, MAX_PREFIXES } from "../../src/devices/assignments.ts";
import { Devices } from "../../src/devices/devices.ts";
import type { DhcpHosts } from "../../src/devices/fixed.ts";
import { MAX_UNNAMED_DEVICES, SILENT_MS } from "../../src/devices/neighbourhood.ts";
import { NOBODY, type RemotePresence } from "../../src/devices/remote-presence.ts";
import type { DeviceUpdate } from "../../src/devices/schema.ts";
import type { DevicesEvents } from "../../src/devices/updates.ts";
import type { Quota } from "../../src/devices/values.ts";
import type { DeviceAt, PolicyPart } from "../../src/killswitch/policy.ts";
import { type KernelListener, type Watched, watchKernel } from "../../src/network/kernel-events.ts";
import type { Lan } from "../../src/network/lan.ts";
import { Store } from "../../src/store/store.ts";
import { isTunnelName } from "../../src/tunnel/name.ts";
import { ip } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { newDirectory } from "../tunnel/directory.ts";

const TV = "02:00:00:00:00:20" as Mac;
const PHONE = "02:00:00:00:00:30" as Mac;
const QUOTA: Quota = { megabytes: 500, every: "day", at_end: "blocked" };
const LEASES = "/var/lib/misc/dnsmasq.leases";
const WATCHED: Watched = {
  links: [],
  routingTables: [20556],
  lanLinks: () => [],
  firewallTables: ["inet portcullis"],
};

const LAN0: Lan = {
  interface: "lan0",
  prefixes: ["192.168.7.0/24", "fd00:7::/64", "fe80::/10"].map(mustParsePrefix),
};

/** Devices on a fake machine, and what they tell the others. */
class World {
  readonly host = new FakeHost();
  readonly told: DeviceUpdate[] = [];
  readonly removed: string[] = [];
  readonly warnings: string[] = [];
  readonly alerts: string[] = [];
  readonly parts: PolicyPart[] = [];
  deviceAt: DeviceAt = () => null;
  tunnels = ["main", "amsterdam"];
  /** Where networks behind other routers are. */
  readonly ways: Record<string, { interfaces: string[]; overlap: string | null }> = {};
  /** What the kill switch does before it answers. */
  load: () => Promise<void> = async () => {};
  readonly stopping = new AbortController();
  devices: Devices;

  dhcp: DhcpHosts | null = null;

  constructor(
    readonly directory: string,
    public store = Store.open(directory, 0),
  ) {
    this.host.patient = true;
    this.devices = this.fresh();
  }

  remote = NOBODY;

  fresh(): Devices {
    const { host, store, told, removed, warnings, alerts, parts } = this;
    const events = new Bus<DevicesEvents>((fault) => warnings.push(fault));
    events.subscribe("device_update", ({ payload }) => told.push(payload));
    events.subscribe("device_removed", ({ payload }) => removed.push(payload.id));
    return new Devices({
      host,
      store,
      killSwitch: {
        update: async (owner, { deviceAt = () => null, ...part }) => {
          expect(isTunnelName(owner)).toBe(false);
          parts.push(part);
          this.deviceAt = deviceAt;
          await this.load();
        },
        wayTo: (prefix) => this.ways[prefix] ?? { interfaces: [], overlap: null },
      },
      tunnelNames: () => this.tunnels,
      dhcp: this.dhcp,
      remote: this.remote,
      events,
      alarm: (code, args) => alerts.push(`${code}: ${alertText(code, args)}`),
      log: { warn: (message) => warnings.push(message) },
    });
  }

  /** As the service starts. */
  async start(): Promise<void> {
    await this.devices.reload();
    this.devices.lanIs([LAN0], "up0");
    const { host, devices, stopping } = this;
    const onNeighbour: KernelListener["onNeighbour"] = (neighbour) => devices.saw(neighbour);
    watchKernel(host, WATCHED, { onEvent: () => {}, onWatching: () => {}, onNeighbour }, stopping.signal);
    void devices.watch(stopping.signal);
    await host.pass(1_000);
    this.told.length = 0;
  }

  row = async (id: string) => (await this.devices.list()).devices.find((device) => device.id === id);
}

let world: World;
beforeEach(async () => {
  world = new World(newDirectory());
  await world.start();
});
afterEach(() => {
  world.stopping.abort();
  world.store.close();
  rmSync(world.directory, { recursive: true });
});

const refusal = (code: "bad_request" | "not_found" | "forbidden", message: string) =>
  new GatewayError(code, message);

test("whether a remote device is online is read for each answer, and listeners are told", async () => {
  const id = mustParsePrefix("10.200.7.2/32");
  const road: RemotePresence = {
    ...{ ...NOBODY, link: "wgr", ids: [id], isKnown: (each) => each === id },
    // It has come in a moment ago, and nobody has looked since.
    look: async () => {
      road.heard = new Map([[id, world.host.monotonic()]]);
      tell();
    },
    onHeard: (listener) => {
      tell = listener;
    },
  };
  let tell = () => {};
  world.remote = road;
  world.devices = world.fresh();
  await world.devices.reload();
  await world.host.pass(1_000);
  world.told.length = 0;
  expect((await world.row(id))?.online).toBe(true);
  await world.host.pass(1_000);
  expect(world.told).toEqual([{ id, name: "", exit: "main", online: true }]);
});

test("the kill switch gets with the exits who has, or had last, an address of the LAN", () => {
  const [address, other] = [ip("192.168.7.20"), ip("192.168.7.21")];
  expect(world.deviceAt(address)).toBeNull();
  world.host.setNeighbour(address, "lan0", TV, "REACHABLE");
  expect([address, other].map((each) => world.deviceAt(each))).toEqual([TV, null]);
  world.host.setNeighbour(address, "lan0", TV, "FAILED");
  expect(world.deviceAt(address)).toBe(TV);
});

test("an exit is on its way to the disk before the firewall's text is made", async () => {
  const { store } = world;
  const steps: string[] = [];
  const saveDevice = store.saveDevice.bind(store);
  store.saveDevice = (device) => {
    saveDevice(device);
    queueMicrotask(() => steps.push("disk"));
  };
  world.load = async () => void steps.push("firewall");
  await world.devices.assign(TV, { exit: "amsterdam" });
  expect(steps).toEqual(["disk", "firewall"]);
});

test("a device appears with its first packet, and listeners are told once", async () => {
  world.host.setNeighbour("192.168.7.20", "lan0", TV, "STALE");
  world.host.setNeighbour("fd00:7::20", "lan0", TV, "STALE");
  expect(await world.row(TV)).toEqual({
    id: TV,
    name: "",
    named: false,
    addresses: ["192.168.7.20", "fd00:7::20"],
    interface: "lan0",
    exit: "main",
    assigned: false,
    online: true,
    seen_at: "2026-01-01T00:00:01.000Z",
    rx_bytes: 0,
    tx_bytes: 0,
    fixed_address: null,
  });
  await world.host.pass(1_000);
  for (const state of ["REACHABLE", "PROBE", "REACHABLE"] as const)
    world.host.setNeighbour("192.168.7.20", "lan0", TV, state);
  await world.host.pass(1_000);
  expect(world.told).toEqual([{ id: TV, name: "", exit: "main", online: true }]);
});

test("neighbours on the uplink are not devices, until it becomes the LAN", async () => {
  world.host.setNeighbour("198.51.100.1", "up0", PHONE, "REACHABLE");
  await world.host.pass(1_000);
  expect((await world.devices.list()).devices).toEqual([]);
  world.devices.lanIs([LAN0, { interface: "up0", prefixes: [] }], "up0");
  await world.host.pass(1_000);
  expect(world.told).toEqual([{ id: PHONE, name: "", exit: "main", online: true }]);
});

test("a device goes offline when it no longer answers, when its cable is out, and when it is silent", async () => {
  const see = async (state: "STALE" | "FAILED" | "Deleted") => {
    world.host.setNeighbour("192.168.7.20", "lan0", TV, state);
    await world.host.pass(1_000);
    return world.told.splice(0).map(({ online }) => online);
  };
  expect(await see("STALE")).toEqual([true]);
  expect(await see("FAILED")).toEqual([false]);
  expect(await see("STALE")).toEqual([true]);
  expect(await see("Deleted")).toEqual([false]);
  expect(await see("STALE")).toEqual([true]);
  await world.host.pass(SILENT_MS + 15_000);
  expect(world.told).toEqual([{ id: TV, name: "", exit: "main", online: false }]);
  expect(await world.row(TV)).toMatchObject({ online: false, seen_at: "2026-01-01T00:00:05.000Z" });
});

test("what happened while no monitor listened is read from the table", async () => {
  world.host.setNeighbour("192.168.7.20", "lan0", TV, "STALE");
  world.host.mute = true;
  world.host.setNeighbour("192.168.7.20", "lan0", TV, "Deleted");
  world.host.setNeighbour("192.168.7.30", "lan0", PHONE, "STALE");
  world.host.mute = false;
  world.host.endWatches();
  await world.host.pass(3_000);
  expect(await world.row(TV)).toMatchObject({ online: false });
  expect(await world.row(PHONE)).toMatchObject({ online: true });
});

test("a table that cannot be read is logged, and read again after the next gap", async () => {
  world.host.setNeighbour("192.168.7.30", "lan0", PHONE, "STALE");
  world.host.fails = () => "before";
  await world.devices.roster.look();
  expect(world.warnings).toEqual([
    "the neighbour table could not be read: ip -j -s neigh show: made to fail",
  ]);
  world.host.fails = () => null;
  await world.devices.roster.look();
  expect(await world.row(PHONE)).toMatchObject({ online: true });
});

test("Pi-hole's leases give names too", async () => {
  world.host.files.set("/etc/pihole/dhcp.leases", `1767229200 ${TV} 192.168.7.20 living-room 01:${TV}\n`);
  world.host.setNeighbour("192.168.7.20", "lan0", TV, "STALE");
  expect(await world.row(TV)).toMatchObject({ name: "living-room" });
});

test("a name comes from the person, else from the DHCP lease", async () => {
  world.host.files.set(
    LEASES,
    [
      `1767229200 ${TV} 192.168.7.20 living-room 01:${TV}`,
      `1767229200 ${PHONE} 192.168.7.30 * *`,
      "1767229200 02:00:00:00:00:40 192.168.7.40 \u202E/\u0007 *",
      "duid 00:01:00:01:2f:00:00:00:02:00:00:00:00:20",
      "1767229200 20 fd00:7::20 living-room 00:01",
      "",
    ].join("\n"),
  );
  for (const mac of [TV, PHONE, "02:00:00:00:00:40"])
    world.host.setNeighbour(`192.168.7.${mac.slice(-2)}`, "lan0", mac, "STALE");
  const names = async () => (await world.devices.list()).devices.map(({ name }) => name);
  expect(await names()).toEqual(["living-room", "", ""]);
  world.host.files.set("/etc/pihole/dhcp.leases", `1767229200 ${PHONE} 192.168.7.30 phone *\n`);
  expect(await names()).toEqual(["living-room", "phone", ""]);
  world.host.files.delete("/etc/pihole/dhcp.leases");
  await world.devices.assign(TV, { name: "TV" });
  expect(await names()).toEqual(["TV", "", ""]);
  await world.devices.forget(TV);
  expect(await names()).toEqual(["living-room", "", ""]);
});

test("a nameless device is asked for its name once it is there, then once an hour, and a person's name comes first", async () => {
  world.host.setNeighbour("fe80::20", "lan0", TV, "STALE");
  world.host.setNeighbour("2001:db8::20", "lan0", TV, "STALE");
  const asked: string[] = [];
  world.host.onEvent = (event) => void (event.startsWith("host name") && asked.push(event));
  await world.host.pass(10_000);
  // These are not addresses of the LAN.
  expect(asked).toEqual([]);
  world.host.hostNames.set("192.168.7.20", "living-room");
  world.host.setNeighbour("192.168.7.20", "lan0", TV, "STALE");
  await world.host.pass(10_000);
  expect(asked).toEqual(["host name 192.168.7.20"]);
  expect(world.told.at(-1)).toEqual({ id: TV, name: "living-room", exit: "main", online: true });
  world.host.hostNames.set("192.168.7.20", "a\nb");
  for (let minute = 0; minute < 61; minute += 1) {
    world.host.setNeighbour("192.168.7.20", "lan0", TV, "REACHABLE");
    await world.host.pass(60_000);
  }
  expect(asked).toHaveLength(2);
  expect(await world.row(TV)).toMatchObject({ name: "living-room" });
  await world.devices.assign(TV, { name: "TV" });
  expect(await world.row(TV)).toMatchObject({ name: "TV" });
});

test("a device cannot tell a name that reverses the sentence around it", async () => {
  world.host.hostNames.set("192.168.7.20", "\u202eVT");
  world.host.setNeighbour("192.168.7.20", "lan0", TV, "STALE");
  await world.host.pass(10_000);
  expect(await world.row(TV)).toMatchObject({ name: "" });
});

slow.test("a device that does not answer is asked again, at growing intervals", async () => {
  const asked: number[] = [];
  const start = world.host.monotonic();
  world.host.onEvent = (event) =>
    void (event.startsWith("host name") && asked.push(world.host.monotonic() - start));
  for (let minute = 0; minute < 180; minute += 1) {
    world.host.setNeighbour("192.168.7.20", "lan0", TV, "REACHABLE");
    await world.host.pass(60_000);
  }
  const pauses = asked.slice(1).map((at, index) => Math.round((at - (asked[index] ?? 0)) / 10_000) * 10);
  expect(pauses).toEqual([10, 60, 360, 2160, 3600, 3600]);
});

test("however many devices someone invents, one is asked every three seconds", async () => {
  let asked = 0;
  world.host.onEvent = (event) => void (event.startsWith("host name") && asked++);
  for (let number = 0; number < 200; number += 1)
    world.host.setNeighbour(
      `192.168.7.${number + 1}`,
      "lan0",
      `02:00:00:00:01:${(256 + number).toString(16).slice(1)}`,
      "STALE",
    );
  await world.host.pass(30_000);
  expect(asked).toBe(10);
});

test("a device is assigned before it was ever seen, and keeps name and exit across a restart", async () => {
  await world.devices.assign("02-00-00-00-00-20", { name: "TV", exit: "amsterdam" });
  await world.devices.assign(PHONE, { exit: "blocked" });
  await world.devices.setDefaultExit("blocked");
  const expected = {
    devices: [
      { id: TV, exit: { to: "tunnel", name: "amsterdam" } },
      { id: PHONE, exit: { to: "blocked" } },
    ],
    routed: [],
    defaultExit: { to: "blocked" },
    networks: [{ interface: "lan0", exit: null, page: true, others: false }],
  };
  expect(world.parts.at(-1)).toEqual(expected as PolicyPart);
  const before = await world.devices.list();
  expect(before).toEqual({
    devices: [
      { ...UNSEEN, id: TV, name: "TV", named: true, exit: "amsterdam" },
      { ...UNSEEN, id: PHONE, name: "", named: false, exit: "blocked" },
    ],
    default_exit: "blocked",
    exits: ["main", "amsterdam", "blocked"],
    direct_allowed: false,
  });
  world.devices = world.fresh();
  await world.devices.reload();
  expect(await world.devices.list()).toEqual(before);
  expect(world.parts.at(-1)).toEqual(expected as PolicyPart);
});

const UNSEEN = {
  ...{ addresses: [], interface: null, assigned: true, online: false, seen_at: null },
  ...{ rx_bytes: 0, tx_bytes: 0, fixed_address: null },
};

test("name and exit change each alone; without either the device has the default exit again", async () => {
  await world.devices.assign(TV, { exit: "amsterdam" });
  const updates = world.parts.length;
  await world.devices.assign(TV, { name: "TV" });
  expect(world.parts).toHaveLength(updates);
  expect(await world.row(TV)).toMatchObject({ name: "TV", exit: "amsterdam", assigned: true });
  await world.devices.assign(TV, { exit: "main" });
  expect(await world.row(TV)).toMatchObject({ name: "TV", exit: "main", assigned: true });
  await world.devices.forget(TV);
  expect(await world.row(TV)).toBeUndefined();
  expect(world.parts.at(-1)).toEqual({
    devices: [],
    routed: [],
    defaultExit: { to: "tunnel", name: "main" },
  });
  expect(world.store.devices()).toEqual([]);
  await world.host.pass(1_000);
  expect(world.told).toEqual([]);
});

test("listeners are told of an exit that was given, and of the new default exit", async () => {
  world.host.setNeighbour("192.168.7.20", "lan0", TV, "STALE");
  world.host.setNeighbour("192.168.7.30", "lan0", PHONE, "STALE");
  await world.devices.assign(TV, { name: "TV", exit: "amsterdam" });
  await world.host.pass(1_000);
  await world.devices.setDefaultExit("blocked");
  await world.host.pass(1_000);
  expect(world.told).toEqual([
    { id: TV, name: "TV", exit: "amsterdam", online: true },
    { id: PHONE, name: "", exit: "main", online: true },
    { id: PHONE, name: "", exit: "blocked", online: true },
  ]);
});

test("listeners are told too if the name or the exit that a person gives is the one that the device has", async () => {
  world.host.setNeighbour("192.168.7.20", "lan0", TV, "STALE");
  await world.host.pass(1_000);
  await world.devices.assign(TV, { exit: "main" });
  await world.host.pass(1_000);
  const update = { id: TV, name: "", exit: "main", online: true };
  expect(world.told).toEqual([update, update]);
});

test("a change is saved while the kernel's tools work on it", async () => {
  const held = Promise.withResolvers<void>();
  const loaded = Promise.withResolvers<void>();
  world.load = () => {
    expect(world.store.devices()).toEqual([]);
    loaded.resolve();
    return held.promise;
  };
  const assigned = world.devices.assign(TV, { exit: "blocked" });
  await loaded.promise;
  while (world.store.devices().length === 0) await nextTurn();
  held.resolve();
  await assigned;
});

test("if the kernel refuses the choice after exits were lost, they are still lost after a restart", async () => {
  world.store.write("exits_lost", "They were lost.");
  world.store.write("default_exit", "blocked");
  world.devices = world.fresh();
  await world.devices.reload();
  let failures = 1;
  world.load = async () => {
    await nextTurn();
    if (failures-- > 0) throw new GatewayError("kernel_refused", "nft failed");
  };
  await expect(world.devices.setDefaultExit("main")).rejects.toMatchObject({ code: "kernel_refused" });
  world.devices = world.fresh();
  await world.devices.reload();
  expect(world.devices.exitsLost).toBe("They were lost.");
  expect(await world.devices.list()).toMatchObject({ default_exit: "blocked" });
});

const NO_TUNNEL = "exit: there is no such tunnel; the exits are main, amsterdam, blocked";
const NO_ID =
  "id: must be a MAC address, such as 02:00:00:00:00:20, or a prefix behind another router of the LAN, such as 10.8.0.0/24";
const NOT_PRIVATE =
  "id: a prefix behind another router must be private address space (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7)";

const NOT_DIRECT =
  "exit: no device may leave directly, outside the tunnel; to allow it, type on the gateway: sudo portcullis direct on";

test.each([
  [TV, {}, refusal("bad_request", "name, exit, address, rate, quota, icon or group is required")],
  [TV, { exit: "oslo" }, refusal("not_found", NO_TUNNEL)],
  [TV, { exit: "" }, refusal("not_found", NO_TUNNEL)],
  [TV, { exit: "Main" }, refusal("not_found", NO_TUNNEL)],
  [TV, { exit: "__proto__" }, refusal("not_found", NO_TUNNEL)],
  [TV, { exit: "direct" }, refusal("forbidden", NOT_DIRECT)],
  [TV, { name: "a\nb" }, refusal("bad_request", "name: contains a control character")],
  [TV, { name: "TV", exit: "oslo" }, refusal("not_found", NO_TUNNEL)],
  ["tv", { name: "TV" }, refusal("bad_request", NO_ID)],
  ["10.1.0.0/33", { name: "TV" }, refusal("bad_request", NO_ID)],
  [
    "10.8.0.1/24",
    { name: "TV" },
    refusal("bad_request", "id: 10.8.0.1/24 has host bits; the network is 10.8.0.0/24"),
  ],
  ["203.0.113.0/24", { name: "TV" }, refusal("bad_request", NOT_PRIVATE)],
  ["0.0.0.0/0", { name: "TV" }, refusal("bad_request", NOT_PRIVATE)],
  [
    "172.16.0.0/11",
    { name: "TV" },
    refusal("bad_request", "id: 172.16.0.0/11 has host bits; the network is 172.0.0.0/11"),
  ],
  ["10.0.0.0/7", { name: "TV" }, refusal("bad_request", NOT_PRIVATE)],
  ["2001:db8::/32", { name: "TV" }, refusal("bad_request", NOT_PRIVATE)],
  ["fe80::/64", { name: "TV" }, refusal("bad_request", NOT_PRIVATE)],
  ["169.254.7.0/24", { name: "TV" }, refusal("bad_request", NOT_PRIVATE)],
])("to give %s %j is refused", async (id, given, error) => {
  await expect(world.devices.assign(id, given)).rejects.toThrow(error);
  await world.host.pass(0);
  expect([world.store.devices(), world.parts.length]).toEqual([[], 1]);
});

test("the default exit is a tunnel or blocked", async () => {
  await expect(world.devices.setDefaultExit("oslo")).rejects.toThrow(refusal("not_found", NO_TUNNEL));
  await world.host.pass(0);
  expect((await world.devices.list()).default_exit).toBe("main");
});

test("a device that nobody knows cannot be forgotten", async () => {
  await expect(world.devices.forget(TV)).rejects.toThrow(refusal("not_found", "id: there is no such device"));
});

test("however many events the kernel drops, the table is read once a second", async () => {
  const reads = () => world.host.commands.filter((command) => command.includes("neigh")).length;
  await world.host.pass(2_000);
  const before = reads();
  for (let gap = 0; gap < 100; gap++) world.devices.saw(null);
  await world.host.pass(500);
  expect(reads() - before).toBe(1);
  await world.host.pass(10_000);
  expect(reads() - before).toBe(2);
});

test("what changes while the table is read is not lost", async () => {
  const held = Promise.withResolvers<void>();
  const { host } = world;
  // The table is read before the change, and arrives after it.
  const run = host.run.bind(host);
  host.run = async (argv, options) => {
    const answer = await run(argv, options);
    await held.promise;
    return answer;
  };
  const looking = world.devices.roster.look();
  await host.pass(0);
  host.setNeighbour("192.168.7.20", "lan0", TV, "STALE");
  held.resolve();
  await looking;
  expect(await world.row(TV)).toMatchObject({ online: true });
});

test("listeners are told once that a device is gone, and not while it is heard", async () => {
  world.host.setNeighbour("192.168.7.20", "lan0", PHONE, "REACHABLE");
  for (const id of [TV, PHONE]) await world.devices.assign(id, { name: "x" });
  await world.host.pass(1_000);
  for (const id of [TV, PHONE]) await world.devices.forget(id);
  await world.host.pass(1_000);
  expect(world.removed).toEqual([TV]);
  expect(world.told.at(-1)).toEqual({ id: PHONE, name: "", exit: "main", online: true });
  await world.devices.assign(TV, { name: "TV" });
  await world.devices.forget(TV);
  await world.host.pass(1_000);
  expect(world.removed).toEqual([TV, TV]);
});

slow.test("there is a bound to what people may assign", async () => {
  const id = (number: number) =>
    `02:00:00:01:${[number >> 8, number & 255].map((byte) => byte.toString(16).padStart(2, "0")).join(":")}`;
  for (let number = 0; number < MAX_ASSIGNED; number++)
    world.store.saveDevice({ id: id(number), name: "x", exit: null });
  await world.devices.reload();
  await expect(world.devices.assign(TV, { name: "TV" })).rejects.toThrow(
    "id: 1000 devices already have a name or an exit, the maximum; remove one first",
  );
  await world.devices.assign(id(0), { name: "y" });
  await world.devices.forget(id(0));
  await world.devices.assign(TV, { name: "TV" });
});

test("whatever the database says, an exit that is unknown or not allowed means blocked", async () => {
  world.store.saveDevice({ id: TV, name: null, exit: "direct" });
  world.store.saveDevice({ id: PHONE, name: null, exit: "Not An Exit" });
  world.store.saveDevice({ id: "10.1.0.0/16", name: null, exit: "main" });
  world.store.write("default_exit", "direct");
  await world.devices.reload();
  expect(world.parts.at(-1)).toEqual({
    devices: [
      { id: TV, exit: { to: "blocked" } },
      { id: PHONE, exit: { to: "blocked" } },
    ],
    routed: [{ prefix: mustParsePrefix("10.1.0.0/16"), exit: { to: "tunnel", name: "main" } }],
    defaultExit: { to: "blocked" },
    networks: [{ interface: "lan0", exit: null, page: true, others: false }],
  });
});

const OFFICE = "10.8.0.0/24";

test("a network behind another router is assigned before a route leads to it, and is found once it sends", async () => {
  await world.devices.assign(OFFICE, { name: "office", exit: "amsterdam" });
  await world.devices.assign("10.8.0.5", { exit: "blocked" });
  await world.devices.assign("fd08:0::/64", { name: "office 6" });
  expect(world.parts.at(-1)?.routed).toEqual([
    { prefix: mustParsePrefix(OFFICE), exit: { to: "tunnel", name: "amsterdam" } },
    { prefix: mustParsePrefix("10.8.0.5/32"), exit: { to: "blocked" } },
    // It has that of the network from which it comes.
    { prefix: mustParsePrefix("fd08::/64"), exit: null },
  ]);
  expect(await world.row(OFFICE)).toEqual({
    ...{ ...UNSEEN, id: OFFICE, name: "office", named: true, exit: "amsterdam" },
  });
  await world.host.pass(1_000);
  world.told.length = 0;
  world.ways[OFFICE] = { interfaces: ["lan0"], overlap: null };
  world.host.carry("counter", "from_10_8_0_0_24", 70);
  world.host.carry("heard_10_8_0_0_24", "10.8.0.9", 0, 86_398);
  world.host.carry("counter", "to_10_8_0_0_24", 30);
  // The most specific prefix has it.
  world.host.carry("counter", "from_10_8_0_5_32", 5);
  world.host.carry("heard_10_8_0_5_32", "10.8.0.5", 0);
  await world.host.pass(15_000);
  expect(world.told).toEqual([{ id: OFFICE, name: "office", exit: "amsterdam", online: true }]);
  const row = await world.row(OFFICE);
  expect(row).toMatchObject({ interface: "lan0", online: true, rx_bytes: 30, tx_bytes: 70 });
  expect(row?.addresses).toEqual(["10.8.0.9"]);
  expect(await world.row("10.8.0.5/32")).toMatchObject({ online: false, tx_bytes: 5 });
  delete world.ways[OFFICE];
  await world.host.pass(16_000);
  expect(world.told.at(-1)).toEqual({ id: OFFICE, name: "office", exit: "amsterdam", online: false });
});

test("a network that something else has addresses of is refused, and so is one too many", async () => {
  world.ways[OFFICE] = { interfaces: [], overlap: "the LAN's own 10.8.0.0/16 on lan0" };
  await expect(world.devices.assign(OFFICE, { exit: "main" })).rejects.toThrow(
    refusal(
      "bad_request",
      "id: 10.8.0.0/24 overlaps the LAN's own 10.8.0.0/16 on lan0; a prefix is for what is behind another router of the LAN",
    ),
  );
  for (let number = 0; number < MAX_PREFIXES; number += 1)
    await world.devices.assign(`10.9.${number}.0/24`, { exit: "main" });
  await expect(world.devices.assign("10.10.0.0/24", { exit: "main" })).rejects.toThrow(
    "id: 32 prefixes already have a name or an exit, the maximum; remove one first",
  );
});

test("whoever may ask the resolver is decided about, or a neighbour", async () => {
  await world.devices.assign(OFFICE, { name: "office", exit: "main" });
  await world.devices.assign(TV, { exit: "blocked" });
  world.host.setNeighbour("192.168.7.30", "lan0", PHONE, "STALE");
  await world.host.pass(1_000);
  const { decided, others } = world.devices.roster.askers;
  expect([decided.join(" "), others]).toEqual([`${OFFICE} ${TV}`, [PHONE]]);
});

test("a network is never direct, whatever the database says", async () => {
  await world.devices.setDirect(true);
  await expect(world.devices.assign(OFFICE, { exit: "direct" })).rejects.toThrow(
    refusal(
      "bad_request",
      "exit: direct is for single devices, not for what comes by another router or by a mesh",
    ),
  );
  world.store.saveDevice({ id: OFFICE, name: null, exit: "direct" });
  await world.devices.reload();
  expect(world.parts.at(-1)?.routed).toEqual([{ prefix: mustParsePrefix(OFFICE), exit: { to: "blocked" } }]);
});

test("a tunnel that a network uses is not removed", async () => {
  await world.devices.assign(OFFICE, { name: "office", exit: "amsterdam" });
  await expect(world.devices.unlessUsed("amsterdam", async () => {})).rejects.toThrow(
    "name: amsterdam is the exit of office (10.8.0.0/24); choose another exit for them first",
  );
});

test("the devices are counted by exit", async () => {
  await world.devices.assign(TV, { exit: "amsterdam" });
  world.host.setNeighbour("192.168.7.30", "lan0", PHONE, "STALE");
  expect(world.devices.counts()).toEqual({ main: 1, amsterdam: 1, blocked: 0, direct: 0 });
});

describe("several exits in order", () => {
  const ORDER = ["amsterdam", "main", "blocked"];
  const exitOf = async () => (await world.row(TV))?.exit;
  const inKernel = () => world.parts.at(-1)?.devices;
  const by = (name: string) => [{ id: TV, exit: { to: "tunnel" as const, name } }];
  const BLOCKED = [{ id: TV, exit: { to: "blocked" as const } }];
  const tunnelIs = async (name: string, isUp: boolean) => {
    world.devices.inForce.tunnelIs(name, isUp);
    await Promise.resolve();
  };
  const alertsOf = (code: string) => world.alerts.filter((each) => each.startsWith(code));
  beforeEach(async () => {
    await tunnelIs("main", true);
    await tunnelIs("amsterdam", true);
    await world.devices.assign(TV, { name: "TV", exit: ORDER });
    await world.host.pass(2_000);
    world.told.length = 0;
  });

  test("the first that is up is in force, in the kernel and in the list, and the order is shown beside it", async () => {
    expect(await world.row(TV)).toMatchObject({ exit: "amsterdam", exit_order: ORDER, assigned: true });
    expect(inKernel()).toEqual(by("amsterdam"));
    expect(world.devices.counts()).toEqual({ main: 0, amsterdam: 1, blocked: 0, direct: 0 });
    expect(alertsOf("exit_moved")).toEqual([]);
  });

  test("a tunnel that fails is left in the same turn, and listeners and people are told", async () => {
    await tunnelIs("amsterdam", false);
    expect(inKernel()).toEqual(by("main"));
    await tunnelIs("main", false);
    expect(inKernel()).toEqual(BLOCKED);
    await tunnelIs("main", true);
    expect(inKernel()).toEqual(by("main"));
    await world.host.pass(2_000);
    expect(world.told).toEqual([{ id: TV, name: "TV", exit: "main", online: false }]);
    expect(alertsOf("exit_moved")).toEqual([
      `exit_moved: Moved from amsterdam to main, because amsterdam is down: TV (${TV}).`,
    ]);
  });

  test("if all its tunnels are lost at once, as with the uplink, a device stays where it is", async () => {
    await world.devices.assign(TV, { exit: ["amsterdam", "main"] });
    const { length } = world.parts;
    world.devices.inForce.tunnelIs("amsterdam", false);
    await tunnelIs("main", false);
    expect(world.parts.length).toBe(length);
    expect(inKernel()).toEqual(by("amsterdam"));
  });

  test("a better tunnel is taken again when it has been up for a minute, and later if it fails soon again", async () => {
    await tunnelIs("amsterdam", false);
    await world.host.pass(2_000);
    await tunnelIs("amsterdam", true);
    await world.host.pass(59_000);
    expect(inKernel()).toEqual(by("main"));
    await world.host.pass(3_000);
    expect(inKernel()).toEqual(by("amsterdam"));
    expect(alertsOf("exit_moved").at(-1)).toBe(
      `exit_moved: Moved from main to amsterdam, because amsterdam is up: TV (${TV}).`,
    );
    await tunnelIs("amsterdam", false);
    await tunnelIs("amsterdam", true);
    await world.host.pass(119_000);
    expect(inKernel()).toEqual(by("main"));
    await world.host.pass(2_000);
    expect(inKernel()).toEqual(by("amsterdam"));
  });

  test("a tunnel that gets the name of one that was removed is taken at once", async () => {
    world.devices.inForce.forget("amsterdam");
    await Promise.resolve();
    expect(inKernel()).toEqual(by("main"));
    await tunnelIs("amsterdam", true);
    expect(inKernel()).toEqual(by("amsterdam"));
  });

  test("however a tunnel flaps, a device moves once", async () => {
    const { length } = world.parts;
    for (let count = 0; count < 30; count += 1) {
      await tunnelIs("amsterdam", false);
      await world.host.pass(500);
      await tunnelIs("amsterdam", true);
      await world.host.pass(500);
    }
    expect(world.parts.length).toBe(length + 1);
    expect(alertsOf("exit_moved").length).toBe(1);
  });

  test("without blocked, a device whose tunnels are all down stays at one of them, which refuses it", async () => {
    await world.devices.assign(TV, { exit: ["amsterdam", "main"] });
    await tunnelIs("amsterdam", false);
    await tunnelIs("main", false);
    expect(inKernel()).toEqual(by("main"));
    await tunnelIs("amsterdam", true);
    expect(inKernel()).toEqual(by("amsterdam"));
  });

  test("are kept over a restart; before a tunnel is known to be up, everything is refused", async () => {
    const { length } = world.parts;
    const devices = world.fresh();
    await devices.reload();
    expect(inKernel()).toEqual(BLOCKED);
    devices.inForce.tunnelsAre([
      ["main", true],
      ["amsterdam", true],
    ]);
    expect(world.parts.slice(length).map((part) => part.devices)).toEqual([BLOCKED, by("amsterdam")]);
    expect(alertsOf("exit_moved")).toEqual([]);
  });

  test("a person's choice begins with the first that is up, and one exit ends the order", async () => {
    await tunnelIs("amsterdam", false);
    await tunnelIs("amsterdam", true);
    expect(await exitOf()).toBe("main");
    await world.devices.assign(TV, { exit: "blocked" });
    expect(await world.row(TV)).not.toHaveProperty("exit_order");
    await world.devices.assign(TV, { exit: ORDER });
    expect(inKernel()).toEqual(by("amsterdam"));
    await world.devices.assign(TV, { name: "Television" });
    expect(await world.row(TV)).toMatchObject({ name: "Television", exit_order: ORDER });
  });

  test("a schedule's exit precedes them, and they are there again afterwards", async () => {
    await world.devices.byTime.exit.schedule(TV, "blocked");
    expect(inKernel()).toEqual(BLOCKED);
    expect(await world.row(TV)).toMatchObject({ exit: "blocked", exit_order: ORDER });
    await tunnelIs("amsterdam", false);
    expect(inKernel()).toEqual(BLOCKED);
    await world.devices.byTime.exit.schedule(TV, undefined);
    expect(await world.row(TV)).toMatchObject({ exit: "main", exit_order: ORDER });
  });

  test.each([
    [["amsterdam", "oslo"], "exit: there is no such tunnel; the exits are main, amsterdam, blocked"],
    [["blocked", "main"], "exit: blocked must be the last of the list"],
    ["amsterdam,main", "exit: there is no such tunnel"],
  ])("%j are refused, and nothing has changed", async (exit, message) => {
    await world.devices.setDirect(true).catch(() => {});
    if (message.includes("no such tunnel")) await world.devices.setDirect(false);
    const { length } = world.parts;
    await expect(world.devices.assign(TV, { exit })).rejects.toThrow(message);
    expect(world.parts.length).toBe(length);
    expect(await world.row(TV)).toMatchObject({ exit: "amsterdam", exit_order: ORDER });
  });

  test("a tunnel that is one of them is not removed", async () => {
    await expect(world.devices.unlessUsed("main", async () => {})).rejects.toThrow(
      "name: main is the default exit",
    );
    await expect(world.devices.unlessUsed("amsterdam", async () => {})).rejects.toThrow(
      `name: amsterdam is the exit of TV (${TV}); choose another exit for them first`,
    );
  });

  test.each(["amsterdam,", "blocked,main", "amsterdam,direct", "main,main", "amsterdam,Not An Exit"])(
    "whatever the database says: %j means blocked",
    async (exit) => {
      await world.devices.setDirect(true);
      world.store.saveDevice({ id: TV, name: null, exit });
      await world.devices.reload();
      expect(inKernel()).toEqual(BLOCKED);
      await tunnelIs("amsterdam", false);
      expect(inKernel()).toEqual(BLOCKED);
    },
  );

  test("a network behind another router can have them too", async () => {
    await world.devices.assign(OFFICE, { exit: ["amsterdam", "main"] });
    await tunnelIs("amsterdam", false);
    expect(world.parts.at(-1)?.routed).toEqual([
      { prefix: mustParsePrefix(OFFICE), exit: { to: "tunnel", name: "main" } },
    ]);
    expect(await world.row(OFFICE)).toMatchObject({ exit: "main", exit_order: ["amsterdam", "main"] });
  });

  test("if the kernel refuses a move, the exit in force is still the one that people see, and is tried again", async () => {
    world.load = async () => {
      throw new Error("nft: no");
    };
    await tunnelIs("amsterdam", false);
    expect([inKernel(), await exitOf()]).toEqual([by("main"), "main"]);
  });
});

describe("an exit by schedule", () => {
  const exitOf = async () => (await world.row(TV))?.exit;

  test("precedes the person's own, which is there again afterwards; the kernel and listeners have each", async () => {
    await world.devices.assign(TV, { exit: "amsterdam" });
    await world.devices.byTime.exit.schedule(TV, "blocked");
    expect(await world.row(TV)).toMatchObject({ exit: "blocked", assigned: true });
    expect(world.parts.at(-1)?.devices).toEqual([{ id: TV, exit: { to: "blocked" } }]);
    await world.devices.byTime.exit.schedule(TV, undefined);
    expect(await exitOf()).toBe("amsterdam");
    expect(world.parts.at(-1)?.devices).toEqual([{ id: TV, exit: { to: "tunnel", name: "amsterdam" } }]);
    await world.host.pass(1_000);
    expect(world.told.map(({ exit }) => exit)).toEqual(["amsterdam"]);
  });

  test("is the exit of a device that has no other, over a restart too", async () => {
    await world.devices.byTime.exit.schedule(TV, "blocked");
    const again = new World(world.directory, world.store);
    await again.start();
    expect(again.parts[0]?.devices).toEqual([{ id: TV, exit: { to: "blocked" } }]);
    expect(await again.row(TV)).toMatchObject({ exit: "blocked", assigned: true });
    expect(again.devices.byTime.exit.scheduled).toEqual([TV]);
    await again.devices.byTime.exit.schedule(TV, undefined);
    expect(again.parts.at(-1)?.devices).toEqual([]);
    again.stopping.abort();
  });

  test("that comes while the kernel is to refuse a person's change leaves nothing of that, and stays", async () => {
    world.devices.lanIs([LAN0], "up0");
    await world.devices.assign(TV, { exit: "main" });
    const held = Promise.withResolvers<void>();
    world.host.holds = (command) => (command.startsWith("nft") ? held.promise : null);
    world.host.fails = (number) => (world.host.commands[number - 1]?.startsWith("nft") ? "before" : null);
    const given = world.devices.assign(TV, { exit: "amsterdam", rate: { down: 1, up: 1 } });
    given.catch(() => {});
    const scheduled = world.devices.byTime.exit.schedule(TV, "blocked");
    await Bun.sleep(0);
    held.resolve();
    await expect(given).rejects.toMatchObject({ code: "kernel_refused" });
    await scheduled;
    expect([await exitOf(), world.store.devices()]).toEqual([
      "blocked",
      [{ id: TV, name: null, exit: "main" }],
    ]);
    await world.devices.byTime.exit.schedule(TV, undefined);
    expect(await exitOf()).toBe("main");
    expect(world.parts.at(-1)?.devices).toEqual([{ id: TV, exit: { to: "tunnel", name: "main" } }]);
  });

  test("ends as soon as a person gives the device an exit, even the default one, and not with a name", async () => {
    await world.devices.byTime.exit.schedule(TV, "blocked");
    await world.devices.assign(TV, { name: "TV" });
    expect(await exitOf()).toBe("blocked");
    await world.devices.assign(TV, { exit: null });
    expect(await exitOf()).toBe("main");
    await world.devices.byTime.exit.schedule(TV, "blocked");
    await world.devices.forget(TV);
    expect(world.devices.byTime.exit.scheduled).toEqual([]);
  });

  test("if the kernel refuses it, nothing has changed", async () => {
    world.load = () => Promise.reject(new GatewayError("kernel_refused", "no"));
    await expect(world.devices.byTime.exit.schedule(TV, "blocked")).rejects.toThrow("no");
    expect(world.devices.byTime.exit.scheduled).toEqual([]);
    expect(world.store.read("scheduled_exits") ?? "").toBe("");
  });

  test("opens what it gives a device beyond its own, and nothing that the device has anyway", async () => {
    const { exit } = world.devices.byTime;
    await world.devices.assign(TV, { exit: "amsterdam" });
    expect([undefined, "main", "amsterdam", "blocked"].map((to) => exit.loosens(TV, undefined, to))).toEqual([
      ...[false, true, false, false],
    ]);
    expect(exit.loosens(TV, "blocked", undefined)).toBe(true);
    await world.devices.assign(TV, { exit: "blocked" });
    expect(exit.loosens(TV, "blocked", undefined)).toBe(false);
    expect(exit.loosens(TV, "main", undefined)).toBe(false);
  });

  test("must be there, and keeps its tunnel from being removed", async () => {
    await expect(world.devices.byTime.exit.schedule(TV, "oslo")).rejects.toThrow(
      refusal("not_found", "exit: there is no such tunnel; the exits are main, amsterdam, blocked"),
    );
    await world.devices.byTime.exit.schedule(TV, "amsterdam");
    await expect(world.devices.unlessUsed("amsterdam", async () => {})).rejects.toThrow(
      refusal("bad_request", `name: amsterdam is the exit of ${TV}; choose another exit for them first`),
    );
  });

  test("is for a network behind another router too", async () => {
    await world.devices.byTime.exit.schedule(mustParsePrefix("10.8.0.0/24"), "blocked");
    expect(world.parts.at(-1)?.routed).toEqual([
      { prefix: mustParsePrefix("10.8.0.0/24"), exit: { to: "blocked" } },
    ]);
    expect(await world.row("10.8.0.0/24")).toMatchObject({ exit: "blocked" });
  });
});

describe("the exit direct", () => {
  const directOf = () =>
    world.parts.at(-1)?.devices?.flatMap(({ id, exit }) => (exit.to === "direct" ? [id] : []));

  test("is given only while it is allowed, and taken from all who have it in one change", async () => {
    await world.devices.assign(TV, { name: "TV", exit: "amsterdam" });
    expect(world.devices.direct).toEqual({ allowed: false, devices: [] });
    expect(await world.devices.setDirect(true)).toEqual({ allowed: true, devices: [] });
    await world.devices.assign(TV, { exit: "direct" });
    await world.devices.assign(PHONE, { exit: "direct" });
    expect(directOf()).toEqual([TV, PHONE]);
    const both = [
      { id: TV, name: "TV" },
      { id: PHONE, name: null },
    ];
    expect(world.devices.direct).toEqual({ allowed: true, devices: both });
    world.devices = world.fresh();
    await world.devices.reload();
    expect(directOf()).toEqual([TV, PHONE]);
    const changes = world.parts.length;
    expect(await world.devices.setDirect(false)).toEqual({ allowed: false, devices: [] });
    expect(world.parts.length).toBe(changes + 1);
    expect(world.parts.at(-1)).toEqual({
      devices: [],
      routed: [],
      defaultExit: { to: "tunnel", name: "main" },
    });
    expect(world.store.devices()).toEqual([{ id: TV, name: "TV", exit: null }]);
    expect(world.store.read("direct")).toBeNull();
    await expect(world.devices.assign(TV, { exit: "direct" })).rejects.toThrow(
      refusal("forbidden", NOT_DIRECT),
    );
  });

  test("each change of who has it, or of whether it is allowed, is an alert, and nothing else is", async () => {
    await world.devices.setDirect(true);
    await world.devices.setDirect(true);
    await world.devices.assign(TV, { name: "TV", exit: "direct" });
    await world.devices.assign(TV, { name: "Television" });
    await world.devices.assign(PHONE, { exit: "direct" });
    await world.devices.assign(PHONE, { exit: "blocked" });
    await world.devices.setDirect(false);
    expect(world.alerts).toEqual(
      [
        "The exit direct is allowed now: devices that are given it leave outside the tunnel.",
        `Now direct, outside the tunnel: TV (${TV}).`,
        `Now direct, outside the tunnel: ${PHONE}.`,
        `No longer direct: ${PHONE}.`,
        "The exit direct is no longer allowed.",
        `No longer direct: Television (${TV}).`,
      ].map((message) => `direct_changed: ${message}`),
    );
  });

  test("is taken from a device without ending the exit that a schedule gives it meanwhile", async () => {
    await world.devices.setDirect(true);
    await world.devices.assign(TV, { exit: "direct" });
    await world.devices.byTime.exit.schedule(TV, "blocked");
    await world.devices.setDirect(false);
    expect([world.devices.exitOf(TV), world.devices.byTime.exit.scheduled]).toEqual(["blocked", [TV]]);
    await world.devices.byTime.exit.schedule(TV, undefined);
    expect(world.devices.exitOf(TV)).toBe("main");
  });

  test("is taken from all even if that cannot be saved, and that is saved with the next change", async () => {
    await world.devices.setDirect(true);
    await world.devices.assign(TV, { name: "TV", exit: "direct" });
    world.alerts.length = 0;
    const { atomically } = world.store;
    world.store.atomically = () => {
      throw new GatewayError("storage_full", "The database could not be written: the disk is full.");
    };
    const refused = world.devices.setDirect(false);
    await expect(refused).rejects.toThrow(
      new GatewayError(
        "storage_full",
        "The database could not be written: the disk is full. The change is in force, but a restart would undo it: repeat the command when the database can be written.",
      ),
    );
    expect([directOf(), world.devices.direct, world.alerts]).toEqual([
      [],
      { allowed: false, devices: [] },
      [
        "direct_changed: The exit direct is no longer allowed.",
        `direct_changed: No longer direct: TV (${TV}).`,
      ],
    ]);
    await expect(world.devices.setDirect(true)).rejects.toThrow("the disk is full");
    expect(world.devices.direct.allowed).toBe(false);
    world.store.atomically = atomically;
    await world.devices.assign(PHONE, { exit: "blocked" });
    expect(world.store.read("direct")).toBeNull();
    expect(world.store.devices()).toEqual([
      { id: TV, name: "TV", exit: null },
      { id: PHONE, name: null, exit: "blocked" },
    ]);
  });

  test("that is taken back, because the kernel refuses a limit that came with it, was there all the same", async () => {
    world.devices.lanIs([LAN0], "up0");
    await world.devices.setDirect(true);
    world.alerts.length = 0;
    world.host.fails = (number) => (world.host.commands[number - 1]?.startsWith("nft") ? "before" : null);
    const given = world.devices.assign(TV, { exit: "direct", rate: { down: 1, up: 1 } });
    await expect(given).rejects.toMatchObject({ code: "kernel_refused" });
    expect(world.alerts).toEqual([
      `direct_changed: Now direct, outside the tunnel: ${TV}.`,
      `direct_changed: No longer direct: ${TV}.`,
    ]);
    expect([world.devices.direct.devices, world.store.devices()]).toEqual([[], []]);
  });

  test("permits nothing before it is in force, also if it was withdrawn while a limit waited for the kernel", async () => {
    world.devices.lanIs([LAN0], "up0");
    await world.devices.setDirect(true);
    await world.devices.assign(TV, { exit: "blocked" });
    world.alerts.length = 0;
    const held = Promise.withResolvers<void>();
    world.host.holds = (command) => (command.startsWith("nft") ? held.promise : null);
    const given = world.devices.assign(TV, { exit: "direct", rate: { down: 1, up: 1 } });
    const withdrawn = world.devices.setDirect(false);
    await Bun.sleep(0);
    expect(world.devices.direct).toEqual({ allowed: false, devices: [] });
    held.resolve();
    await Promise.all([given, withdrawn]);
    expect(world.alerts).toContain("direct_changed: The exit direct is no longer allowed.");
    const loaded = Promise.withResolvers<void>();
    world.load = () => loaded.promise;
    const allowed = world.devices.setDirect(true);
    await Bun.sleep(0);
    expect([world.devices.direct.allowed, world.devices.exits.directAllowed]).toEqual([true, false]);
    loaded.reject(new Error("refused"));
    await expect(allowed).rejects.toThrow("refused");
    world.load = async () => {};
    await world.devices.setDirect(true);
    expect(world.devices.exits.directAllowed).toBe(true);
  });

  test("a device that was blocked meanwhile stays blocked, whatever was withdrawn and waited", async () => {
    world.devices.lanIs([LAN0], "up0");
    await world.devices.setDirect(true);
    const held = Promise.withResolvers<void>();
    world.host.holds = (command) => (command.startsWith("nft") ? held.promise : null);
    const limit = (down: number) => ({ rate: { down, up: down } });
    const given = world.devices.assign(TV, limit(1));
    const waiting = world.devices.assign(PHONE, { exit: "amsterdam", ...limit(2) });
    await Bun.sleep(0);
    await world.devices.assign(PHONE, { exit: "blocked", name: "a" });
    await world.devices.assign(PHONE, { name: "b" });
    const other = "02:00:00:00:00:40";
    await world.devices.assign(other, { exit: "blocked" });
    await world.devices.assign(other, { exit: "direct" });
    await world.devices.setDirect(false);
    expect(world.devices.exitOf(PHONE)).toBe("blocked");
    held.resolve();
    await Promise.all([given, waiting]);
    expect(world.devices.exitOf(PHONE)).toBe("blocked");
    expect(world.store.devices().find(({ id }) => id === PHONE)).toMatchObject({
      name: "b",
      exit: "blocked",
    });
  });

  test("that was refused is gone, also if a restore comes meanwhile", async () => {
    const loaded = Promise.withResolvers<void>();
    world.load = () => loaded.promise;
    const allowed = world.devices.setDirect(true);
    await Bun.sleep(0);
    world.store.saveDevice({ id: TV, name: "TV", exit: "amsterdam" });
    world.load = async () => {};
    const read = world.devices.reload();
    loaded.reject(new Error("refused"));
    await expect(allowed).rejects.toThrow("refused");
    await read;
    expect([world.devices.direct.allowed, world.store.read("direct")]).toEqual([false, null]);
    expect(world.store.devices()).toEqual([{ id: TV, name: "TV", exit: "amsterdam" }]);
  });

  test("if the kernel refuses a change, nothing has changed and there is no alert", async () => {
    await world.devices.setDirect(true);
    world.alerts.length = 0;
    world.load = () => Promise.reject(new Error("refused"));
    await expect(world.devices.assign(TV, { exit: "direct" })).rejects.toThrow("refused");
    expect([world.devices.direct.devices, world.store.devices(), world.alerts]).toEqual([[], [], []]);
  });

  test("is never the default exit", async () => {
    await world.devices.setDirect(true);
    await expect(world.devices.setDefaultExit("direct")).rejects.toThrow(
      refusal(
        "bad_request",
        "exit: direct cannot be the default exit, because every new device would leave outside the tunnel; give it to single devices",
      ),
    );
  });
});

test("of many invented devices listeners hear at a pace that they can follow, and in the end of all", async () => {
  for (let number = 0; number < 200; number++) {
    const mac = `02:00:00:00:01:${number.toString(16).padStart(2, "0")}`;
    world.host.setNeighbour(`192.168.7.${number}`, "lan0", mac, "STALE");
  }
  await world.host.pass(200);
  expect(world.told).toHaveLength(50);
  await world.host.pass(600);
  expect(world.told).toHaveLength(200);
  expect(new Set(world.told.map(({ id }) => id)).size).toBe(200);
});

slow.test(
  "however many devices someone invents, listeners soon hear of one that comes afterwards",
  async () => {
    for (let number = 0; number < 20_000; number++) {
      const mac = `02:00:00:01:${[number >> 8, number & 255].map((byte) => byte.toString(16).padStart(2, "0")).join(":")}`;
      world.host.setNeighbour("192.168.7.66", "lan0", mac, "STALE");
    }
    world.host.setNeighbour("192.168.7.20", "lan0", TV, "STALE");
    await world.host.pass(3_000);
    expect(world.told.at(-1)).toEqual({ id: TV, name: "", exit: "main", online: true });
    expect(world.told.length).toBeLessThanOrEqual(MAX_UNNAMED_DEVICES);
  },
);

describe("a gateway that serves DHCP", () => {
  const file = () => join(world.directory, "dhcp-hosts");
  const lines = () => readFileSync(file(), "utf8").split("\n").slice(1, -1);
  const assign = (id: string, address: string | null) => world.devices.assign(id, { address });
  beforeEach(async () => {
    world.dhcp = { file: file(), unit: null };
    world.devices = world.fresh();
    await world.devices.reload();
    world.devices.lanIs(
      [LAN0],
      "up0",
      [mustParseAddress("192.168.7.1")],
      [mustParseAddress("192.168.7.254")],
    );
  });

  test("gives a device all that a person has chosen, or nothing of it", async () => {
    const exit = ["amsterdam", "main"];
    const former = { name: "TV", exit: "blocked", address: "192.168.7.40", rate: { down: 9, up: null } };
    const given = { name: "set", exit, address: "192.168.7.50", rate: { down: 20, up: 5 }, quota: QUOTA };
    await world.devices.assign(TV, former);
    const decided = async () => {
      // A list that is empty again is as one that was never written, and the counter only grows.
      const settings = Object.entries(world.store.settings()).filter(
        ([key, text]) => !["exits_written", "quotas_used"].includes(key) && !["[]", "{}"].includes(text),
      );
      return [await world.row(TV), world.store.devices(), settings, lines(), world.parts.at(-1)?.devices];
    };
    const before = await decided();
    const nothing = async () => expect(await decided()).toEqual(before);
    // Each part refuses, the last one that is applied, too.
    world.load = () => Promise.reject(new GatewayError("kernel_refused", "nft failed"));
    await expect(world.devices.assign(TV, given)).rejects.toThrow("nft failed");
    world.load = async () => {};
    await nothing();
    world.host.fails = () => "before";
    await expect(world.devices.assign(TV, given)).rejects.toMatchObject({ code: "kernel_refused" });
    world.host.fails = () => null;
    await nothing();
    const { write } = world.store;
    world.store.write = () => {
      throw new GatewayError("storage_full", "The disk is full.");
    };
    await expect(world.devices.assign(TV, given)).rejects.toThrow("The disk is full.");
    world.store.write = write;
    await nothing();
    await expect(world.devices.assign(TV, { ...given, exit: "paris" })).rejects.toThrow("no such tunnel");
    await nothing();
    await world.devices.assign(TV, given);
    expect(await world.row(TV)).toMatchObject({
      ...{ name: "set", exit_order: exit, fixed_address: "192.168.7.50" },
      ...{ rate: { down: 20, up: 5 }, quota: QUOTA },
    });
    expect(lines()).toEqual([`${TV},192.168.7.50`]);
  });

  test("gives a device the address that a person has chosen, also after a restart", async () => {
    expect(lines()).toEqual([]);
    await assign(TV, "192.168.7.50");
    await world.devices.assign(PHONE, { name: "phone", address: "192.168.7.40" });
    const expected = [`${TV},192.168.7.50`, `${PHONE},192.168.7.40`];
    expect(lines()).toEqual(expected);
    rmSync(file());
    world.devices = world.fresh();
    await world.devices.reload();
    world.devices.lanIs([LAN0], "up0");
    expect(lines()).toEqual(expected);
    expect(await world.row(TV)).toMatchObject({
      fixed_address: "192.168.7.50",
      named: false,
      assigned: false,
    });
    await assign(TV, null);
    await world.devices.forget(PHONE);
    expect(lines()).toEqual([]);
    expect(await world.devices.list()).toMatchObject({ devices: [] });
  });

  test.each([
    ["192.168.8.50", "192.168.8.50 is outside the LAN; choose one from 192.168.7.0/24"],
    ["fd00:7::50", "must be an IPv4 address"],
    ["192.168.7", "must be an IPv4 address"],
    ["192.168.7.0", "192.168.7.0 is the first or the last of 192.168.7.0/24, which no device can have"],
    ["192.168.7.255", "192.168.7.255 is the first or the last of 192.168.7.0/24, which no device can have"],
    ["192.168.7.1", "192.168.7.1 is the gateway's own"],
    ["192.168.7.254", "192.168.7.254 is the home router's"],
    ["192.168.7.40", `${PHONE} has 192.168.7.40; choose another one`],
    ["192.168.7.41", `${PHONE} has 192.168.7.41; choose another one`],
  ])("refuses %s, and says why", async (address, message) => {
    await assign(PHONE, "192.168.7.40");
    world.devices.saw(neighbour(PHONE, "192.168.7.41"));
    expect(assign(TV, address)).rejects.toThrow(refusal("bad_request", `address: ${message}`));
    expect(lines()).toEqual([`${PHONE},192.168.7.40`]);
  });

  test("gives an address that two devices are given at once to one of them only", async () => {
    const given = [TV, PHONE].map((id) => world.devices.assign(id, { name: "new", address: "192.168.7.50" }));
    expect((await Promise.allSettled(given)).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(lines()).toEqual([`${TV},192.168.7.50`]);
    // A request that is refused has changed nothing.
    expect(world.store.devices()).toEqual([{ id: TV, name: "new", exit: null }]);
  });

  test("has the former address of a device whose exit cannot be changed", async () => {
    await assign(TV, "192.168.7.50");
    const both = { exit: "nowhere", address: "192.168.7.60" };
    await expect(world.devices.assign(TV, both)).rejects.toThrow("there is no such tunnel");
    expect(lines()).toEqual([`${TV},192.168.7.50`]);
  });

  test("takes back no address by a change of name or exit, and none for a prefix", async () => {
    await assign(TV, "192.168.7.50");
    await world.devices.assign(TV, { name: "TV", exit: "blocked" });
    expect(await world.row(TV)).toMatchObject({ fixed_address: "192.168.7.50" });
    expect(assign("10.8.0.0/24", "192.168.7.60")).rejects.toThrow(
      "address: only a single device, given by its MAC address, can have one",
    );
  });

  test("has a unit that is told of changes, and a failure is logged", async () => {
    world.dhcp = { file: file(), unit: "portcullis-dhcp.service" };
    world.devices = world.fresh();
    const said: string[] = [];
    world.host.run = async (argv) => {
      said.push(argv.join(" "));
      throw new Error("no systemd here");
    };
    world.devices.lanIs([LAN0], "up0");
    await assign(TV, "192.168.7.50");
    // The service may be what systemd has to start first: it does not wait.
    expect(said).toEqual(["systemctl --no-block try-reload-or-restart portcullis-dhcp.service"]);
    expect(world.warnings).toEqual([
      "the DHCP server does not have the devices' addresses yet: no systemd here",
    ]);
  });

  test("does not give out an address of a backup that is the home router's here, or its own", async () => {
    world.store.write(
      "fixed_addresses",
      `${TV} 192.168.7.254,${PHONE} 192.168.7.1,02:00:00:00:00:31 192.168.7.60`,
    );
    await world.devices.reload();
    const others = ["02:00:00:00:00:31,192.168.7.60"];
    expect(lines()).toEqual(others);
    const complaints = [
      `${TV} does not get its fixed address 192.168.7.254: it is the home router's; choose another one`,
      `${PHONE} does not get its fixed address 192.168.7.1: it is the gateway's own; choose another one`,
    ];
    expect(world.warnings).toEqual(complaints);
    // The home router's cable is out.
    world.devices.lanIs([LAN0], "up0", [mustParseAddress("192.168.7.1")]);
    expect(lines()).toEqual(others);
    world.devices.lanIs([LAN0], "up0", [mustParseAddress("192.168.7.2")], [mustParseAddress("192.168.7.3")]);
    expect(lines()).toEqual([...others, `${TV},192.168.7.254`, `${PHONE},192.168.7.1`].sort());
    expect(world.warnings).toEqual(complaints);
  });

  test("keeps the addresses of a backup if a person chooses another one while the kernel gets the exits", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    world.load = () => held;
    world.store.write("fixed_addresses", `${PHONE} 192.168.7.40`);
    const loaded = world.devices.reload();
    const assigned = assign(TV, "192.168.7.50");
    release();
    await Promise.all([loaded, assigned]);
    expect(lines()).toEqual([`${TV},192.168.7.50`, `${PHONE},192.168.7.40`]);
  });

  test("keeps the file of the last run until it knows the network", async () => {
    await assign(TV, "192.168.7.50");
    world.devices = world.fresh();
    world.store.write("fixed_addresses", `${TV} 192.168.7.254`);
    await world.devices.reload();
    expect(lines()).toEqual([`${TV},192.168.7.50`]);
    world.devices.lanIs([LAN0], "up0", [], [mustParseAddress("192.168.7.254")]);
    expect(lines()).toEqual([]);
  });
});

test("a device keeps the group that a person has given it; one that is no name is refused, and changes nothing", async () => {
  await world.devices.assign(TV, { group: "Living room" });
  expect(await world.row(TV)).toMatchObject({ group: "Living room", named: false, assigned: false });
  for (const group of ["x".repeat(65), "a/b", "\u0007", " Ana"])
    await expect(world.devices.assign(TV, { group, icon: "tv" })).rejects.toThrow(/^group: /);
  expect(await world.row(TV)).toMatchObject({ group: "Living room" });
  expect(await world.row(TV)).not.toHaveProperty("icon");
  await world.devices.assign(TV, { group: null });
  expect(await world.row(TV)).not.toHaveProperty("group");
});

test("a device keeps the icon that a person has given it, over a restart, until it is forgotten", async () => {
  await world.devices.assign(TV, { icon: "tv" });
  await world.host.pass(1_000);
  expect(world.told.map(({ id }) => id)).toEqual([TV]);
  world.devices = world.fresh();
  await world.devices.reload();
  expect(await world.row(TV)).toMatchObject({ icon: "tv", named: false, assigned: false, exit: "main" });
  expect(world.store.read("device_icon")).toBe(`[{"id":"${TV}","value":"tv"}]`);
  expect(world.devices.roster.askers.decided).toEqual([TV]);
  await expect(world.devices.assign(OFFICE, { icon: "other" })).rejects.toThrow(
    "icon: is for single devices",
  );
  await world.devices.assign(TV, { name: "set", icon: null });
  expect(await world.row(TV)).not.toHaveProperty("icon");
  await world.devices.assign(TV, { icon: "other" });
  await world.devices.forget(TV);
  expect(await world.row(TV)).toBeUndefined();
  // Nothing is open or closed because of it, so it has to be saved.
  world.store.write = () => {
    throw new GatewayError("storage_full", "The disk is full.");
  };
  await expect(world.devices.assign(TV, { icon: "tv" })).rejects.toEqual(
    new GatewayError("storage_full", "The disk is full."),
  );
});

test("without DHCP no address can be chosen, and the message says how to serve it", async () => {
  expect(world.devices.assign(TV, { address: "192.168.7.50" })).rejects.toThrow(
    "address: the gateway does not serve DHCP; to turn that on: sudo portcullis install --dhcp",
  );
});

function neighbour(mac: Mac, address: string) {
  return { interface: "lan0", address: mustParseAddress(address), mac, heardMsAgo: 0, isLost: false };
}

test("lost exits are told until a person has chosen the default exit, even if the choice is the same", async () => {
  world.store.write("default_exit", "blocked");
  world.store.write("exits_lost", "The exits were lost.");
  await world.devices.reload();
  await world.devices.assign(TV, { exit: "main" });
  expect(world.devices.exitsLost).toBe("The exits were lost.");
  await world.devices.setDefaultExit("blocked");
  expect([world.devices.exitsLost, world.store.read("exits_lost")]).toEqual([null, null]);
});

describe("on a disk that takes no writes", () => {
  const FULL = "The database could not be written: the disk is full.";
  const IN_FORCE = `${FULL} The change is in force, but a restart would undo it: repeat the command when the database can be written.`;
  let atomically: Store["atomically"];
  const fill = () => {
    ({ atomically } = world.store);
    world.store.atomically = () => {
      throw new GatewayError("storage_full", FULL);
    };
  };
  const inForce = new GatewayError("storage_full", IN_FORCE);
  const refused = new GatewayError("storage_full", FULL);
  const exits = async () => {
    const { devices, default_exit } = await world.devices.list();
    return [default_exit, ...devices.map(({ exit }) => exit)];
  };

  test("what only closes takes effect and says that a restart would undo it; it is saved when there is room", async () => {
    await world.devices.assign(TV, { name: "TV", exit: "amsterdam" });
    await world.devices.assign(PHONE, { exit: "main" });
    const laptop = "02:00:00:00:00:40";
    await world.devices.assign(laptop, { exit: "main" });
    fill();
    await expect(world.devices.assign(TV, { exit: "blocked" })).rejects.toThrow(inForce);
    expect(world.parts.at(-1)?.devices).toContainEqual({ id: TV, exit: { to: "blocked" } });
    await expect(world.devices.assign(TV, { exit: "blocked" })).rejects.toThrow(inForce);
    await expect(world.devices.setDefaultExit("blocked")).rejects.toThrow(inForce);
    expect(world.parts.at(-1)?.defaultExit).toEqual({ to: "blocked" });
    await expect(world.devices.byTime.exit.schedule(PHONE, "blocked")).rejects.toThrow(inForce);
    expect(await exits()).toEqual(["blocked", "blocked", "blocked", "main"]);
    await expect(world.devices.byTime.exit.schedule(PHONE, undefined)).rejects.toThrow(refused);
    await expect(world.devices.forget(laptop)).rejects.toThrow(inForce);
    expect(await exits()).toEqual(["blocked", "blocked", "blocked"]);
    world.store.atomically = atomically;
    await world.host.pass(15_000);
    expect([world.store.devices(), world.store.read("default_exit")]).toEqual([
      [
        { id: TV, name: "TV", exit: "blocked" },
        { id: PHONE, name: null, exit: "main" },
      ],
      "blocked",
    ]);
  });

  test("what the kernel has refused does not come with a restart, even if the disk has become full meanwhile", async () => {
    await world.devices.assign(TV, { exit: "blocked" });
    const saved = () => world.store.devices().map(({ exit }) => exit);
    world.load = async () => {
      while (saved()[0] !== "main") await nextTurn();
      fill();
      world.load = async () => {};
      throw new Error("refused");
    };
    await expect(world.devices.assign(TV, { exit: "main" })).rejects.toThrow("refused");
    expect([await exits(), saved(), world.devices.byTime.exit.isSaved]).toEqual([
      ["main", "blocked"],
      ["main"],
      false,
    ]);
    world.store.atomically = atomically;
    await world.host.pass(15_000);
    expect([saved(), world.devices.byTime.exit.isSaved]).toEqual([["blocked"], true]);
  });

  test("what opens, or moves, or names, is refused, and nothing has changed", async () => {
    await world.devices.assign(TV, { exit: "blocked" });
    await world.devices.assign(PHONE, { exit: "main" });
    await world.devices.setDefaultExit("blocked");
    fill();
    await expect(world.devices.assign(TV, { exit: "main" })).rejects.toThrow(refused);
    await expect(world.devices.assign(PHONE, { exit: "amsterdam" })).rejects.toThrow(refused);
    await expect(world.devices.assign(PHONE, { name: "Phone" })).rejects.toThrow(refused);
    await expect(world.devices.setDefaultExit("main")).rejects.toThrow(refused);
    await expect(world.devices.byTime.exit.schedule(TV, "main")).rejects.toThrow(refused);
    await expect(world.devices.assign(PHONE, { exit: ["main", "amsterdam"] })).rejects.toThrow(refused);
    await expect(world.devices.setDirect(true)).rejects.toThrow(refused);
    expect(await exits()).toEqual(["blocked", "blocked", "main"]);
    await world.host.pass(15_000);
    expect(await exits()).toEqual(["blocked", "blocked", "main"]);
  });
});
