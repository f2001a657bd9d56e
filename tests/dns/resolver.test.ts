import { expect, test } from "bun:test";
import type { DecodedPacket, Answer as Record } from "dns-packet";
import fc from "fast-check";
import type { HostName } from "../../src/base/address.ts";
import { viewOf } from "../../src/base/dns-message.ts";
import type { Mac } from "../../src/base/mac.ts";
import { Matcher, type Rule } from "../../src/destinations/rules.ts";
import { formatExit } from "../../src/devices/exit.ts";
import { type Answer, answerIn, ownAnswer, RCODE } from "../../src/dns/answer.ts";
import { KnownQuestions } from "../../src/dns/known-questions.ts";
import { publicHomeOf } from "../../src/dns/public-home.ts";
import { type Question, queryFor } from "../../src/dns/question.ts";
import { MAX_EACH_SECOND, MAX_UNDER_WAY, OTHERS, Resolver } from "../../src/dns/resolver.ts";
import type { ExitResolvers } from "../../src/dns/upstream.ts";
import type { Exit } from "../../src/killswitch/policy.ts";
import { cidrs, ips } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { a, decoded, httpsReply, query, reply } from "./messages.ts";

const TV = "02:00:00:00:00:20" as Mac;
const A_RECORD = { type: 1, ttl: 60, data: Uint8Array.of(192, 0, 2, 9) };
const PHONE = "02:00:00:00:00:21" as Mac;
const CAMERA = "02:00:00:00:00:22" as Mac;

const NETWORK = {
  addresses: ips("192.168.7.1", "198.51.100.9", "2001:db8:7::2"),
  routers: ips("198.51.100.1"),
};

/** A resolver whose exits answer with their own address, unless a test says otherwise. */
function resolverWith({ rules = [], exit = "main" }: { rules?: Partial<Rule>[]; exit?: string } = {}) {
  const world = {
    now: 0,
    asked: [] as string[],
    permitted: [] as string[],
    /** For how long, in seconds. */
    permittedFor: 0,
    noted: [] as string[],
    others: [] as string[],
    /** Whether the kernel takes more addresses. */
    isRoom: true,
    rules: new Matcher([]),
    network: NETWORK,
    exit,
    down: new Set<string>(),
    /** Where the tunnel of a name leads, if it has moved. */
    links: new Map<string, string>(),
    /** What the kernel has: nobody waits for it again. */
    loaded: new Set<string>(),
    blocked: new Set<string>(),
    mayLeadHome: new Set(["plex.direct"]),
    /** What became of each query. */
    answered: [] as string[],
    answers: new Map<string, string>(),
    /** The hosts that HTTPS records name. */
    hosts: new Map<string, string>(),
    /** Whole answers. */
    records: new Map<string, Record[]>(),
    /** Answers wait for it. */
    held: Promise.resolve(),
    /** The answer for a name of the home. */
    local: (_: Question): Promise<Uint8Array> | null => null,
  };
  const exitTo = (name: string): Exit => (name === "blocked" ? { to: "blocked" } : { to: "tunnel", name });
  const all = rules.map(
    (rule, index): Rule => ({
      ...{ id: String(index), names: [], prefixes: [], devices: [], note: "", exit: exitTo("second") },
      ...rule,
    }),
  );
  world.rules = new Matcher(all);
  const resolver = new Resolver({
    clock: { monotonic: () => world.now },
    exitOf: () => exitTo(world.exit),
    rules: () => world.rules,
    local: (question) => world.local(question),
    mayLeadHome: (name) => world.mayLeadHome.has(name),
    isBlocked: (names) => names.some((name) => world.blocked.has(name)),
    other: (name, _, addresses) => void world.others.push(`${name} ${addresses.join(" ")}`),
    asked: ({ by }) => void world.noted.push(by),
    answered: ({ name }, { answer, exit }) =>
      void world.answered.push(`${name} ${answer} ${exit === null ? "-" : formatExit(exit)}`),
    permit: ({ match, addresses, ttlMs }) => {
      world.permittedFor = ttlMs / 1_000;
      const led = `${match.by} ${addresses.join(" ")}`;
      world.permitted.push(led);
      if (!world.isRoom || world.loaded.has(led)) return world.isRoom;
      world.loaded.add(led);
      return Promise.resolve(true);
    },
    resolversOf: (to) =>
      to.to !== "tunnel" || world.down.has(to.name)
        ? null
        : { link: world.links.get(to.name) ?? to.name, mark: 1, resolvers: ips("10.64.0.1") },
    home: () => cidrs("192.168.7.0/24"),
    publicHome: () => publicHomeOf(world.network),
    upstream: {
      ask: async (question, { link }: ExitResolvers): Promise<Answer | null> => {
        world.asked.push(`${link} ${question.name}`);
        await world.held;
        const own = queryFor(question);
        const address = world.answers.get(question.name) ?? (link === "main" ? "192.0.2.1" : "192.0.2.2");
        const host = world.hosts.get(question.name);
        return host === undefined
          ? answerIn(reply(own, world.records.get(question.name) ?? [a(question.name, address)]), own)
          : answerIn(httpsReply(own, question.name, host, address), own);
      },
    },
    log: { warn: () => {} },
  });
  const ask = async (name: string, device = TV) => {
    const answered = await resolver.answer(query(name), device);
    if (answered === null) return "nothing";
    const { rcode, answers = [] } = decoded(answered.answer);
    const [first] = answers;
    if (first !== undefined && (first.type as string) === "UNKNOWN_65") return "HTTPS";
    return first?.type === "A" ? String(first.data) : String(rcode);
  };
  return { world, resolver, ask };
}

