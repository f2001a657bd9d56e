import { expect, test } from "bun:test";
import { settingsFrom } from "../../src/base/settings.ts";
import { networkFinder } from "../../src/network/finder.ts";
import { type HostNetwork, readNetwork } from "../../src/network/host-network.ts";
import { NO_ROLES, ROLES } from "../../src/network/lan.ts";
import { FakeHost } from "../fake/host.ts";

/** Two interfaces, of which the LAN's may lose its addresses, and a saved state that may fail. */
function machine(lan = "") {
  const host = new FakeHost();
  const addressesOf = (name: string) => host.links.get(name)?.addresses ?? [];
  addressesOf("up0").push("192.168.1.5/24");
  addressesOf("lan0").push("192.168.7.1/24");
  const said: string[] = [];
  const texts = new Map<string, string>();
  const savedState = {
    isFull: false,
    texts,
    read: (key: string) => texts.get(key) ?? null,
    write: (key: string, text: string) => {
      if (savedState.isFull) throw new Error("the disk is full");
      texts.set(key, text);
    },
  };
  const settings = settingsFrom({ interface: "wg", lan });
  const start = () => networkFinder(host, settings, savedState, { warn: (line) => void said.push(line) });
  return { host, addressesOf, said, savedState, start };
}

const MISSING =
  "no LAN: lan0 was the LAN and has no private address now, and the uplink does not take its place; if the LAN is on another interface now, name it: --lan (PORTCULLIS_LAN)";

test("the LAN is remembered while the service runs and after its restart, and a remark is logged once", async () => {
  const { addressesOf, said, savedState, start } = machine();
  const find = start();
  expect((await find()).lans.map((lan) => lan.interface)).toEqual(["lan0"]);
  expect(ROLES.read(savedState)).toEqual({ lan: ["lan0"], outside: ["up0"] });
  addressesOf("lan0").length = 0;
  for (let looks = 0; looks < 3; looks++) expect((await find()).lans).toEqual([]);
  expect(said).toEqual([MISSING]);
  expect((await start()()).lans).toEqual([]);
  expect(said).toEqual([MISSING, MISSING]);
});

test("what has a route through a router to the internet is the uplink and not LAN, if nothing else says so", async () => {
  const { host, start } = machine();
  host.setDefaultRoute(null);
  const reading = await readNetwork(host);
  const lansIn = ({ lans }: HostNetwork) => lans.map((lan) => lan.interface);
  // Positive control: nothing tells the two interfaces apart.
  expect(lansIn(await start()(reading))).toEqual(["lan0", "up0"]);
  const routes = [{ dst: "203.0.113.11", gateway: "192.168.1.1", dev: "up0" }];
  const network = await start()({ ...reading, routes });
  expect([network.uplink, network.online]).toEqual(["up0", true]);
  expect(lansIn(network)).toEqual(["lan0"]);
});

test("a full disk does not make the service forget the LAN, and is logged", async () => {
  const { addressesOf, said, savedState, start } = machine();
  savedState.isFull = true;
  const find = start();
  await find();
  addressesOf("lan0").length = 0;
  expect((await find()).lans).toEqual([]);
  expect(said).toEqual([
    "the roles of the interfaces could not be saved and may be unknown after a restart: the disk is full",
    MISSING,
  ]);
});

test("the uplink is remembered over a restart without its default route, for the kernel takes that back only by its rules", async () => {
  const { host, savedState, start } = machine();
  const find = start();
  const uplink = async (look = find) => (await look()).uplink;
  expect(await uplink()).toBe("up0");
  host.defaultRoute = null;
  expect(await uplink()).toBe("up0");
  expect(await uplink(start())).toBe("up0");
  // A route by the LAN's own cable makes that no uplink for ever.
  host.defaultRoute = "lan0";
  expect(await uplink()).toBe("lan0");
  host.defaultRoute = null;
  expect(await uplink(start())).toBe("up0");
  expect(savedState.read("uplink")).toBe("up0");
  host.defaultRoute = null;
  savedState.texts.delete("uplink");
  expect(await uplink(start())).toBeNull();
});

test("a LAN that the operator has named is not remembered", async () => {
  const { savedState, start } = machine("lan0");
  await start()();
  expect(ROLES.read(savedState)).toEqual(NO_ROLES);
});

test("a netmask that is too wide is logged when it appears, and again when it reappears", async () => {
  const { addressesOf, said, start } = machine();
  const find = start();
  const looks = async (address: string) => {
    addressesOf("lan0").splice(0, 1, address);
    await find();
    await find();
  };
  for (const address of ["192.168.7.1/8", "192.168.7.1/24", "192.168.7.1/8"]) await looks(address);
  expect(said).toHaveLength(2);
  expect(said[0]).toContain("only 192.168.0.0/16 of it counts as LAN");
});

test("what was read before is not read again, and the roles are remembered", async () => {
  const { host, savedState, start } = machine();
  const reading = await readNetwork(host);
  const commands = host.commands.length;
  expect((await start()(reading)).lans.map((lan) => lan.interface)).toEqual(["lan0"]);
  expect(ROLES.read(savedState)).toEqual({ lan: ["lan0"], outside: ["up0"] });
  expect(host.commands.slice(commands)).toEqual([]);
});
