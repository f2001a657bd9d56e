import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { commandIn } from "../../src/sandbox/namespace.ts";
import type { ElementChange, ElementType } from "../../src/system/host.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { until } from "../rig/tools/until.ts";

const HERE = `as${process.pid}`;
const [here, machine] = [new NamespaceHost(HERE), new LinuxHost()];
const TABLE = `add table inet own
delete table inet own
table inet own {
  set named_ipv4 { type ipv4_addr; elements = { 0.0.0.0, 192.0.2.1 }; }
  set named_ipv6 { type ipv6_addr; elements = { :: }; }
  set servers_ipv4 { type ipv4_addr . inet_service; elements = { 192.0.2.1 . 51820 }; }
  set servers_ipv6 { type ipv6_addr . inet_service; }
  set on_main { type ether_addr; elements = { 02:00:00:00:00:01 }; }
  set zones { typeof ct original zone; elements = { 4096 }; }
  map exit_of { type ether_addr : verdict; elements = { 02:00:00:00:00:01 : goto exit_main }; }
  set all_alike { type nf_proto; elements = { 2 }; }
  set ports { type inet_service; elements = { 53 }; }
  map zone_of { typeof ether saddr : ct original zone; elements = { 02:00:00:00:00:01 : 258 }; }
  map port_of { typeof ct original zone : th dport; elements = { 258 : 53 }; }
  chain exit_main { accept; }
  chain exit_other { drop; }
  chain hooked { type filter hook prerouting priority raw; ether saddr vmap @exit_of; meta nfproto @all_alike goto exit_main; }
}
`;
const FLUSH = "flush ruleset\n";
const PATIENCE_MS = 60_000;
setDefaultTimeout(PATIENCE_MS);

const TYPES: Record<string, ElementType> = {
  named_ipv4: "ipv4_addr",
  named_ipv6: "ipv6_addr",
  servers_ipv4: "ipv4_addr . inet_service",
  servers_ipv6: "ipv6_addr . inet_service",
  on_main: "ether_addr",
  zones: "ct original zone",
  exit_of: "ether_addr : verdict",
  all_alike: "nf_proto",
  ports: "inet_service",
  zone_of: "ether saddr : ct original zone",
  port_of: "ct original zone : th dport",
};

const load = (text: string) => here.run(["nft", "-f", "-"], { stdin: text });
const change = (...changes: Omit<ElementChange, "table">[]) =>
  here.changeElements(changes.map((each) => ({ table: "own", ...each })));
const changeOf = (verb: ElementChange["verb"], set: string, elements: readonly string[]) => ({
  ...{ verb, set, elements },
  type: TYPES[set] ?? ("ipv4_addr" as const),
});
const added = (set: string, ...elements: string[]) => changeOf("add", set, elements);
const deleted = (set: string, ...elements: string[]) => changeOf("delete", set, elements);

async function elements(set: string): Promise<string[]> {
  const kind = TYPES[set]?.includes(" : ") ? "map" : "set";
  const listing = await here.run(["nft", "-n", "list", kind, "inet", "own", set]);
  const [, listed = ""] = /elements = \{([^}]*)\}/.exec(listing) ?? [];
  return listed
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")
    .toSorted();
}

/** How long some work took, in milliseconds, and how often the event loop came round meanwhile. */
async function timed(work: () => Promise<unknown>): Promise<{ waited: number; turns: number }> {
  const since = performance.now();
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await work();
  clearInterval(timer);
  return { waited: performance.now() - since, turns };
}

beforeAll(async () => {
  await machine.run(["ip", "netns", "add", HERE]);
});
afterAll(() => machine.run(["ip", "netns", "delete", HERE]));

test("addresses of both families are there, and gone, when the change is done", async () => {
  await load(TABLE);
  await change(added("named_ipv4", "192.0.2.7", "198.51.100.9"), added("named_ipv6", "2001:db8::7"));
  expect(await elements("named_ipv4")).toEqual(["0.0.0.0", "192.0.2.1", "192.0.2.7", "198.51.100.9"]);
  expect(await elements("named_ipv6")).toEqual(["2001:db8::7", "::"]);
  await change(deleted("named_ipv4", "192.0.2.7"), added("named_ipv4", "192.0.2.8"));
  expect(await elements("named_ipv4")).toEqual(["0.0.0.0", "192.0.2.1", "192.0.2.8", "198.51.100.9"]);
  // What is there stays.
  await change(added("named_ipv4", "192.0.2.8"));
});

