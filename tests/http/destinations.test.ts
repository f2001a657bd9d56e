import { afterEach, beforeEach, expect } from "bun:test";
import type { HostName } from "../../src/base/address.ts";
import type { Mac } from "../../src/base/mac.ts";
import { DESTINATIONS } from "../../src/destinations/saved.ts";
import { withdrawDirect } from "../../src/destinations/withdraw-direct.ts";
import { ip, ips } from "../fake/address.ts";
import { CHANGE_ELEMENTS } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

const TV = "02:00:00:00:00:20";
const PHONE = "02:00:00:00:00:21";

let home: Home;
beforeEach(async () => {
  home = await Home.start();
});
afterEach(() => home.stop());

const add = (body: object) => home.ask("POST", "/api/destinations", body);
const list = async () => (await home.ask("GET", "/api/destinations")).destinations;
const why = (name: string, device = TV) =>
  home.ask("GET", `/api/destinations/explain?device=${device}&name=${name}`);
const table = () => home.host.table ?? "";
/** What the kernel was given for destinations. */
const loaded = () =>
  [...table().matchAll(/^ {4}.*daddr .*goto \S+ comment "a destination.*$/gm)].map(([line]) =>
    line.trim().replace(/ comment .*/, ""),
  );

test("a rule leads its destinations to its exit until it is changed or removed", async () => {
  await home.connect();
  const { status, id, ...row } = await add({ prefixes: ["203.0.113.0/24", "192.0.2.7"], exit: "main" });
  expect(status).toBe(200);
  expect(row).toEqual({
    ...{ names: [], prefixes: ["203.0.113.0/24", "192.0.2.7/32"], devices: [], exit: "main" },
    ...{ note: "", open: true, addresses: 0, warning: null },
  });
  expect(loaded()).toEqual([
    "ip daddr 192.0.2.7 goto unblocked_by_main",
    "ip daddr 203.0.113.0/24 goto unblocked_by_main",
  ]);
  expect(await home.ask("PATCH", `/api/destinations/${id}`, { exit: "blocked", note: "ads" })).toMatchObject({
    ...{ status: 200, id, exit: "blocked", note: "ads", open: false },
    prefixes: row.prefixes,
  });
  expect(loaded()).toEqual([
    "ip daddr 192.0.2.7 goto exit_blocked",
    "ip daddr 203.0.113.0/24 goto exit_blocked",
  ]);
  expect(await home.ask("DELETE", `/api/destinations/${id}`)).toEqual({ status: 200, success: true });
  expect(await list()).toEqual([]);
  expect(loaded()).toEqual([]);
});

test.each<[object, number, string]>([
  [{ exit: "main" }, 400, "names: there are none, and no prefixes either"],
  [{ names: ["a b"], exit: "main" }, 400, 'names: "a b" is not a name, such as example.com'],
  [{ names: ["192.0.2.7"], exit: "main" }, 400, 'names: "192.0.2.7" is not a name'],
  [{ prefixes: ["example.com"], exit: "main" }, 400, 'prefixes: "example.com" is not an address'],
  [{ names: ["nas.home.arpa"], exit: "main" }, 400, "names: nas.home.arpa is a name of the home"],
  [{ prefixes: ["203.0.113.1/24"], exit: "main" }, 400, "has host bits; the network is 203.0.113.0/24"],
  [{ prefixes: ["192.168.7.64/26"], exit: "main" }, 400, "addresses of the LAN's own 192.168.7.0/24 on lan0"],
  [{ prefixes: ["192.168.0.0/16"], exit: "main" }, 400, "addresses of the LAN's own 192.168.7.0/24 on lan0"],
  [{ prefixes: ["0.0.0.0/0"], exit: "main" }, 400, "addresses that never leave the LAN"],
  [{ prefixes: ["224.0.0.0/4"], exit: "main" }, 400, "addresses that never leave the LAN"],
  [{ prefixes: ["fe80::/10"], exit: "main" }, 400, "addresses that never leave the LAN"],
  [{ prefixes: ["203.0.113.0/24"], exit: "tv" }, 404, "exit: there is no such tunnel"],
  [{ prefixes: ["203.0.113.0/24"], exit: "direct" }, 403, "sudo portcullis direct on"],
  [{ prefixes: ["203.0.113.0/24"], exit: "main", devices: ["tv"] }, 400, "devices: must be a MAC address"],
  [{ prefixes: ["203.0.113.0/24"], exit: "main", hosts: ["a.example"] }, 400, "unknown field hosts"],
  [{ prefixes: ["203.0.113.0/24"], exit: "main", note: "a\nb" }, 400, "note: contains a control character"],
])("POST %j is refused with %i, and nothing changes", async (body, status, error) => {
  const before = table();
  const answer = await add(body);
  expect([answer.status, answer.success]).toEqual([status, false]);
  expect(answer.error).toContain(error);
  expect(await list()).toEqual([]);
  expect(table()).toBe(before);
});

test("a rule that contradicts another is refused, and both are named", async () => {
  const { id } = await add({ prefixes: ["203.0.113.0/24", "192.0.2.0/24"], exit: "main", devices: [TV] });
  const { status, error } = await add({ prefixes: ["192.0.2.0/24"], exit: "blocked", devices: [PHONE, TV] });
  expect([status, error]).toEqual([
    400,
    `prefixes: 192.0.2.0/24 would be in two rules for the same devices: in this one, to blocked, and in ${id} (203.0.113.0/24 and 1 more for ${TV}, to main); change or remove that one`,
  ]);
  expect((await add({ prefixes: ["192.0.2.0/24"], exit: "blocked", devices: [PHONE] })).status).toBe(200);
  expect((await add({ prefixes: ["192.0.2.0/25"], exit: "blocked" })).status).toBe(200);
});

test("a rule whose tunnel is down refuses, and says so", async () => {
  const row = await add({ prefixes: ["203.0.113.0/24"], exit: "main" });
  expect(row).toMatchObject({ status: 200, open: false });
  expect(row.warning).toContain("not connected");
  await home.connect();
  expect(await list()).toMatchObject([{ open: true, warning: null }]);
});

test("direct needs the operator's permission, is told, and ends with it", async () => {
  await home.parts.devices.setDirect(true);
  const row = await add({ prefixes: ["203.0.113.0/24"], exit: "direct" });
  expect(row).toMatchObject({ status: 200, exit: "direct", open: true });
  expect(await home.ask("GET", "/api/status")).toMatchObject({ direct_devices: 0, direct_destinations: 1 });
  expect(row.warning).toContain("outside the tunnel");
  expect(loaded()).toEqual(["ip daddr 203.0.113.0/24 goto unblocked_by_direct"]);
  const { events } = (await home.send("GET", "/api/events")).json;
  expect(JSON.stringify(events)).toContain("Now direct, outside the tunnel: traffic to 203.0.113.0/24.");
  const inspection = await home.parts.tunnels.protection.inspection();
  expect(inspection).toMatchObject({ stands: true, direct: 0, destinations: true });
  expect(inspection.parts.map(({ found }) => found)).toContain(
    "traffic to some destinations leaves outside the tunnel, as allowed on the gateway",
  );
  await withdrawDirect(home.parts);
  expect(await list()).toMatchObject([{ exit: "blocked", open: false }]);
  expect(loaded()).toEqual(["ip daddr 203.0.113.0/24 goto exit_blocked"]);
  // What is allowed later does not open it again.
  await home.parts.devices.setDirect(true);
  await home.parts.destinations.reload();
  expect(await list()).toMatchObject([{ exit: "blocked" }]);
});

test("a tunnel that rules lead to is not removed", async () => {
  await home.ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "se-1" });
  const { status, id } = await add({ prefixes: ["203.0.113.0/24"], exit: "amsterdam" });
  expect(status).toBe(200);
  expect(await home.ask("DELETE", "/api/tunnels/amsterdam")).toMatchObject({
    status: 400,
    error: `name: the rule ${id} leads 203.0.113.0/24 to amsterdam; change or remove it first`,
  });
  await home.ask("DELETE", `/api/destinations/${id}`);
  expect((await home.ask("DELETE", "/api/tunnels/amsterdam")).status).toBe(200);
});