const names = (...all: string[]) => all as HostName[];

test("each question leaves by the exit of the traffic that follows, and its addresses are there before the answer", async () => {
  const { world, ask } = resolverWith({ rules: [{ names: names("example.com") }] });
  expect(await ask("other.example")).toBe("192.0.2.1");
  expect(await ask("www.example.com")).toBe("192.0.2.2");
  expect(world.others).toEqual(["other.example 192.0.2.1", "www.example.com 192.0.2.2"]);
  expect(world.asked).toEqual(["main other.example", "second www.example.com"]);
  expect(world.permitted).toEqual(["example.com 192.0.2.2"]);
  // From memory too.
  expect(await ask("www.example.com")).toBe("192.0.2.2");
  expect(world.asked).toHaveLength(2);
  expect(world.permitted).toHaveLength(2);
});

test("devices with a rule each for one name have each the answer of its own exit, from memory too", async () => {
  const one = names("example.com");
  const { world, ask } = resolverWith({
    rules: [
      { names: one, devices: [TV] },
      { names: one, devices: [PHONE], exit: { to: "tunnel", name: "main" } },
      { names: one, devices: [CAMERA], exit: { to: "blocked" } },
    ],
  });
  for (let round = 0; round < 2; round += 1)
    expect([
      await ask("example.com"),
      await ask("example.com", PHONE),
      await ask("example.com", CAMERA),
    ]).toEqual(["192.0.2.2", "192.0.2.1", "NXDOMAIN"]);
  expect(world.asked).toEqual(["second example.com", "main example.com"]);
});

test("an address is led for its own time, however soon an alias of it ends", async () => {
  const { world, ask } = resolverWith({ rules: [{ names: names("example.com") }] });
  world.records.set("example.com", [
    { type: "CNAME", name: "example.com", ttl: 60, data: "cdn.example.net" },
    a("cdn.example.net", "192.0.2.9", 86_400),
    a("cdn.example.net", "192.0.2.8", 7_200),
  ]);
  await ask("example.com");
  expect([world.permitted, world.permittedFor]).toEqual([["example.com 192.0.2.9 192.0.2.8"], 86_400]);
});

test("a name whose exit is down is refused, and asked by no other", async () => {
  const { world, ask } = resolverWith({ rules: [{ names: names("example.com") }] });
  world.down.add("second");
  expect(await ask("example.com")).toBe("REFUSED");
  expect(await ask("other.example")).toBe("192.0.2.1");
  expect(world.asked).toEqual(["main other.example"]);
});

