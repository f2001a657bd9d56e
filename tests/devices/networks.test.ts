import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { mustParsePrefix } from "../../src/base/address.ts";
import { alertText } from "../../src/base/alert-rows.ts";
import { Bus } from "../../src/base/bus.ts";
import { GatewayError } from "../../src/base/errors.ts";
import type { Mac } from "../../src/base/mac.ts";
import { Devices } from "../../src/devices/devices.ts";
import { NETWORKS } from "../../src/devices/network-record.ts";
import { LIMITS } from "../../src/devices/rate.ts";
import type { DevicesEvents } from "../../src/devices/updates.ts";
import type { NetworkPart } from "../../src/killswitch/network-part.ts";
import type { PolicyPart } from "../../src/killswitch/policy.ts";
import type { Lan } from "../../src/network/lan.ts";
import { networkIdOf } from "../../src/shared/network-id.ts";
import { Store } from "../../src/store/store.ts";
import { ip } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { newDirectory } from "../tunnel/directory.ts";

const lan = (name: string, prefix: string): Lan => ({
  interface: name,
  prefixes: [prefix, "fe80::/10"].map(mustParsePrefix),
});
const MESH: Lan = { interface: "mesh0", prefixes: [mustParsePrefix("100.64.0.0/10")], mesh: true };
const [HOME, GUESTS] = [lan("lan0", "192.168.7.0/24"), lan("eth0.20", "192.168.20.0/24")];

class World {
  readonly alerts: string[] = [];
  readonly parts: PolicyPart[] = [];
  readonly warnings: string[] = [];
  lanBefore: readonly string[] = [];
  /** Of the kill switch. */
  refuses = false;
  held: Promise<void> | null = null;
  host = new FakeHost();
  devices: Devices;

  constructor(
    readonly directory: string,
    readonly store = Store.open(directory, 0),
  ) {
    this.devices = this.fresh();
  }

  /** As after a restart. */
  fresh(): Devices {
    this.host = new FakeHost();
    return new Devices({
      host: this.host,
      store: this.store,
      killSwitch: {
        update: async (_, { deviceAt: __, ...part }) => {
          await this.held;
          if (this.refuses) throw new GatewayError("kernel_refused", "nft failed");
          this.parts.push(part);
        },
        wayTo: () => ({ interfaces: [], overlap: null }),
      },
      tunnelNames: () => ["main", "amsterdam"],
      dhcp: null,
      events: new Bus<DevicesEvents>(() => {}),
      alarm: (code, args) => this.alerts.push(`${code}: ${alertText(code, args)}`),
      lanBefore: this.lanBefore,
      meshes: ["mesh0"],
      log: { warn: (message) => this.warnings.push(message) },
    });
  }

  async start(...lans: Lan[]): Promise<void> {
    this.devices = this.fresh();
    await this.devices.reload();
    await this.see(...lans);
  }

  async see(...lans: Lan[]): Promise<void> {
    this.devices.lanIs(lans, "up0");
    await Bun.sleep(0);
    await this.devices.networks.restored();
  }

  get kept(): unknown {
    return JSON.parse(this.store.read(NETWORKS.key) ?? "null");
  }

  get networks() {
    return this.devices.networks.list().networks.map(({ interface: link, exit }) => `${link} ${exit}`);
  }
}

let world: World;
beforeEach(async () => {
  world = new World(newDirectory());
  await world.start(HOME);
});
afterEach(() => {
  world.store.close();
  rmSync(world.directory, { recursive: true });
});

const refusal = (work: Promise<void>) =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof GatewayError ? `${error.code}: ${error.message}` : `${error}`),
  );

test("a home about whose networks nobody has decided keeps nothing and gives the kill switch nothing", async () => {
  await world.see(HOME, GUESTS);
  expect(world.kept).toBeNull();
  expect(world.parts.filter(({ networks }) => networks !== undefined)).toEqual([]);
  expect(world.networks).toEqual(["eth0.20 main", "lan0 main"]);
});