test("why says which rule holds, and what to do", async () => {
  await home.connect();
  expect(await why("203.0.113.7")).toMatchObject({
    ...{ rule: null, by: null, exit: "main", open: true, in_kernel: true, advice: null },
    why: `No rule is for this address, so it takes the exit of ${TV}: main.`,
  });
  const all = await add({ prefixes: ["203.0.113.0/24"], exit: "blocked" });
  const own = await add({ prefixes: ["203.0.0.0/16"], exit: "main", devices: [TV] });
  expect(await why("203.0.113.7")).toMatchObject({ rule: { id: own.id }, by: "203.0.0.0/16", exit: "main" });
  expect(await why("203.0.113.7", PHONE)).toMatchObject({
    ...{ rule: { id: all.id }, by: "203.0.113.0/24", exit: "blocked", open: false },
    advice: `It is refused, as the rule says; to remove that: portcullis destination remove ${all.id}`,
  });
  expect((await why("192.168.7.9")).why).toBe(
    "It is in the LAN's own 192.168.7.0/24 on lan0, which no exit leads to.",
  );
  expect(await why("example.com:443")).toMatchObject({
    status: 400,
    error: expect.stringContaining("name: must be"),
  });
});

test("a blocked device reaches only what rules of its own permit", async () => {
  await home.connect();
  await home.ask("PUT", `/api/devices/${TV}`, { exit: "blocked" });
  await add({ prefixes: ["203.0.113.0/24"], exit: "main" });
  expect(await why("203.0.113.7")).toMatchObject({ rule: null, exit: "blocked", open: false });
  expect((await why("203.0.113.7")).why).toContain(
    "is blocked, and reaches only what rules of its own permit",
  );
  expect(table()).toContain(`elements = { 00:00:00:00:00:00, ${TV} }`);
  await add({ prefixes: ["192.0.2.0/24"], exit: "main", devices: [TV] });
  expect(await why("192.0.2.7")).toMatchObject({ exit: "main", open: true });
});