test("while a tunnel moves, old answers are used for a minute and no longer", async () => {
  const { world, ask } = resolverWith();
  expect(await ask("example.com")).toBe("192.0.2.1");
  world.down.add("main");
  world.now = 359_000;
  expect(await ask("example.com")).toBe("192.0.2.1");
  world.now = 361_000;
  expect(await ask("example.com")).toBe("REFUSED");
});

test("names that a rule or a list blocks do not exist; a rule comes before a list", async () => {
  const blocked = { names: names("ads.example"), exit: { to: "blocked" } as const };
  const { world, resolver, ask } = resolverWith({ rules: [blocked, { names: names("good.example") }] });
  world.blocked.add("tracker.example").add("good.example");
  expect(await ask("x.ads.example")).toBe("NXDOMAIN");
  expect(await ask("tracker.example")).toBe("NXDOMAIN");
  expect(await ask("good.example")).toBe("192.0.2.2");
  expect(resolver.counts).toEqual({ asked: 3, local: 0, cached: 0, blocked: 2, refused: 0, failed: 0 });
});

test("a blocked device is refused, except for what a rule of its own permits", async () => {
  const { world, ask } = resolverWith({
    exit: "blocked",
    rules: [{ names: names("school.example"), devices: [TV] }, { names: names("all.example") }],
  });
  expect(await ask("other.example")).toBe("REFUSED");
  expect(await ask("all.example")).toBe("REFUSED");
  expect(await ask("school.example")).toBe("192.0.2.2");
  expect(world.asked).toEqual(["second school.example"]);
});

test("an answer whose addresses the kernel does not take is refused", async () => {
  const { world, ask } = resolverWith({ rules: [{ names: names("example.com") }] });
  world.isRoom = false;
  expect(await ask("example.com")).toBe("REFUSED");
  expect(await ask("other.example")).toBe("192.0.2.1");
});

test("an answer that comes after the rules have changed is refused", async () => {
  const { world, ask } = resolverWith();
  const { promise, resolve } = Promise.withResolvers<void>();
  world.held = promise;
  const answer = ask("example.com");
  const rule = { id: "1", names: names("example.com"), prefixes: [], devices: [], note: "" };
  world.rules = new Matcher([{ ...rule, exit: { to: "tunnel", name: "second" } }]);
  resolve();
  expect(await answer).toBe("REFUSED");
  expect(await ask("example.com")).toBe("192.0.2.2");
  expect(world.noted).toEqual(names("example.com"));
});

test("what is to leave outside the tunnel is asked by the tunnel of its device, or else by main", async () => {
  const direct = { names: names("bank.example"), devices: [TV], exit: { to: "direct" } as const };
  for (const [exit, asked] of [
    ["second", "second bank.example"],
    ["blocked", "main bank.example"],
  ] as const) {
    const { world, ask } = resolverWith({ exit, rules: [direct] });
    world.answers.set("x.bank.example", "10.0.0.1");
    expect(await ask("bank.example")).toStartWith("192.0.2.");
    expect(world.asked).toEqual([asked]);
    expect(world.others).toEqual([]);
    // No name leads to a private network outside, such as the home router's.
    expect(await ask("x.bank.example")).toBe("NOERROR");
  }
});

test("a device without a port of its own has what holds for all, and is counted as nobody", async () => {
  const { world, resolver, ask } = resolverWith({
    rules: [{ names: names("tv.example"), devices: [TV] }, { names: names("all.example") }],
  });
  expect(await ask("tv.example", OTHERS)).toBe("192.0.2.1");
  expect(await ask("all.example", OTHERS)).toBe("192.0.2.2");
  expect(world.asked).toEqual(["main tv.example", "second all.example"]);
  expect([resolver.counts.asked, resolver.byDevice.all()]).toEqual([2, []]);
});