describe("a network that appears", () => {
  test("is blocked, kept and told while the home's default exit is not main", async () => {
    await world.devices.setDefaultExit("amsterdam");
    expect(world.kept).toEqual([{ interface: "lan0" }]);
    await world.see(HOME, GUESTS);
    expect(world.networks).toEqual(["eth0.20 blocked", "lan0 amsterdam"]);
    expect(world.kept).toEqual([{ interface: "eth0.20", exit: "blocked" }, { interface: "lan0" }]);
    expect(world.alerts).toEqual([
      "network_new: The network eth0.20 is new, and its devices are blocked until you give it an exit: portcullis network eth0.20 exit main",
    ]);
    await world.start(HOME, GUESTS);
    expect(world.networks).toEqual(["eth0.20 blocked", "lan0 amsterdam"]);
    expect(world.alerts).toHaveLength(1);
  });

  test("is as the home while that is main, and stays so when another default is chosen", async () => {
    await world.see(HOME, GUESTS);
    await world.devices.setDefaultExit("amsterdam");
    expect(world.networks).toEqual(["eth0.20 amsterdam", "lan0 amsterdam"]);
    expect(world.alerts).toEqual([]);
  });

  test("is no network of a former version, whose LAN interfaces are known", async () => {
    await world.devices.setDefaultExit("blocked");
    world.store.forget(NETWORKS.key);
    world.lanBefore = ["lan0"];
    await world.start(HOME, GUESTS);
    expect(world.kept).toEqual([{ interface: "eth0.20", exit: "blocked" }, { interface: "lan0" }]);
    world.store.forget(NETWORKS.key);
    world.lanBefore = [];
    await world.start(HOME, GUESTS);
    expect(world.kept).toEqual([{ interface: "eth0.20" }, { interface: "lan0" }]);
  });

  test("is blocked, and has no page, if it is a mesh, whatever the home's default exit is", async () => {
    await world.see(HOME, MESH);
    expect(world.networks).toEqual(["lan0 main", "mesh0 blocked"]);
    expect(world.kept).toEqual([{ interface: "lan0" }, { interface: "mesh0", exit: "blocked", page: false }]);
    expect(world.alerts).toHaveLength(1);
    const [mesh] = world.devices.networks.list().networks.filter((each) => each.mesh);
    expect(mesh).toMatchObject({ interface: "mesh0", page: false, prefixes: ["100.64.0.0/10"] });
    // A restored backup may know nothing of it.
    world.store.write(NETWORKS.key, '[{"interface":"lan0"}]');
    await world.devices.reload();
    expect(world.networks).toEqual(["lan0 main", "mesh0 blocked"]);
  });

  test("is as the home while only a mesh is away, which it cannot be, and blocked while a card is", async () => {
    await world.see(HOME, MESH);
    await world.see(HOME, GUESTS);
    expect(world.networks).toEqual(["eth0.20 main", "lan0 main", "mesh0 blocked"]);
    await world.devices.networks.set("eth0.20", { exit: "blocked" });
    await world.see(HOME, lan("eth0.30", "192.168.30.0/24"));
    expect(world.networks).toContain("eth0.30 blocked");
  });

  test("stays blocked while it cannot be saved, and is told once it is", async () => {
    await world.devices.setDefaultExit("amsterdam");
    const { write } = world.store;
    world.store.write = () => {
      throw new GatewayError("storage_full", "The disk is full.");
    };
    await world.see(HOME, GUESTS);
    expect([world.kept, world.alerts]).toEqual([[{ interface: "lan0" }], []]);
    expect(world.parts.at(-1)?.networks?.map((each) => each.interface)).toEqual(["lan0"]);
    expect(world.warnings.join()).toContain("The disk is full.");
    world.store.write = write;
    await world.see(HOME, GUESTS);
    expect(world.networks).toEqual(["eth0.20 blocked", "lan0 amsterdam"]);
    expect(world.alerts).toHaveLength(1);
  });
});

