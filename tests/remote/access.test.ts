import { expect, test } from "bun:test";
import { addressOf, type Prefix } from "../../src/base/address.ts";
import type { Alarm } from "../../src/base/alert.ts";
import { alertText } from "../../src/base/alert-rows.ts";
import type { PolicyPart } from "../../src/killswitch/policy.ts";
import { NO_NETWORK } from "../../src/network/host-network.ts";
import { RemoteAccess } from "../../src/remote/access.ts";
import { RemoteDevices } from "../../src/remote/devices.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";
import { cidr } from "../fake/address.ts";
import { slow } from "../fast.ts";

const LANS = [
  { interface: "lan0", prefixes: [cidr("192.168.1.0/24"), cidr("fd00:1::/64"), cidr("fe80::/64")] },
  { interface: "lan1", prefixes: [cidr("10.1.0.0/16"), cidr("192.168.1.0/24")] },
];
const CHOICE = { port: null, endpoint: "home.example.org", through: null };

/** Remote access with a disk that can be full, and what the kill switch was told last. */
function world() {
  const texts = new Map<string, string>();
  const names = new Map<string, string>();
  const state = {
    isFull: false,
    isRefused: false,
    part: null as PolicyPart | null,
    decided: new Set<string>(),
    told: [] as string[],
    scrubs: 0,
  };
  const write = (key: string, text: string) => {
    if (state.isFull) throw new Error("the disk is full");
    texts.set(key, text);
  };
  const forget = (key: string) => void texts.delete(key);
  const scrub = () => void state.scrubs++;
  const store = { read: (key: string) => texts.get(key) ?? null, write, forget, scrub };
  const savedNames = new Map<string, string>();
  const whole = {
    ...store,
    atomically: (work: () => void) => work(),
    devices: () => [...savedNames].map(([id, name]) => ({ id, name, exit: null })),
  };
  const killSwitch = {
    update: async (_: string, part: PolicyPart | null) => {
      state.part = part;
    },
    restoreRoutes: async () => {},
    wayTo: () => ({ interfaces: [], overlap: null }),
    ...{ network: NO_NETWORK, remote: null, isWanted: true, lans: LANS },
  };
  const remote = new RemoteDevices({
    store: whole,
    killSwitch,
    link: "wgr",
    events: { published: async () => {} },
  });
  const devices = {
    assign: async (id: string, { name = "" }) => {
      for (const all of [names, savedNames]) all.set(id, name);
    },
    forget: async (id: string) => {
      for (const all of state.isFull ? [names] : [names, savedNames]) all.delete(id);
    },
    nameOf: (id: string) => names.get(id) ?? null,
    ...{
      exitOf: () => "main",
      roster: { isOnline: () => false, hasPrefixIn: () => false },
      remoteChanged: () => {},
      ...{ keep: () => {}, onChange: () => {} },
    },
  };
  const ran: string[] = [];
  const run = async (argv: readonly string[]) => {
    ran.push(argv.join(" "));
    if (state.isRefused && argv[0] !== "wg") throw new Error("refused");
    if (argv[0] === "wg" && argv[1] === "show") throw new Error("no such interface");
    return "";
  };
  const sleep = async () => {};
  const host = {
    run,
    exchange: async () => null,
    read: async () => null,
    now: () => 0,
    monotonic: () => 0,
    sleep,
  };
  const quiet = {
    alarm: ((code, args) => void state.told.push(alertText(code, args))) as Alarm,
    events: { publish: () => {}, subscribe: () => {} },
    reserved: { set: () => {} },
    log: { warn: () => {} },
  };
  const deps = {
    host,
    store: whole,
    killSwitch,
    devices,
    remote,
    tunnels: { all: () => [], onTunnel: () => {}, onRemoved: () => {} },
    bounds: { limitRemote: async () => {} },
    catalogue: { server: () => null },
    decided: () => state.decided,
  };
  const access = new RemoteAccess({ ...deps, ...quiet, userspace: "wireguard-go", ula: null } as never);
  const add = (name: string, lan?: boolean) =>
    access.add({ name, public_key: generateKeyPair().publicKey, ...(lan !== undefined && { lan }) });
  return { access, state, remote, texts, add, names, ran, host, load: () => access.reload() };
}

test("what opens does not take effect if it cannot be saved", async () => {
  const { access, state, add, names } = world();
  state.isFull = true;
  await expect(access.turnOn(CHOICE)).rejects.toThrow("the disk is full");
  expect(state.part).toBeNull();
  state.isFull = false;
  await access.turnOn(CHOICE);
  state.isFull = true;
  await expect(add("phone")).rejects.toThrow("the disk is full");
  expect([state.part?.remote?.devices, names.size]).toEqual([[], 0]);
});