test("no name of the internet leads into the home", async () => {
  const { world, ask } = resolverWith({ rules: [{ names: names("office.example") }] });
  const homes = ["192.168.7.1", "10.0.0.1", "127.0.0.1", "0.0.0.0", "169.254.1.1"];
  for (const [index, address] of homes.entries()) world.answers.set(`n${index}.example`, address);
  for (const index of homes.keys()) expect(await ask(`n${index}.example`)).toBe("NOERROR");
  // Behind its own exit a name may have a private address, but never one of the home.
  world.answers.set("a.office.example", "10.0.0.1").set("b.office.example", "192.168.7.1");
  expect(await ask("a.office.example")).toBe("10.0.0.1");
  expect(await ask("b.office.example")).toBe("NOERROR");
  // Nor a public one of the gateway or its router, behind whatever exit.
  world.answers.set("own.example", "198.51.100.9").set("router.office.example", "198.51.100.1");
  for (const name of ["own.example", "router.office.example"]) expect(await ask(name)).toBe("NOERROR");
  // What is remembered is that of the gateway once it has the address.
  world.answers.set("later.example", "203.0.113.9");
  expect(await ask("later.example")).toBe("203.0.113.9");
  world.network = { ...NETWORK, routers: ips("203.0.113.9") };
  expect(await ask("later.example")).toBe("NOERROR");
  // A person has permitted this one, for the tunnel of the device.
  world.answers.set("plex.direct", "192.168.7.20");
  expect(await ask("plex.direct")).toBe("192.168.7.20");
  // Nor one that leads to the device's own neighbours.
  world.answers.set("c.office.example", "169.254.1.1");
  expect(await ask("c.office.example")).toBe("NOERROR");
});

test("what is not private of the home are single addresses, and over IPv6 the networks of 64 bits", () => {
  const addresses = ips(
    "192.168.7.1",
    "198.51.100.9",
    "2001:db8:7::2",
    "2001:db8:7::3",
    "fd00::1",
    "fe80::1",
  );
  // A provider's own addresses, and those of its tunnels for IPv4, are those of a router at home as well.
  expect(
    publicHomeOf({ addresses, routers: ips("198.51.100.1", "fe80::9", "100.64.0.1", "192.0.0.1") }),
  ).toEqual(cidrs("198.51.100.9/32", "2001:db8:7::/64", "198.51.100.1/32", "100.64.0.1/32", "192.0.0.1/32"));
});

test("a host that an HTTPS record names takes the exit of the name, or the record is not told", async () => {
  const { world, ask } = resolverWith({
    rules: [{ names: names("example.com") }, { names: names("else.example") }],
  });
  world.blocked.add("tracker.example");
  const outcomes: [string, string, string][] = [
    ["a.example.com", ".", "HTTPS"],
    ["b.example.com", "cdn.example.com", "HTTPS"],
    ["c.example.com", "cdn.example.net", "NOERROR"],
    ["d.example.com", "x.else.example", "NOERROR"],
    ["plain.example", "cdn.example.net", "HTTPS"],
    ["plain2.example", "x.example.com", "NOERROR"],
    ["plain3.example", "x.tracker.example", "HTTPS"],
    ["plain4.example", "tracker.example", "NOERROR"],
    ["plain5.example", "nas.local", "NOERROR"],
  ];
  for (const [name, host] of outcomes) world.hosts.set(name, host);
  for (const [name, host, outcome] of outcomes)
    expect([name, host, await ask(name)]).toEqual([name, host, outcome]);
  // No address of a record that is not told is led anywhere.
  expect(world.permitted).toEqual(["example.com 192.0.2.2", "example.com 192.0.2.2"]);
});

test("names of other homes, and the canary of browsers, are asked nowhere", async () => {
  const { world, ask } = resolverWith();
  for (const name of ["printer.local", "1.7.168.192.in-addr.arpa", "use-application-dns.net", "x.home.arpa"])
    expect(await ask(name)).toBe("NXDOMAIN");
  expect(world.asked).toEqual([]);
});

test("what a resolver says of itself is said by the gateway: nothing, whatever a rule or a list says", async () => {
  const { world, ask } = resolverWith({ rules: [{ names: names("arpa") }] });
  world.blocked.add("_dns.resolver.arpa");
  for (const name of ["_dns.resolver.arpa", "resolver.arpa"]) expect(await ask(name)).toBe("NOERROR");
  expect(world.asked).toEqual([]);
});