/** As the resolver does with an answer. */
const answered = async (name: string, addresses: string[], device = TV) => {
  const { matching, names } = home.parts.destinations;
  const match = matching.forName(name as HostName, device as Mac);
  if (match === null) throw new Error(`no rule is for ${name}`);
  names.note(match, device as Mac);
  return names.permit({ match, device: device as Mac, addresses: ips(...addresses), ttlMs: 1_000 });
};
/** The elements of the sets of an exit's names for all devices; undefined if there are none. */
const led = (exit: string) => {
  const sets = new RegExp(`set named_all_${exit}_\\d+_ipv4 \\{\n.*\n {4}elements = \\{ (.*) \\}`, "g");
  const elements = [...table().matchAll(sets)].map(([, some = ""]) => some.split(", "));
  return elements.length === 0 ? undefined : elements.flat().filter((element) => element !== "0.0.0.0");
};
/** Loads of a whole table. */
const loads = () => home.host.commands.filter((command) => command.startsWith("nft -e")).length;

test("the addresses that names have are led by the rule's exit; only elements change", async () => {
  await home.connect();
  expect(await add({ names: ["*.Example.com."], exit: "main" })).toMatchObject({
    ...{ status: 200, names: ["example.com"], prefixes: [], addresses: 0 },
  });
  expect(led("main")).toEqual([]);
  expect(loaded().slice(0, 1)).toEqual(["ip daddr @named_all_main_2_ipv4 goto unblocked_by_main"]);
  const before = loads();
  expect(await answered("www.example.com", ["192.0.2.7", "2001:db8::7"])).toBe(true);
  expect(led("main")).toEqual(["192.0.2.7"]);
  expect(table()).toContain("elements = { ::, 2001:db8::7 }");
  const { length } = home.host.commands;
  // An address that is there costs nothing.
  expect(await answered("example.com", ["192.0.2.7"])).toBe(true);
  expect(home.host.commands.length).toBe(length);
  // Answers that come at the same time share one change, and no program is started for it.
  await Promise.all([answered("a.example.com", ["192.0.2.8"]), answered("b.example.com", ["192.0.2.9"])]);
  expect(home.host.commands.slice(length)).toEqual([CHANGE_ELEMENTS]);
  expect(led("main")).toEqual(["192.0.2.7", "192.0.2.8", "192.0.2.9"]);
  expect(loads()).toBe(before);
  expect(await list()).toMatchObject([{ addresses: 4 }]);
});

test("a name with many addresses of both families is one change", async () => {
  await home.connect();
  await add({ names: ["example.com"], exit: "main" });
  const { length } = home.host.commands;
  const many = Array.from({ length: 64 }, (_, number) => [
    `192.0.2.${number + 1}`,
    `2001:db8::${number + 1}`,
  ]);
  expect(await answered("www.example.com", many.flat())).toBe(true);
  expect(home.host.commands.slice(length)).toEqual([CHANGE_ELEMENTS]);
  expect(led("main")?.toSorted()).toEqual(many.map(([four = ""]) => four).toSorted());
  expect(await list()).toMatchObject([{ addresses: 128 }]);
});