test("a change that the kernel refuses changes nothing, and the next one is as good as ever", async () => {
  await load(TABLE);
  const refused = [
    [added("named_ipv4", "192.0.2.7"), deleted("named_ipv4", "192.0.2.200")],
    [added("named_ipv4", "192.0.2.7"), added("no_set", "192.0.2.8")],
    [added("named_ipv4", "192.0.2.7"), added("named_ipv4", "2001:db8::7")],
  ];
  for (const changes of refused) {
    await expect(change(...changes)).rejects.toMatchObject({ code: "kernel_refused" });
    expect(await elements("named_ipv4")).toEqual(["0.0.0.0", "192.0.2.1"]);
  }
  await load(FLUSH);
  await expect(change(added("named_ipv4", "192.0.2.7"))).rejects.toMatchObject({
    code: "kernel_refused",
  });
  await load(TABLE);
  await change(added("named_ipv4", "192.0.2.7"));
  expect(await elements("named_ipv4")).toContain("192.0.2.7");
});

test("servers have an address and a port", async () => {
  await load(TABLE);
  await change(
    added("servers_ipv4", "198.51.100.9 . 53", "198.51.100.9 . 65535"),
    added("servers_ipv6", "2001:db8::7 . 51820"),
  );
  expect(await elements("servers_ipv4")).toEqual([
    "192.0.2.1 . 51820",
    "198.51.100.9 . 53",
    "198.51.100.9 . 65535",
  ]);
  expect(await elements("servers_ipv6")).toEqual(["2001:db8::7 . 51820"]);
  await change(deleted("servers_ipv4", "198.51.100.9 . 53"), deleted("servers_ipv6", "2001:db8::7 . 51820"));
  expect(await elements("servers_ipv4")).toEqual(["192.0.2.1 . 51820", "198.51.100.9 . 65535"]);
  expect(await elements("servers_ipv6")).toEqual([]);
});

test("devices, zones and the chains of exits are there, and gone, when the change is done", async () => {
  await load(TABLE);
  await change(
    added("on_main", "02:00:00:00:00:0a", "fe:dc:ba:98:76:54"),
    added("zones", "1", "258", "65535"),
    added("exit_of", "02:00:00:00:00:0a : goto exit_main", "fe:dc:ba:98:76:54 : goto exit_other"),
    added("all_alike", "10"),
  );
  expect(await elements("on_main")).toEqual(["02:00:00:00:00:01", "02:00:00:00:00:0a", "fe:dc:ba:98:76:54"]);
  expect(await elements("zones")).toEqual(["1", "258", "4096", "65535"]);
  expect(await elements("exit_of")).toEqual([
    "02:00:00:00:00:01 : goto exit_main",
    "02:00:00:00:00:0a : goto exit_main",
    "fe:dc:ba:98:76:54 : goto exit_other",
  ]);
  expect(await elements("all_alike")).toEqual(["10", "2"]);
  // To move is to delete and to add, in one transaction.
  await change(
    deleted("on_main", "02:00:00:00:00:0a"),
    deleted("zones", "258"),
    deleted("exit_of", "02:00:00:00:00:01 : goto exit_main"),
    added("exit_of", "02:00:00:00:00:01 : goto exit_other"),
    deleted("all_alike", "10", "2"),
  );
  expect(await elements("all_alike")).toEqual([]);
  expect(await elements("on_main")).toEqual(["02:00:00:00:00:01", "fe:dc:ba:98:76:54"]);
  expect(await elements("zones")).toEqual(["1", "4096", "65535"]);
  expect(await elements("exit_of")).toContain("02:00:00:00:00:01 : goto exit_other");
  // An element is deleted whatever its verdict.
  await change(deleted("exit_of", "02:00:00:00:00:01 : goto exit_main"));
  expect(await elements("exit_of")).toHaveLength(2);
});

test("ports, and maps to zones and to ports, have the numbers that were given", async () => {
  await load(TABLE);
  await change(
    added("ports", "1", "10054"),
    added("zone_of", "fe:dc:ba:98:76:54 : 10054"),
    added("port_of", "10054 : 10054", "1 : 65535"),
  );
  expect(await elements("ports")).toEqual(["1", "10054", "53"]);
  expect(await elements("zone_of")).toEqual(["02:00:00:00:00:01 : 258", "fe:dc:ba:98:76:54 : 10054"]);
  expect(await elements("port_of")).toEqual(["1 : 65535", "10054 : 10054", "258 : 53"]);
  await change(
    deleted("zone_of", "02:00:00:00:00:01 : 258"),
    added("zone_of", "02:00:00:00:00:01 : 1"),
    deleted("port_of", "10054 : 10054"),
    deleted("ports", "53"),
  );
  expect(await elements("ports")).toEqual(["1", "10054"]);
  expect(await elements("zone_of")).toEqual(["02:00:00:00:00:01 : 1", "fe:dc:ba:98:76:54 : 10054"]);
  expect(await elements("port_of")).toEqual(["1 : 65535", "258 : 53"]);
});