test("what nobody asks often is answered as RFC 8906 has it, and asked nowhere", async () => {
  const { world, resolver } = resolverWith();
  const codeOf = async (message: Uint8Array) => {
    const answered = await resolver.answer(message, TV);
    if (answered === null) return null;
    const {
      id,
      opcode,
      rcode,
      questions = [],
      additionals = [],
    } = decoded(answered.answer) as DecodedPacket & {
      opcode: string;
      rcode: string;
    };
    const [opt] = additionals;
    const upper = opt?.type === "OPT" ? opt.extendedRcode : 0;
    expect(id).toBe(7);
    return `${opcode} ${rcode}${upper === 0 ? "" : ` + ${16 * upper}`} ${questions.length}`;
  };
  const asked = (change: (view: DataView, message: Uint8Array) => void, edns = false) => {
    const message = query("version.bind", "TXT", edns);
    change(viewOf(message), message);
    return message;
  };
  const withOpcode = (opcode: number) => asked((view) => view.setUint16(2, (opcode << 11) | 0x0100));
  const withCount = (count: number) => asked((view) => view.setUint16(4, count));
  const CHAOS = asked((view) => view.setUint16(view.byteLength - 2, 3));
  expect(await codeOf(CHAOS)).toBe("QUERY REFUSED 1");
  for (const [opcode, name] of [
    ...([
      [1, "IQUERY"],
      [2, "STATUS"],
      [4, "NOTIFY"],
      [5, "UPDATE"],
    ] as const),
    [15, "OPCODE_15"],
  ] as const)
    expect(await codeOf(withOpcode(opcode))).toBe(`${name} NOTIMP 0`);
  for (const count of [0, 2]) expect(await codeOf(withCount(count))).toBe("QUERY FORMERR 0");
  expect(await codeOf(query("version.bind", "TXT").subarray(0, 12))).toBe("QUERY FORMERR 0");
  // A name that ends in a pointer to a zero of the header: its question is longer than that of others who ask the same.
  const pointing = [...query("www.example.com").subarray(0, 28), 0xc0, 4, 0, 1, 0, 1];
  expect(await codeOf(Uint8Array.from(pointing))).toBe("QUERY FORMERR 0");
  // The version of EDNS is the second byte of its TTL, which has four before the last two.
  const version = asked((view) => view.setUint8(view.byteLength - 5, 1), true);
  expect(await codeOf(version)).toBe("QUERY NOERROR + 16 1");
  // Other bits of EDNS, and the last one of the header, mean nothing yet.
  const bits = asked((view) => {
    view.setUint16(2, 0x0140);
    view.setUint16(view.byteLength - 4, 0x0040);
  }, true);
  expect(await codeOf(bits)).toBe("QUERY NOERROR 1");
  // An answer, and less than a header.
  for (const none of [asked((view) => view.setUint16(2, 0x8180)), withOpcode(5).subarray(0, 11)])
    expect(await resolver.answer(none, TV)).toBeNull();
  expect(world.asked).toEqual(["main version.bind"]);
});

test("names of the home come before rules and lists, also for a device that is blocked", async () => {
  const { world, resolver, ask } = resolverWith({ exit: "blocked", rules: [{ names: names("arpa") }] });
  world.blocked.add("tv.home.arpa");
  world.local = async (question) => ownAnswer(question, RCODE.ok, [A_RECORD]);
  expect(await ask("tv.home.arpa")).toBe("192.0.2.9");
  expect([world.asked, world.noted, resolver.counts.local]).toEqual([[], [], 1]);
});

test("the addresses of a name without a dot are asked nowhere, unless a rule is for it", async () => {
  const { world, ask } = resolverWith({ rules: [{ names: names("intranet") }] });
  expect(await ask("nas")).toBe("NOERROR");
  expect(await ask("intranet")).toBe("192.0.2.2");
  expect(world.asked).toEqual(["second intranet"]);
});

/** What the first device may take of all. */
const TENTH = 10;

test("who asks the same at a time waits for one answer; too many questions at a time are not asked", async () => {
  const { world, ask } = resolverWith();
  const most = MAX_UNDER_WAY / TENTH;
  const { promise, resolve } = Promise.withResolvers<void>();
  world.held = promise;
  const same = [ask("same.example"), ask("same.example")];
  const many = Array.from({ length: most + 5 }, (_, index) => ask(`n${index}.example`));
  resolve();
  expect(await Promise.all(same)).toEqual(["192.0.2.1", "192.0.2.1"]);
  const outcomes = await Promise.all(many);
  expect(outcomes.filter((each) => each === "192.0.2.1")).toHaveLength(most - 1);
  expect(outcomes.filter((each) => each === "SERVFAIL")).toHaveLength(6);
  expect(world.asked).toHaveLength(most);
});