test("what only closes takes effect even if it cannot be saved", async () => {
  const { access, state, add } = world();
  await access.turnOn(CHOICE);
  for (const name of ["phone", "laptop"]) await add(name);
  state.isFull = true;
  await expect(access.update("laptop", { lan: false })).rejects.toThrow("The change is in force");
  expect(state.part?.remote?.devices.map(({ lan }) => lan)).toEqual([true, false]);
  await expect(access.remove("phone")).rejects.toThrow("The change is in force");
  expect(state.part?.remote?.devices.length).toBe(1);
  await expect(access.turnOff()).rejects.toThrow("The change is in force");
  expect(state.part).toBeNull();
});

test("it is off at once, even if the home router does not answer what it was asked when it was turned on", async () => {
  const { access, state } = world();
  const answer = Promise.withResolvers<void>();
  access["uplink"].answered = () => answer.promise;
  const turnedOn = access.turnOn({ ...CHOICE, endpoint: null });
  expect([(await access.turnOff()).on, state.part]).toEqual([false, null]);
  answer.resolve();
  expect((await turnedOn).on).toBe(false);
});

test("a removal that could not be saved may be repeated by name, and leaves no key once it is saved", async () => {
  const { access, state, add, texts } = world();
  await access.turnOn(CHOICE);
  await add("phone");
  state.isFull = true;
  for (let times = 0; times < 2; times++)
    await expect(access.remove("phone")).rejects.toThrow("The change is in force");
  expect([state.scrubs, JSON.parse(texts.get("remote_devices") ?? "")]).toMatchObject([0, [{}]]);
  state.isFull = false;
  await access.remove("phone");
  expect([state.scrubs, texts.get("remote_devices")]).toEqual([1, "[]"]);
  await expect(access.remove("phone")).rejects.toThrow("no device away from home has this name");
  expect(state.told.filter((text) => text.includes("no longer"))).toHaveLength(1);
});

slow.test(
  "a name, a key and the limit are each refused by the field that is wrong",
  async () => {
    const { access, add } = world();
    await expect(add("phone")).rejects.toThrow("remote access is off");
    await access.turnOn(CHOICE);
    await add("phone");
    await expect(add("PHONE")).rejects.toThrow("name: another device away from home has this name");
    await expect(access.add({ name: "x", public_key: "x" })).rejects.toThrow("public_key: must be");
    const { public_key } = await access.status();
    await expect(access.add({ name: "x", public_key: `${public_key}` })).rejects.toThrow(
      "public_key: is in use",
    );
    for (let count = 1; count < 64; count += 1) await add(`phone ${count}`);
    await expect(add("one more")).rejects.toThrow("name: there are 64 devices away from home, the maximum");
    await expect(access.remove("nobody")).rejects.toThrow("name: no device away from home has this name");
  },
  180_000,
);

test("a first remote on that fails is not on after the next start", async () => {
  const { access, state, load } = world();
  state.isRefused = true;
  await expect(access.turnOn(CHOICE)).rejects.toThrow("refused");
  expect(state.part).toBeNull();
  state.isRefused = false;
  await load();
  expect(state.part).toBeNull();
});

test("what closed without being saved is saved by doing it again", async () => {
  const { access, state, add, load } = world();
  await access.turnOn(CHOICE);
  await add("phone");
  state.isFull = true;
  await expect(access.update("phone", { lan: false })).rejects.toThrow("The change is in force");
  await expect(access.update("phone", { lan: false })).rejects.toThrow("The change is in force");
  state.isFull = false;
  await access.update("phone", { lan: false });
  await load();
  expect(state.part?.remote?.devices.map(({ lan }) => lan)).toEqual([false]);
  state.isFull = true;
  await expect(access.turnOff()).rejects.toThrow("The change is in force");
  await expect(access.turnOff()).rejects.toThrow("The change is in force");
  state.isFull = false;
  await access.turnOff();
  await load();
  expect(state.part).toBeNull();
});

test("what closes is saved even if the interface cannot be told", async () => {
  const { access, state, add, load } = world();
  await access.turnOn(CHOICE);
  await add("phone");
  state.isRefused = true;
  await expect(access.remove("phone")).rejects.toThrow("refused");
  expect(state.part?.remote?.devices).toEqual([]);
  state.isRefused = false;
  await load();
  expect(state.part?.remote?.devices).toEqual([]);
});

test("what closed without being saved is told, and saved once there is room", async () => {
  const { access, state, add, host, names, load } = world();
  await access.turnOn(CHOICE);
  for (const name of ["phone", "laptop"]) await add(name);
  state.told = [];
  state.isFull = true;
  await expect(access.remove("phone")).rejects.toThrow("The change is in force");
  state.isRefused = true;
  await expect(access.remove("laptop")).rejects.toThrow("The change is in force");
  state.isRefused = false;
  expect(names.size).toBe(0);
  for (const _ of ["first", "again"])
    await expect(access.turnOff()).rejects.toThrow("The change is in force");
  expect(state.told).toEqual([
    "phone may no longer connect from outside.",
    "laptop may no longer connect from outside.",
    "Remote access is off: no device away from home can connect.",
  ]);
  state.isFull = false;
  const end = new AbortController();
  host.sleep = async () => end.abort();
  await access.watch(end.signal);
  await load();
  expect(state.part).toBeNull();
  await access.turnOn(CHOICE);
  expect(state.part?.remote?.devices).toEqual([]);
});