test("a verdict that the map cannot have changes nothing", async () => {
  await load(TABLE);
  const before = await elements("exit_of");
  const refused = [
    // It has another, and a chain that is not there.
    added("exit_of", "02:00:00:00:00:01 : goto exit_other"),
    added("exit_of", "02:00:00:00:00:02 : goto exit_no"),
    added("exit_of", "02:00:00:00:00:02 : goto hooked"),
    added("exit_of", "02:00:00:00:00:02 : accept"),
    added("exit_of", "02:00:00:00:00:02"),
    added("exit_of", "02:00:00:00:00 : goto exit_main"),
    deleted("exit_of", "02:00:00:00:00:02 : goto exit_main"),
  ];
  for (const each of refused) {
    const done = change(added("on_main", "02:00:00:00:00:07"), each);
    await expect(done).rejects.toMatchObject({ code: "kernel_refused" });
    expect([await elements("exit_of"), await elements("on_main")]).toEqual([before, ["02:00:00:00:00:01"]]);
  }
  await change(added("exit_of", "02:00:00:00:00:02 : goto exit_other"));
  expect(await elements("exit_of")).toContain("02:00:00:00:00:02 : goto exit_other");
});

const hex = (number: number) => number.toString(16).padStart(2, "0");
const MANY = Array.from({ length: 6_000 }, (_, number) => `${hex(number >> 8)}:${hex(number & 255)}`);

test.each([
  [
    "addresses",
    "named_ipv6",
    MANY.map((each) => `2001:db8::1:${Number.parseInt(each.replace(":", ""), 16).toString(16)}`),
  ],
  ["devices", "on_main", MANY.map((each) => `06:00:00:00:${each}`)],
  ["exits of devices", "exit_of", MANY.map((each) => `06:00:00:00:${each} : goto exit_other`)],
] as const)(
  "thousands of %s, more than a message has room for, change in one transaction",
  async (_, set, many) => {
    await load(TABLE);
    const [first = ""] = await elements(set);
    await change(added(set, ...many));
    expect((await elements(set)).length).toBe(1 + many.length);
    await expect(change(deleted(set, ...many), deleted("named_ipv4", "192.0.2.9"))).rejects.toMatchObject({
      code: "kernel_refused",
    });
    expect((await elements(set)).length).toBe(1 + many.length);
    await change(deleted(set, ...many));
    expect(await elements(set)).toEqual([first]);
  },
);

test("hundreds of sets change in one transaction, which the kernel answers part by part", async () => {
  const names = Array.from({ length: 600 }, (_, number) => `set${number}`);
  const sets = names.map((name) => `set ${name} { type ipv4_addr; }`).join("\n");
  await load(`add table inet own\ndelete table inet own\ntable inet own {\n${sets}\n}\n`);
  await change(...names.map((name) => added(name, "192.0.2.7")));
  expect(await elements("set599")).toEqual(["192.0.2.7"]);
  await change(...names.map((name) => deleted(name, "192.0.2.7")));
  expect(await elements("set0")).toEqual([]);
});

/** Another program, until its file is gone. Were it killed, an nft of its own would go on, into the next test. */
function other(script: string) {
  return Bun.spawn(commandIn(HERE, ["sh", "-c", script]), { stdout: "ignore", stderr: "ignore" });
}

test("while the table is flushed and comes back again and again, each change is done or refused", async () => {
  await load(TABLE);
  const text = `/tmp/${HERE}.nft`;
  await Bun.write(text, TABLE);
  const flusher = other(`while nft -f ${text}; do nft flush ruleset; done`);
  const outcomes = { done: 0, refused: 0 };
  try {
    await until(async () => {
      const outcome = await change(added("named_ipv4", "192.0.2.7")).then(
        () => "done" as const,
        () => "refused" as const,
      );
      outcomes[outcome] += 1;
      return outcomes.done > 5 && outcomes.refused > 5;
    });
  } finally {
    await Bun.file(text).delete();
    await flusher.exited;
  }
  await load(TABLE);
  await change(added("named_ipv4", "192.0.2.9"));
  expect(await elements("named_ipv4")).toContain("192.0.2.9");
});

test("the loop goes on while another program's change keeps the kernel from ours", async () => {
  await load(TABLE);
  const all = Array.from(
    { length: 60_000 },
    (_, number) => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`,
  );
  const big = `table inet big { set b { type ipv4_addr; elements = { ${all.join(", ")} }; }; }\n`;
  const busy = "add table inet big\ndelete table inet big\n";
  const text = `/tmp/${HERE}.nft`;
  await Bun.write(text, `${busy}${big}`);
  const loader = other(`while nft -f ${text}; do :; done`);
  try {
    let number = 0;
    // If the loop itself waited, it would not come round before the change is done.
    await until(async () => {
      number = (number % 250) + 1;
      const { waited, turns } = await timed(() => change(added("named_ipv4", `192.0.2.${number}`)));
      return waited > 20 && turns >= 5;
    });
  } finally {
    await Bun.file(text).delete();
    await loader.exited;
  }
});