test("nobody is told of an address before the kernel has it", async () => {
  await home.connect();
  await add({ names: ["example.com"], exit: "main" });
  const held = Promise.withResolvers<void>();
  home.host.holds = (command) => (command === CHANGE_ELEMENTS ? held.promise : null);
  let isTold = false;
  const answer = answered("example.com", ["192.0.2.7"]).then((isPermitted) => {
    isTold = isPermitted;
  });
  await Bun.sleep(20);
  expect([isTold, led("main")]).toEqual([false, []]);
  held.resolve();
  await answer;
  expect([isTold, led("main")]).toEqual([true, ["192.0.2.7"]]);
});

test.each(["before", "after", "late"] as const)(
  "if the kernel's change of elements fails (%s its effect), the whole table is loaded before anybody is told",
  async (when) => {
    await home.connect();
    await add({ names: ["example.com"], exit: "main" });
    const { host } = home;
    const before = loads();
    host.fails = (count) => (host.commands[count - 1] === CHANGE_ELEMENTS ? when : null);
    expect(await answered("example.com", ["192.0.2.7"])).toBe(true);
    expect([led("main"), loads()]).toEqual([["192.0.2.7"], before + 1]);
    host.fails = () => null;
    expect(await answered("example.com", ["192.0.2.8"])).toBe(true);
    expect([led("main"), loads()]).toEqual([["192.0.2.7", "192.0.2.8"], before + 1]);
  },
);

test("the resolver is on while a rule has names, and questions wait for no other", async () => {
  expect((await home.ask("GET", "/api/dns")).state).toBe("off");
  const { id } = await add({ names: ["example.com"], exit: "main" });
  expect(table()).toContain("redirected to the gateway's own resolver");
  await home.ask("PATCH", `/api/destinations/${id}`, { names: [], prefixes: ["203.0.113.0/24"] });
  expect(table()).not.toContain("redirected to the gateway's own resolver");
});

test("a restore of rules with names turns the resolver on, and their addresses are those of before", async () => {
  await home.connect();
  const rule = { id: "3f9a1c", names: ["example.com"], prefixes: [], devices: [], exit: "main", note: "" };
  home.parts.store.write("destinations", JSON.stringify([rule]));
  await home.parts.destinations.reload();
  expect(table()).toContain("redirected to the gateway's own resolver");
  await answered("example.com", ["192.0.2.7"]);
  await home.parts.destinations.reload();
  expect(led("main")).toEqual(["192.0.2.7"]);
});

test("an address that two names share takes the exit of the longer one, and direct comes last", async () => {
  await home.parts.devices.setDirect(true);
  await home.ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "se-1" });
  const { destinations } = home.parts;
  await destinations.add({ names: ["example.com"], exit: "amsterdam" });
  await destinations.add({ names: ["video.example.com"], exit: "main" });
  const { warning } = await destinations.add({ names: ["a.very.long.bank.example"], exit: "direct" });
  expect(warning).toContain("Other names on the same addresses leave outside the tunnel as well");
  await answered("example.com", ["192.0.2.7", "192.0.2.8"]);
  expect(led("amsterdam")).toEqual(["192.0.2.7", "192.0.2.8"]);
  await answered("video.example.com", ["192.0.2.7"]);
  await answered("a.very.long.bank.example", ["192.0.2.7", "192.0.2.9"]);
  expect([led("amsterdam"), led("main"), led("direct")]).toEqual([
    ["192.0.2.7", "192.0.2.8"],
    ["192.0.2.7"],
    ["192.0.2.7", "192.0.2.9"],
  ]);
  // The first one that has it counts.
  const looked = loaded().flatMap((line) => /^ip daddr @named_all_(\S+)_ipv4/.exec(line)?.[1] ?? []);
  expect(looked).toEqual(["main_3", "amsterdam_2", "direct_5"]);
  const exits = ["7", "8", "9"].map(async (host) => (await why(`192.0.2.${host}`)).exit);
  expect(await Promise.all(exits)).toEqual(["main", "amsterdam", "direct"]);
  expect(await why("example.com")).toMatchObject({ exit: "amsterdam", addresses: ["192.0.2.8"] });
});