describe("what people decide about a network", () => {
  test("leaves nothing behind, if it is the first and the kernel refuses it", async () => {
    world.refuses = true;
    expect(await refusal(world.devices.networks.set("lan0", { exit: "amsterdam" }))).toContain(
      "kernel_refused",
    );
    world.refuses = false;
    expect(world.kept).toBeNull();
    await world.start(HOME);
    expect(world.networks).toEqual(["lan0 main"]);
  });

  test("is kept while it is gone, and no other interface inherits it", async () => {
    await world.see(HOME, GUESTS);
    await world.devices.networks.set("eth0.20", {
      ...{ name: "Guests", exit: ["amsterdam", "blocked"], page: false, others: true },
    });
    await world.start(HOME, lan("eth0.21", "192.168.20.0/24"));
    // No tunnel is up.
    expect(world.networks).toEqual(["eth0.20 blocked", "eth0.21 blocked", "lan0 main"]);
    expect(world.parts.at(-1)?.networks).toContainEqual({
      ...{ interface: "eth0.20", exit: { to: "blocked" }, page: false, others: true },
    });
    expect(world.devices.networks.list().networks[0]).toMatchObject({
      ...{ name: "Guests", present: false, exit_order: ["amsterdam", "blocked"], prefixes: [], reaches: [] },
    });
  });

  test("closes one that appears while it is gone, and not one that was there before or appears beside it", async () => {
    await world.see(HOME, GUESTS);
    await world.devices.networks.set("eth0.20", { exit: "blocked", page: false });
    await world.start(HOME, GUESTS, lan("eth1", "192.168.30.0/24"));
    await world.start(HOME, lan("eth1", "192.168.30.0/24"), lan("usb0", "192.168.20.0/24"));
    expect(world.networks).toEqual(["eth0.20 blocked", "eth1 main", "lan0 main", "usb0 blocked"]);
    const pages = world.devices.networks.list().networks.filter(({ page }) => page);
    expect(pages.map((each) => each.interface)).toEqual(["eth1", "lan0"]);
    expect(world.alerts).toHaveLength(1);
    await world.devices.networks.set("usb0", { exit: null, page: true });
    await world.start(HOME, lan("usb0", "192.168.20.0/24"));
    expect(world.networks).toEqual(["eth0.20 blocked", "eth1 main", "lan0 main", "usb0 main"]);
  });

  test("is refused with the field that is wrong, and changes nothing", async () => {
    await world.see(HOME, GUESTS);
    const { networks } = world.devices;
    const given = [
      ["eth9", { name: "Guests" }],
      ["lan0", {}],
      ["lan0", { exit: "direct" }],
      ["lan0", { exit: "berlin" }],
      ["lan0", { exit: ["blocked", "main"] }],
      ["lan0", { name: "a/b" }],
    ] as const;
    const answers = [];
    for (const [link, change] of given)
      answers.push(await refusal(networks.set(link, { ...change } as never)));
    expect(answers.map((text) => text.split(":").slice(0, 2).join(":"))).toEqual([
      "not_found: interface",
      "bad_request: name, exit, page, others, rate or quota is required",
      "bad_request: exit",
      "not_found: exit",
      "bad_request: exit",
      "bad_request: name",
    ]);
    expect(world.kept).toBeNull();
  });

  test("never takes the page from the last network that has it", async () => {
    await world.see(HOME, GUESTS);
    const { networks } = world.devices;
    await networks.set("eth0.20", { page: false });
    expect(await refusal(networks.set("lan0", { page: false }))).toContain("bad_request: page");
    await networks.set("eth0.20", { page: true });
    expect(await refusal(networks.set("lan0", { page: false }))).toBe("done");
  });

  test("is forgotten only if the network is gone; when it comes back it is new", async () => {
    await world.devices.setDefaultExit("amsterdam");
    await world.see(HOME, GUESTS);
    const { networks } = world.devices;
    await networks.set("eth0.20", { exit: "main" });
    expect(await refusal(networks.forget("eth0.20"))).toContain("is there now");
    await world.see(HOME);
    await networks.forget("eth0.20");
    expect(await refusal(networks.forget("eth0.20"))).toContain("not_found");
    await world.see(HOME, GUESTS);
    expect(world.networks).toEqual(["eth0.20 blocked", "lan0 amsterdam"]);
  });

  test("keeps its tunnel from being removed", async () => {
    await world.devices.networks.set("lan0", { name: "Home", exit: "amsterdam" });
    expect(await refusal(world.devices.unlessUsed("amsterdam", async () => {}))).toContain(
      "amsterdam is the default exit of the network Home",
    );
  });

  test("takes effect unsaved if it closes, and not if it opens", async () => {
    await world.see(HOME, GUESTS);
    await world.devices.networks.set("eth0.20", { exit: "amsterdam", others: true });
    world.store.write = () => {
      throw new GatewayError("storage_full", "The disk is full.");
    };
    const { networks } = world.devices;
    expect(await refusal(networks.set("lan0", { others: true }))).toContain("storage_full");
    expect(networks.list().networks.find((each) => each.interface === "lan0")?.others).toBe(false);
    await refusal(networks.set("eth0.20", { exit: "blocked", others: false }));
    expect(world.networks[0]).toBe("eth0.20 blocked");
    expect(networks.list().networks[0]?.others).toBe(false);
  });
});