test("a device that may reach the LAN is told its prefixes, each once and none of a link", async () => {
  const { access, add } = world();
  await access.turnOn(CHOICE);
  expect((await add("phone")).home_ips).toEqual(["192.168.1.0/24", "fd00:1::/64", "10.1.0.0/16"]);
  expect((await add("guest", false)).home_ips).toEqual([]);
});

test("a new device has no id for which there is a schedule, a rule or a list of a former one", async () => {
  const { access, state, add } = world();
  await access.turnOn(CHOICE);
  const { id } = await add("phone");
  await access.remove("phone");
  state.decided.add(id);
  expect((await add("other")).id).not.toBe(id);
  await access.remove("other");
  const network = id.replace(/\d+\/32$/, "");
  for (let number = 2; number < 255; number += 1) state.decided.add(`${network}${number}/32`);
  await expect(add("another")).rejects.toThrow("name: schedules, rules or lists of names still name");
});

test("while remote access is off, no program runs to look at its interface again", async () => {
  const { access, ran, host } = world();
  const looks = async (number: number) => {
    const end = new AbortController();
    let left = number;
    host.sleep = async () => {
      left -= 1;
      if (left === 0) end.abort();
    };
    await access.watch(end.signal);
  };
  await looks(1);
  expect(ran.length).toBeGreaterThan(0);
  ran.splice(0);
  await looks(3);
  expect(ran).toEqual([]);
  await access.turnOn(CHOICE);
  ran.splice(0);
  await looks(1);
  expect(ran).toContain("wg show wgr dump");
  await access.turnOff();
  ran.splice(0);
  await looks(3);
  expect(ran).toEqual([]);
});

test("after a restore of another network, no home leaves by an address that another device has now", async () => {
  const { access, texts, load, state } = world();
  const { ipv4 } = await access.turnOn(CHOICE).then(() => JSON.parse(texts.get("remote") ?? ""));
  const exit = (id: string) => ({ id, public_key: generateKeyPair().publicKey });
  const home = (name: string, id: string, given: object) => ({
    ...{ name, id, offered: true, public_key: generateKeyPair().publicKey, endpoint: null, prefixes: [] },
    ...{ exit: given, devices: [] },
  });
  const ours = ipv4.replace(".0/24", ".9/32");
  const homes = [
    home("kids", "0123456789abcdef", exit(ours)),
    home("cabin", "fedcba9876543210", exit("10.255.255.9/32")),
  ];
  texts.set("homes", JSON.stringify(homes));
  await load();
  await expect(access.changeLink("cabin", { exit: true })).rejects.toThrow("link the two again");
  expect(state.part?.remote?.devices).toEqual([]);
  await access.changeLink("kids", { exit: true });
  expect(state.part?.remote?.devices.map(({ id }) => String(id))).toEqual([ours]);
});

test("after a restore, a home whose address is a device's here, or another home's, does not leave as that", async () => {
  const { access, state, texts, add, load } = world();
  await access.turnOn(CHOICE);
  const phone = await add("phone");
  const free = phone.id.replace(/\d+\/32$/, "99/32");
  const home = (name: string, id: string, address: string) => ({
    ...{ name, id, offered: true, public_key: generateKeyPair().publicKey, endpoint: null, prefixes: [] },
    ...{ exit: { id: address, public_key: generateKeyPair().publicKey }, devices: [] },
  });
  const homes = [
    home("kids", "0123456789abcdef", phone.id),
    home("cabin", "fedcba9876543210", free),
    home("shed", "aaaaaaaaaaaaaaaa", free),
  ];
  texts.set("homes", JSON.stringify(homes));
  await load();
  const exits = async () => (await access.links()).links.map(({ exit }) => exit);
  expect(await exits()).toEqual([null, false, null]);
  await access.changeLink("cabin", { exit: true });
  expect(await exits()).toEqual([null, true, null]);
  await access.removeLink("kids");
  await access.removeLink("shed");
  expect(state.part?.remote?.devices.map(({ id }) => String(id))).toEqual([phone.id, free]);
});

test("an address is a device's while that may come in, and no longer", async () => {
  const { access, remote, add } = world();
  await access.turnOn(CHOICE);
  const [phone, laptop] = [await add("phone"), await add("laptop")];
  const owners = () =>
    [phone, laptop].map(({ addresses }) => addresses.map((each) => remote.of(addressOf(each as Prefix))));
  const both = (id: string) => [id, id] as Prefix[];
  expect(owners()).toEqual([both(phone.id), both(laptop.id)]);
  await access.remove("phone");
  expect(owners()).toEqual([[null, null], both(laptop.id)]);
  await access.turnOff();
  expect(owners().flat()).toEqual([null, null, null, null]);
});