test("a rule that is direct by name counts the other names that devices have asked for on its addresses", async () => {
  await home.parts.devices.setDirect(true);
  const { id } = await add({ names: ["bank.example"], devices: [TV], exit: "direct" });
  await answered("bank.example", ["192.0.2.7"]);
  const { names } = home.parts.destinations;
  const other = (name: string, address: string, device = TV) =>
    names.noteOther(name as HostName, device as Mac, ips(address));
  expect((await list())[0].warning).toContain("Devices have asked for none so far.");
  other("shop.example", "192.0.2.7");
  other("shop.example", "192.0.2.7");
  other("news.example", "192.0.2.7");
  other("else.example", "192.0.2.8");
  other("phone.example", "192.0.2.7", PHONE);
  expect((await list())[0].warning).toContain("Devices have asked for 2 so far.");
  await home.ask("DELETE", `/api/destinations/${id}`);
  expect(await list()).toEqual([]);
});

test("a rule that changes keeps the addresses of its names, and a removed one has none", async () => {
  await home.connect();
  const { id } = await add({ names: ["example.com", "example.net"], exit: "main" });
  await answered("example.com", ["192.0.2.7"]);
  await answered("example.net", ["192.0.2.8"]);
  await home.ask("PATCH", `/api/destinations/${id}`, { exit: "blocked", names: ["example.net"] });
  expect([led("main"), led("blocked")]).toEqual([undefined, ["192.0.2.8"]]);
  await home.ask("DELETE", `/api/destinations/${id}`);
  expect(table()).not.toContain("named_");
  const { matching } = home.parts.destinations;
  expect(matching.hasNames).toBe(false);
});

test("a name that stays keeps the address that it shares with one that goes", async () => {
  await home.connect();
  const { id } = await add({ names: ["example.com", "example.net"], exit: "main" });
  await answered("example.com", ["192.0.2.7", "192.0.2.8"]);
  await answered("example.net", ["192.0.2.7"]);
  await home.ask("PATCH", `/api/destinations/${id}`, { names: ["example.com"] });
  expect(led("main")).toEqual(["192.0.2.7", "192.0.2.8"]);
  await answered("example.com", ["192.0.2.9"]);
  await home.ask("PATCH", `/api/destinations/${id}`, { names: ["example.net", "example.com"] });
  expect(led("main")).toEqual(["192.0.2.7", "192.0.2.8", "192.0.2.9"]);
});

test("an answer for a rule that is gone meanwhile is not permitted", async () => {
  await home.connect();
  const { id } = await add({ names: ["example.com"], exit: "main" });
  const { matching, names } = home.parts.destinations;
  const match = matching.forName("example.com" as HostName, TV as Mac);
  await home.ask("DELETE", `/api/destinations/${id}`);
  if (match === null) throw new Error("no rule");
  const answer = { match, device: TV as Mac, addresses: ips("192.0.2.7"), ttlMs: 1_000 };
  expect(await names.permit(answer)).toBe(false);
});

test("a device brings in a third of what the others leave, and the rest of its share is refused, never another's", async () => {
  await home.connect();
  await add({ names: ["example.com"], exit: "main" });
  const some = (net: number, count: number) =>
    Array.from({ length: count }, (_, index) => `198.${net}.${index >> 8}.${index & 255}`);
  expect(await answered("example.com", some(51, 342))).toBe(false);
  expect(await answered("example.com", some(51, 341))).toBe(true);
  expect(await answered("new.example.com", ["192.0.2.7"])).toBe(false);
  // What is there already costs nothing.
  expect(await answered("example.com", some(51, 1))).toBe(true);
  expect((await list())[0].warning).toContain(`as many addresses as they can for ${TV}: answers with others`);
  expect(await answered("example.com", some(52, 228), PHONE)).toBe(false);
  expect(await answered("example.com", some(52, 227), PHONE)).toBe(true);
  // Each that comes finds room.
  expect(await answered("new.example.com", ["192.0.2.7"], "02:00:00:00:00:22")).toBe(true);
  // All rules together have a share, too.
  for (const name of ["example.net", "example.org"]) await add({ names: [name], exit: "main" });
  expect(await answered("example.net", some(53, 341))).toBe(false);
  expect(await answered("example.net", some(53, 120))).toBe(true);
});