slow.test("devices that have as many questions under way as they may leave each other one some", async () => {
  const { world, ask } = resolverWith();
  world.held = Promise.withResolvers<void>().promise;
  for (let device = 0; device < 16; device += 1)
    for (let index = 0; index < 130; index += 1)
      void ask(`n${index}.d${device}.example`, `02:00:00:00:01:${10 + device}` as Mac);
  await Bun.sleep(0);
  const before = world.asked.length;
  for (let index = 0; index < TENTH; index += 1) void ask(`n${index}.example`, PHONE);
  await Bun.sleep(0);
  expect(world.asked.length - before).toBe(TENTH);
  // However many a device invents.
  for (let device = 10; device < 90; device += 1)
    for (let index = 0; index < 130; index += 1)
      void ask(`n${index}.d${device}.example`, `02:00:00:00:02:${device}` as Mac);
  await Bun.sleep(0);
  void ask("late.example", TV);
  await Bun.sleep(0);
  expect(world.asked.at(-1)).toBe("main late.example");
});

test("a flood of some devices is not read, and the others are", async () => {
  const { world, resolver, ask } = resolverWith();
  await ask("example.com");
  const message = query("example.com");
  for (let count = 0; count < MAX_EACH_SECOND / TENTH; count++) await resolver.answer(message, TV);
  expect(await ask("example.com")).toBe("nothing");
  for (let count = 0; count < 2 * MAX_EACH_SECOND; count++)
    await resolver.answer(message, `02:00:00:00:01:0${count % 8}` as Mac);
  for (let count = 0; count < 100; count++) expect(await ask("example.com", PHONE)).toBe("192.0.2.1");
  world.now = 1_000;
  expect(await ask("example.com")).toBe("192.0.2.1");
});

test("what becomes of each query is told once it is answered, with the exit that it belongs to", async () => {
  const { world, ask } = resolverWith({
    rules: [
      { names: ["ruled.example" as HostName] },
      { names: ["no.example" as HostName], exit: { to: "blocked" } },
    ],
  });
  world.blocked.add("ads.example");
  for (const name of [
    "www.example",
    "www.example",
    "ruled.example",
    "no.example",
    "ads.example",
    "nas.local",
  ])
    await ask(name);
  world.down.add("main");
  await ask("other.example");
  expect(world.answered).toEqual([
    ...["www.example asked main", "www.example cached main", "ruled.example asked second"],
    ...["no.example blocked -", "ads.example blocked -", "nas.local local -", "other.example refused main"],
  ]);
});

const MAIN_EXIT = { to: "tunnel", name: "main" } as const;
const RULED = [
  { names: names("internal"), exit: MAIN_EXIT },
  { names: names("h2.example"), exit: { to: "tunnel", name: "second" } as const },
  { names: names("ruled.example"), exit: { to: "tunnel", name: "second" } as const },
  { names: names("tv.example"), devices: [TV], exit: { to: "tunnel", name: "second" } as const },
  { names: names("ads.ruled.example"), exit: { to: "blocked" } as const },
  { names: names("direct.example"), devices: [PHONE], exit: { to: "direct" } as const },
];
const PUBLIC = ["192.0.2.1", "203.0.113.9"];
type World = ReturnType<typeof resolverWith>["world"];
type Step = (world: World) => void;