test("a MAC address on two networks at once is on the one where it was seen last, and the other is told", async () => {
  await world.devices.setDefaultExit("amsterdam");
  await world.see(HOME, GUESTS);
  const mac = "02:00:00:00:00:20" as Mac;
  const heard = (link: string, address: string, heardMsAgo: number) =>
    world.devices.saw({ ...{ interface: link, address: ip(address), mac }, heardMsAgo, isLost: false });
  heard("eth0.20", "192.168.20.7", 0);
  heard("lan0", "192.168.7.7", 5_000);
  const [device] = await world.devices.rowsOf([mac]);
  expect(device).toMatchObject({ interface: "eth0.20", exit: "blocked", assigned: false, also_on: ["lan0"] });
  heard("lan0", "192.168.7.7", 0);
  const [home] = await world.devices.rowsOf([mac]);
  expect(home).toMatchObject({ interface: "lan0", exit: "amsterdam", also_on: ["eth0.20"] });
  const grownOld = { heardMsAgo: 0, isLate: true, isLost: false } as const;
  world.devices.saw({ interface: "eth0.20", address: ip("192.168.20.7"), mac, ...grownOld });
  expect((await world.devices.rowsOf([mac]))[0]).toMatchObject({ interface: "lan0", exit: "amsterdam" });
});

test("a device says that its network's quota is used up, and one of another network does not", async () => {
  await world.see(HOME, GUESTS);
  const heard = (link: string, address: string, mac: string) =>
    world.devices.saw({
      ...{ interface: link, address: ip(address), mac: mac as Mac },
      ...{ heardMsAgo: 0, isLost: false },
    });
  heard("eth0.20", "192.168.20.7", "02:00:00:00:00:20");
  heard("lan0", "192.168.7.7", "02:00:00:00:00:30");
  const isUsedUp = async () =>
    (await world.devices.list()).devices.map(({ id, network_used_up }) => [id.slice(-2), network_used_up]);
  await world.devices.networks.set("eth0.20", { quota: { megabytes: 5, every: "day" } });
  expect(await isUsedUp()).toEqual([
    ["20", undefined],
    ["30", undefined],
  ]);
  world.host.useQuotas(5_000_000);
  await world.devices.check();
  expect(await isUsedUp()).toEqual([
    ["20", true],
    ["30", undefined],
  ]);
});

test("after a restore of a home with other interfaces, the networks that are here are not new", async () => {
  world.store.write(NETWORKS.key, JSON.stringify([{ interface: "eth7", exit: "blocked" }]));
  world.store.write("default_exit", "amsterdam");
  await world.devices.reload();
  expect(world.networks).toEqual(["eth7 blocked", "lan0 amsterdam"]);
});

test("what is kept is read as it was written; an exit that cannot be read is blocked", () => {
  const text = JSON.stringify([
    { interface: "eth0.20", name: "Guests", exit: "amsterdam,blocked", page: false, others: true },
    { interface: "lan0" },
  ]);
  expect(NETWORKS.isValid(text)).toBe(true);
  const [[, odd] = []] = NETWORKS.parse('[{"interface":"a","exit":"direct","page":"yes"}]');
  expect(odd).toMatchObject({ exit: [{ to: "blocked" }], page: false });
  expect(NETWORKS.leftOf('[{"interface":"a b"}]')).toEqual({ text: "[]" });
});