test("an address counts for who has asked first, until that is over", async () => {
  await home.connect();
  await add({ names: ["example.com"], exit: "main" });
  const many = Array.from({ length: 341 }, (_, index) => `198.51.${index >> 8}.${index & 255}`);
  await answered("example.com", many);
  await home.pass(3_000_000);
  expect(await answered("example.com", many, PHONE)).toBe(true);
  expect(await answered("example.com", ["192.0.2.7"])).toBe(false);
  await home.pass(1_000_000);
  expect(await answered("example.com", many, PHONE)).toBe(true);
  expect(await answered("example.com", ["192.0.2.7"])).toBe(true);
  expect(await answered("example.com", ["192.0.2.8"], PHONE)).toBe(false);
});

test("addresses end after an hour, unless a connection uses them", async () => {
  await home.connect();
  await add({ names: ["example.com"], exit: "main" });
  await answered("example.com", ["192.0.2.7", "192.0.2.8"]);
  const end = {
    source: ip("192.168.7.20"),
    sourcePort: 40_000,
    destination: ip("192.0.2.8"),
    destinationPort: 443,
  };
  home.host.connections = [
    {
      ...{ protocol: 6, zone: 0, isOpen: true, isRedirected: false },
      original: end,
      reply: { ...end, source: end.destination, destination: end.source },
    },
  ];
  const stopping = new AbortController();
  void home.parts.destinations.watch(stopping.signal);
  for (let minutes = 0; minutes < 61; minutes += 1) await home.pass(60_000);
  expect(led("main")).toEqual(["192.0.2.8"]);
  home.host.connections = [];
  for (let minutes = 0; minutes < 11; minutes += 1) await home.pass(60_000);
  expect(led("main")).toEqual([]);
  stopping.abort();
});

test("another program's flush of the table brings the addresses back with it", async () => {
  await home.connect();
  await add({ names: ["example.com"], exit: "main" });
  await answered("example.com", ["192.0.2.7"]);
  home.host.removeTable();
  await home.parts.killSwitch.mend();
  expect(led("main")).toEqual(["192.0.2.7"]);
});

test("names of rules are read as those of lists are, however they are written", async () => {
  await home.connect();
  const { id, names } = await add({
    names: ["*.Bücher.example.", ".ad_server.example", "zip"],
    exit: "main",
  });
  expect(names).toEqual(["xn--bcher-kva.example", "ad_server.example", "zip"]);
  expect((await add({ names: ["bücher.EXAMPLE"], exit: "main" })).error).toContain("would be in two rules");
  for (const name of ["www.bücher.example.", "x.ad_server.example", "a.zip"])
    expect(await why(encodeURIComponent(name))).toMatchObject({ status: 200, rule: { id } });
  // What is read again after a start.
  expect(DESTINATIONS.read(home.parts.store).map((rule) => rule.names)).toEqual([names]);
});

test("why explains a name, and what to do if the device never asked", async () => {
  await home.connect();
  const { id } = await add({ names: ["example.com"], exit: "main" });
  // This machine has no address of that LAN at which it could listen.
  home.parts.dns.state = "on";
  home.parts.events.publish({ type: "dns_changed", payload: null });
  expect(await why("www.example.com")).toMatchObject({
    ...{
      status: 200,
      destination: "www.example.com",
      rule: { id },
      by: "example.com",
      exit: "main",
      open: true,
    },
    ...{ addresses: [], asked_at: null },
    why: `The rule ${id} leads example.com to main, for all devices. The question for it leaves there, too.`,
    advice: expect.stringContaining("has not asked the gateway for this name"),
  });
  await answered("www.example.com", ["192.0.2.7"]);
  expect(await why("www.example.com")).toMatchObject({ addresses: ["192.0.2.7"], advice: null });
  expect((await why("www.example.com")).asked_at).toStartWith("20");
  expect(await why("192.0.2.7")).toMatchObject({ rule: { id }, by: "example.com", addresses: [] });
  expect(await why("example.org")).toMatchObject({ rule: null, by: null, addresses: [] });
  await home.ask("PUT", `/api/devices/${TV}`, { exit: "blocked" });
  expect((await why("www.example.com")).why).toContain("reaches only what rules of its own permit");
});

test("while a rule's tunnel is down, why says that DNS is refused as well", async () => {
  await add({ prefixes: ["203.0.113.0/24"], exit: "main" });
  expect((await why("203.0.113.7")).why).toContain("DNS (ports 53 and 853) is refused as well");
});