const asks = fc.record({
  name: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom("a.example", "x.ruled.example", "x.internal") },
    fc.constantFrom("A.example", "tv.example", "ads.ruled.example", "direct.example"),
    fc.constantFrom("h.example", "plex.direct", "printer", "1.0.0.10.in-addr.arpa"),
  ),
  device: fc.constantFrom(TV, PHONE, OTHERS),
  id: fc.nat(0xffff),
  edns: fc.boolean(),
});
const changes: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom(1, 999, 1_000, 59_000, 299_000, 301_000).map((ms) => (world: World) => {
    world.now += ms;
  }),
  fc.shuffledSubarray(RULED).map((some) => (world: World) => {
    const whole = { prefixes: [], devices: [], note: "" };
    world.rules = new Matcher(some.map((rule, id) => ({ ...whole, id: String(id), ...rule })));
  }),
  fc.subarray(["a.example", "x.ruled.example", "h2.example"]).map((blocked) => (world: World) => {
    world.blocked = new Set(blocked);
  }),
  fc.constantFrom("main", "second", "blocked").map((exit) => (world: World) => {
    world.exit = exit;
  }),
  fc.subarray(["main", "second"]).map((down) => (world: World) => {
    world.down = new Set(down);
  }),
  fc.constantFrom("wg1", "wg2").map((link) => (world: World) => {
    world.links.set("main", link);
  }),
  fc.constantFrom(...PUBLIC).map((address) => (world: World) => {
    world.network = { ...NETWORK, addresses: [...NETWORK.addresses, ...ips(address)] };
  }),
  fc.boolean().map((mayLead) => (world: World) => {
    world.mayLeadHome = new Set(mayLead ? ["plex.direct"] : []);
  }),
  fc.boolean().map((isRoom) => (world: World) => {
    world.isRoom = isRoom;
  }),
);

slow.test("an answer that is ready is the one that would be made anew, with all that it sets in motion", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 4, arbitrary: asks }, changes), { maxLength: 80, size: "max" }),
      async (steps) => {
        const [ready, anew] = [resolverWith(), resolverWith()];
        for (const each of [ready, anew]) each.world.hosts.set("h.example", "h2.example");
        for (const step of steps) {
          const answers = await Promise.all(
            [ready, anew].map(async ({ resolver, world }) => {
              if (typeof step === "function") return step(world);
              // Nothing is known that could be ready.
              if (resolver === anew.resolver) Reflect.set(resolver, "questions", new KnownQuestions());
              const message = query(step.name, "A", step.edns);
              viewOf(message).setUint16(0, step.id);
              return resolver.answer(message, step.device);
            }),
          );
          const [one, other] = answers.map((each) => each && Buffer.from(each.answer).toString("hex"));
          expect(one).toEqual(other as string);
        }
        // A kernel that does not take more is asked twice.
        const seen = ({ world, resolver }: typeof ready) => ({
          ...{ counts: resolver.counts, devices: resolver.byDevice.all() },
          ...{
            answered: world.answered,
            asked: world.asked,
            others: world.others,
            noted: world.noted,
          },
          permitted: new Set(world.permitted),
        });
        expect(seen(ready)).toEqual(seen(anew));
      },
    ),
    { numRuns: 60 },
  ),
);

test("who has waited for an answer keeps it while others ask the same", async () => {
  const { resolver } = resolverWith();
  const asked = (id: number) => {
    const message = query("www.example");
    viewOf(message).setUint16(0, id);
    return resolver.answer(message, TV);
  };
  const waited = await asked(1);
  const ready = asked(2);
  expect(ready).not.toBeInstanceOf(Promise);
  expect([waited, await ready].map((each) => each && viewOf(each.answer).getUint16(0))).toEqual([1, 2]);
});

test("what a person permits, what a rule leads out and what an answer says of other hosts is looked at each time", async () => {
  const { world, ask } = resolverWith({ rules: [{ names: names("internal"), exit: MAIN_EXIT }] });
  world.network = { ...NETWORK, addresses: ips("192.0.2.1") };
  world.answers.set("shop.example", "192.0.2.7").set("nas.internal", "192.0.2.8");
  world.hosts.set("shop.example", "cdn.example");
  const all = async () => [await ask("plex.direct"), await ask("shop.example"), await ask("nas.internal")];
  for (let time = 0; time < 2; time++) expect(await all()).toEqual(["192.0.2.1", "HTTPS", "192.0.2.8"]);
  world.mayLeadHome.clear();
  world.blocked.add("cdn.example");
  world.rules = new Matcher([]);
  expect(await all()).toEqual(["NOERROR", "NOERROR", "NXDOMAIN"]);
});