describe("what a network has together", () => {
  const guests = () => world.devices.networks.list().networks.find((each) => each.interface === "eth0.20");
  const exits = () =>
    world.parts
      .at(-1)
      ?.networks?.map((each) => `${each.interface} ${formatOf(each.exit)}`)
      .toSorted();
  const formatOf = (exit: NetworkPart["exit"]) => (exit === null ? "as home" : exit.to);
  const ID = networkIdOf("eth0.20");
  const schedule = (exit?: string) => world.devices.byTime.exit.schedule(ID, exit);

  test("a schedule's exit lies over its own and outlives a restart; the other networks stay as they are", async () => {
    await world.see(HOME, GUESTS);
    await schedule("blocked");
    expect([guests()?.exit, guests()?.assigned, exits()]).toEqual([
      "blocked",
      true,
      ["eth0.20 blocked", "lan0 as home"],
    ]);
    await world.start(HOME, GUESTS);
    expect([world.networks, exits()]).toEqual([
      ["eth0.20 blocked", "lan0 main"],
      ["eth0.20 blocked", "lan0 as home"],
    ]);
    await schedule(undefined);
    expect([guests()?.exit, guests()?.assigned]).toEqual(["main", false]);
    expect(exits()).toEqual(["eth0.20 as home", "lan0 as home"]);
  });

  test("what a person chooses ends the schedule's, and a network that is forgotten keeps nothing", async () => {
    await world.see(HOME, GUESTS);
    await schedule("blocked");
    await world.devices.networks.set("eth0.20", { exit: "amsterdam" });
    expect([guests()?.exit, world.devices.byTime.exit.scheduled]).toEqual(["amsterdam", []]);
    await world.devices.networks.set("eth0.20", {
      rate: { down: 20, up: 5 },
      quota: { megabytes: 50, every: "day" },
    });
    expect([guests()?.rate, guests()?.quota]).toEqual([
      { down: 20, up: 5 },
      { megabytes: 50, every: "day", at_end: "blocked", used_bytes: 0 },
    ]);
    await schedule("blocked");
    await world.see(HOME);
    await world.devices.networks.forget("eth0.20");
    expect([guests(), world.devices.limitFigures, world.devices.byTime.exit.scheduled]).toEqual([
      undefined,
      [],
      [],
    ]);
    expect(await refusal(schedule("blocked"))).toBe(
      "not_found: interface: there is no such network; to list them: portcullis networks",
    );
  });

  test("a network stays known and blocked if the kernel refuses to forget its limit", async () => {
    await world.see(HOME, GUESTS);
    const { networks } = world.devices;
    await networks.set("eth0.20", { exit: "blocked", rate: { down: 20, up: 5 } });
    await world.see(HOME);
    const { host } = world;
    host.fails = () => (host.commands.at(-1) === "nft -f -" ? "before" : null);
    expect(await refusal(networks.forget("eth0.20"))).toContain("kernel_refused");
    host.fails = () => null;
    expect([world.networks, guests()?.rate]).toEqual([["eth0.20 blocked", "lan0 main"], { down: 20, up: 5 }]);
    await world.start(HOME, GUESTS);
    expect(world.networks).toEqual(["eth0.20 blocked", "lan0 main"]);
  });

  test("a limit that a restore gives a network nobody knows does not hold where nobody can end it", async () => {
    const links = ["lan0", ...Array.from({ length: 900 }, (_, at) => `eth9.${at}`)];
    const rate = { down: 1, up: 1 };
    const limits = links.map((link) => ({ id: networkIdOf(link), rate }));
    world.store.write(LIMITS.key, JSON.stringify(limits));
    world.store.write(NETWORKS.key, JSON.stringify([{ interface: "lan0" }]));
    await world.start(HOME);
    expect(world.devices.limitFigures.map(({ id }) => id)).toEqual([networkIdOf("lan0")]);
    expect(world.devices.networks.list().networks.map((each) => each.rate)).toEqual([rate]);
  });

  test("a schedule's exit that leads somewhere opens, and one that blocks or ends at a block does not", async () => {
    await world.see(HOME, GUESTS);
    const loosens = (from?: string, to?: string) => world.devices.byTime.exit.loosens(ID, from, to);
    expect([loosens(undefined, "blocked"), loosens("blocked", undefined)]).toEqual([false, true]);
    await world.devices.networks.set("eth0.20", { exit: "blocked" });
    // As the home: but the network was blocked.
    expect([loosens(undefined, "main"), loosens("main", undefined)]).toEqual([true, false]);
  });

  test("a tunnel that a schedule's exit leads to, or that lies under it, is not removed", async () => {
    await world.see(HOME, GUESTS);
    const removed = () => refusal(world.devices.unlessUsed("amsterdam", async () => {}));
    expect(await removed()).toBe("done");
    await schedule("amsterdam");
    expect(await removed()).toContain("eth0.20");
    await world.devices.networks.set("eth0.20", { exit: "amsterdam" });
    await schedule("blocked");
    expect(await removed()).toContain("eth0.20");
  });
});

test("a network that comes while the kernel is still to refuse what would open new ones is new", async () => {
  await world.start(HOME);
  await world.devices.setDefaultExit("amsterdam");
  const answer = Promise.withResolvers<void>();
  world.held = answer.promise;
  const opened = world.devices.setDefaultExit("main");
  await Bun.sleep(0);
  world.devices.lanIs([HOME, GUESTS], "up0");
  world.held = null;
  answer.reject(new Error("refused"));
  await expect(opened).rejects.toThrow("refused");
  await world.devices.networks.restored();
  expect(world.alerts.filter((each) => each.startsWith("network_new"))).toHaveLength(1);
  expect(world.networks).toEqual(["eth0.20 blocked", "lan0 amsterdam"]);
});