test("a restore of rules that are direct is told", async () => {
  await home.parts.devices.setDirect(true);
  const rule = { id: "3f9a1c", prefixes: ["203.0.113.0/24"], devices: [], exit: "direct", note: "" };
  home.parts.store.write("destinations", JSON.stringify([rule]));
  await home.parts.destinations.reload();
  const { events } = (await home.send("GET", "/api/events")).json;
  expect(JSON.stringify(events)).toContain("Now direct, outside the tunnel: traffic to 203.0.113.0/24.");
});

test("a rule that is direct is refused if the permission was withdrawn while it waited", async () => {
  await home.parts.devices.setDirect(true);
  const { id } = await add({ prefixes: ["203.0.113.0/24"], exit: "main" });
  const { destinations, devices } = home.parts;
  const gone = devices.setDirect(false);
  const outcomes = await Promise.allSettled([
    destinations.closeDirect(() => gone),
    gone.then(() => destinations.add({ prefixes: ["192.0.2.0/24"], exit: "direct" })),
    gone.then(() => destinations.edit(id, { exit: "direct" })),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  expect(await list()).toMatchObject([{ id, exit: "main" }]);
});

test("a permission that is not in force yet permits no rule: the kernel may refuse it", async () => {
  const { destinations, devices } = home.parts;
  home.host.fails = () => "before";
  // Until the kernel takes everything again, each change loads it.
  await expect(destinations.add({ prefixes: ["203.0.113.0/24"], exit: "main" })).rejects.toThrow();
  const allowed = devices.setDirect(true);
  const held = Promise.withResolvers<void>();
  home.host.holds = (command) => (command.startsWith("nft") ? held.promise : null);
  await Bun.sleep(0);
  expect(devices.direct.allowed).toBe(true);
  const added = destinations.add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  let fail = 1;
  home.host.fails = () => (fail-- > 0 ? "before" : null);
  held.resolve();
  const outcomes = await Promise.allSettled([allowed, added]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await list()).toEqual([]);
});

test("no rule becomes direct while the permission is being withdrawn", async () => {
  await home.parts.devices.setDirect(true);
  const held = Promise.withResolvers<void>();
  const busy = home.parts.devices.unlessUsed("amsterdam", () => held.promise);
  const withdrawn = withdrawDirect(home.parts);
  expect(await add({ prefixes: ["192.0.2.0/24"], exit: "direct" })).toMatchObject({ status: 403 });
  held.resolve();
  await Promise.all([busy, withdrawn]);
  expect(await list()).toEqual([]);
});

test("a rule that the kernel is just given as direct blocks with the withdrawal", async () => {
  await home.parts.devices.setDirect(true);
  const held = Promise.withResolvers<void>();
  home.host.holds = (command) => (command.startsWith("nft") ? held.promise : null);
  const added = home.parts.destinations.add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  await Bun.sleep(0);
  const withdrawn = withdrawDirect(home.parts);
  await Bun.sleep(0);
  home.host.holds = () => null;
  held.resolve();
  await Promise.all([added, withdrawn]);
  expect(await list()).toMatchObject([{ exit: "blocked", open: false }]);
  expect(loaded()).toEqual(["ip daddr 192.0.2.0/24 goto exit_blocked"]);
});

test("a rule that a restore brings while the permission is being withdrawn blocks with it", async () => {
  await home.parts.devices.setDirect(true);
  const held = Promise.withResolvers<void>();
  const busy = home.parts.devices.unlessUsed("amsterdam", () => held.promise);
  const withdrawn = withdrawDirect(home.parts);
  await Bun.sleep(0);
  const rule = { id: "3f9a1c", prefixes: ["192.0.2.0/24"], devices: [], exit: "direct", note: "" };
  home.parts.store.write("destinations", JSON.stringify([rule]));
  await home.parts.destinations.reload();
  expect(await list()).toMatchObject([{ exit: "direct", open: true }]);
  held.resolve();
  await Promise.all([busy, withdrawn]);
  expect(await list()).toMatchObject([{ exit: "blocked", open: false }]);
});

test("a rule to a tunnel that is being removed meanwhile is refused", async () => {
  await home.ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "se-1" });
  const [removed, added] = await Promise.all([
    home.ask("DELETE", "/api/tunnels/amsterdam"),
    add({ prefixes: ["203.0.113.0/24"], exit: "amsterdam" }),
  ]);
  // Whichever comes first: never both.
  expect([removed.status, added.status].filter((status) => status === 200)).toHaveLength(1);
});
