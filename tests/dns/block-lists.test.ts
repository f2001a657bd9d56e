import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alertText } from "../../src/base/alert-rows.ts";
import type { Mac } from "../../src/base/mac.ts";
import { BlockLists } from "../../src/dns/block-lists.ts";
import { ListNames } from "../../src/dns/list-names.ts";
import { entriesIn } from "../../src/dns/list-text.ts";
import { NameSet } from "../../src/dns/name-set.ts";
import type { HttpsAnswer, HttpsRequest } from "../../src/system/host.ts";
import { slow } from "../fast.ts";

const TV = "02:00:00:00:00:20" as Mac;
const PHONE = "02:00:00:00:00:30" as Mac;
const URL = "https://lists.example/ads.txt";
const folder = mkdtempSync(join(tmpdir(), "portcullis-lists-"));
afterAll(() => rmSync(folder, { recursive: true }));

slow.test(
  "a set has its names and those below them, and no others; a million take eight megabytes",
  async () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `ads${index}.tracker${index % 97}.example`);
    const set = await NameSet.from([...names, ...names]);
    expect(set.size).toBe(100_000);
    expect(set.hashes.byteLength).toBe(800_000);
    expect(names.filter((name) => !set.has(name) || !set.has(`www.${name}`))).toEqual([]);
    expect(
      names.filter((_, index) => set.has(`site${index}.example`) || set.has(`tracker${index}.example`)),
    ).toEqual([]);
    expect(set.hashes.toSorted().join()).toBe(set.hashes.join());
  },
);

slow.test("the event loop has its turns while a list is read, also where it has no names", async () => {
  for (const line of ["n#.example", "# comment", "@@||n#.example^", "shop.example##.n#"]) {
    const lines = Array.from({ length: 50_000 }, (_, index) => line.replace("#", String(index)));
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await ListNames.from(lines.join("\n"), { skipped: 0 });
    clearInterval(timer);
    expect([line, turns > 1]).toEqual([line, true]);
  }
});

slow.test("no line of a list holds the event loop, and what it keeps as text has a bound", async () => {
  const odd = [
    `ads.example ${"1".repeat(25)}x cname .`,
    `address=/${"/".repeat(16_000)} x`,
    `0.0.0.0 ${"é.a ".repeat(4_000)}`,
  ];
  for (const line of odd) {
    const times = [1, 2, 3].map(() => {
      const began = performance.now();
      Array.from(entriesIn(line, { skipped: 0 }));
      return performance.now() - began;
    });
    expect([line.slice(0, 9), Math.min(...times) < 40]).toEqual([line.slice(0, 9), true]);
  }
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await ListNames.from(`||zip^$denyallow=${"a.b|".repeat(4_000)}!\n`.repeat(400), { skipped: 0 });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(8);
  const reading = { skipped: 0 };
  const exceptions = Array.from({ length: 262_145 }, (_, index) => `@@||n${index}.example^\n`);
  const list = await ListNames.from(exceptions.join(""), reading);
  const verdicts = ["n262143.example", "n262144.example"].map((name) => list.verdictOn(name));
  expect([reading.skipped, ...verdicts]).toEqual([1, "open", null]);
});

test("a list's exceptions, those that count always, and the longest of names that are spared hold", async () => {
  const lines = [
    ...[
      "||ads.example^",
      "@@||good.ads.example^",
      "||bad.good.ads.example^",
      "||worst.good.ads.example^$important",
    ],
    ...[
      "@@||x.worst.good.ads.example^$important",
      "||zip^$denyallow=good.zip",
      "||ads.good.zip^",
      "|one.example^",
    ],
    ...[
      "||void.example^",
      "||void.example^$badfilter",
      "||kept.example^",
      "@@||kept.example^",
      "@@||kept.example^$badfilter",
    ],
  ];
  const list = await ListNames.from(lines.join("\n"), { skipped: 0 });
  const said = (verdict: string | null) => (names: string) =>
    names.split(" ").map((name) => expect([name, list.verdictOn(name)]).toEqual([name, verdict]));
  said("block")(
    "ads.example x.ads.example worst.good.ads.example zip a.zip x.ads.good.zip one.example kept.example",
  );
  said("open")("good.ads.example bad.good.ads.example x.worst.good.ads.example www.good.zip");
  said(null)("example www.one.example void.example other.example");
});

/** Lists from a source that a test changes. */
function listsFrom(source: { text: string; etag?: string; status?: number; moved?: Record<string, string> }) {
  const world = {
    now: 1_000_000,
    connected: true,
    asked: [] as HttpsRequest[],
    told: [] as string[],
    tells: 0,
  };
  const texts = new Map<string, string>();
  const make = () =>
    new BlockLists({
      host: { now: () => world.now, monotonic: () => world.now, sleep: async () => {} },
      store: { read: (key) => texts.get(key) ?? null, write: (key, text) => void texts.set(key, text) },
      stateDir: folder,
      send: async (request): Promise<HttpsAnswer> => {
        world.asked.push(request);
        const location = source.moved?.[request.url];
        if (location !== undefined) return { status: 301, headers: { location }, body: "" };
        const same = source.etag !== undefined && request.headers["If-None-Match"] === source.etag;
        const headers: Record<string, string> = source.etag === undefined ? {} : { etag: source.etag };
        return { status: same ? 304 : (source.status ?? 200), headers, body: same ? "" : source.text };
      },
      isConnected: () => world.connected,
      onShrunk: (lists) => world.told.push(alertText("list_shrunk", lists)),
      events: {
        publish: () => void world.tells++,
        published: async () => {},
      },
      log: { info: () => {}, warn: (message) => world.told.push(message) },
    });
  /** One look at all lists. */
  const look = async (lists: BlockLists) => {
    const once = new AbortController();
    const looked = lists.watch(once.signal);
    once.abort();
    await looked;
  };
  return { world, make, look, lists: make() };
}

test("a list blocks for its devices, with exceptions, and not while it is paused", async () => {
  const { world, lists, look } = listsFrom({ text: "ads.example\ntracker.example\n" });
  expect(lists.isUsed).toBe(false);
  await lists.put({ lists: [{ url: URL, devices: [TV] }], exceptions: ["good.ads.example"] });
  await look(lists);
  expect(lists.size).toBe(2);
  expect(lists.blocks(["x.ads.example"], TV)).toBe(true);
  expect(lists.blocks(["x.ads.example"], PHONE)).toBe(false);
  expect(lists.blocks(["www.good.ads.example"], TV)).toBe(false);
  expect(lists.blocks(["example"], TV)).toBe(false);
  // The lists were put and fetched, and are paused.
  expect(world.tells).toBe(2);
  lists.pause();
  expect(world.tells).toBe(3);
  expect(lists.pausedUntilTime).toBe(world.now + 300_000);
  expect(lists.blocks(["ads.example"], TV)).toBe(false);
  world.now += 300_000;
  expect(lists.blocks(["ads.example"], TV)).toBe(true);
  await lists.put({ lists: [] });
  expect(lists.blocks(["ads.example"], TV)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
});

test("the names of resolvers by HTTPS are blocked by one switch, without a list, and not those above them", async () => {
  const { lists } = listsFrom({ text: "" });
  expect(lists.blocks(["dns.google"], TV)).toBe(false);
  await lists.put({ lists: [], block_doh: true });
  expect([lists.isUsed, lists.isThere]).toEqual([true, true]);
  for (const name of ["dns.google", "mozilla.cloudflare-dns.com", "abc123.dns.nextdns.io", "mask.icloud.com"])
    expect([name, lists.blocks([name], TV)]).toEqual([name, true]);
  for (const name of [
    "google",
    "www.google.com",
    "cloudflare.com",
    "icloud.com",
    "xdns.google",
    "nextdns.io",
  ])
    expect([name, lists.blocks([name], TV)]).toEqual([name, false]);
  lists.pause();
  expect(lists.blocks(["dns.google"], TV)).toBe(false);
  lists.pause(0);
  // Whoever does not know the switch leaves it, and a name can be opened.
  await lists.put({ lists: [], exceptions: ["dns.google"] });
  expect([lists.blocks(["dns.google"], TV), lists.blocks(["dns.quad9.net"], TV)]).toEqual([false, true]);
  await lists.put({ lists: [], block_doh: false });
  expect([lists.isUsed, lists.blocks(["dns.quad9.net"], TV)]).toEqual([false, false]);
});

test("a list that is off blocks nothing, is not fetched, and keeps its names", async () => {
  const { world, lists, look } = listsFrom({ text: "ads.example\n" });
  await lists.put({ lists: [{ url: URL, devices: [TV] }], exceptions: ["good.example"] });
  await look(lists);
  await lists.turn(URL, false);
  world.now += 24 * 3_600_000;
  await look(lists);
  expect([lists.blocks(["ads.example"], TV), lists.isUsed, lists.isThere]).toEqual([false, false, true]);
  expect(world.asked).toHaveLength(1);
  expect(lists.list()).toMatchObject({
    lists: [{ url: URL, devices: [TV], on: false, names: 1 }],
    exceptions: ["good.example"],
  });
  await lists.turn(URL, true);
  expect(lists.blocks(["ads.example"], TV)).toBe(true);
  expect(lists.turn("https://other.example/", true)).rejects.toThrow("there is no such list");
  await lists.put({ lists: [] });
});

test("a list is fetched only through a tunnel, confirmed by its tag, and kept over a restart and failures", async () => {
  const source: { text: string; etag?: string; status?: number } = { text: "ads.example\n", etag: '"1"' };
  const { world, lists, make, look } = listsFrom(source);
  world.connected = false;
  await lists.put({ lists: [{ url: URL }] });
  await look(lists);
  expect(world.asked).toEqual([]);
  world.connected = true;
  await look(lists);
  const again = make();
  world.connected = false;
  await look(again);
  expect(again.blocks(["ads.example"], TV)).toBe(true);
  world.connected = true;
  world.now += 24 * 3_600_000;
  await look(again);
  expect(world.asked.at(-1)?.headers["If-None-Match"]).toBe('"1"');
  expect(again.blocks(["ads.example"], TV)).toBe(true);
  source.etag = '"2"';
  source.status = 500;
  world.now += 24 * 3_600_000;
  await look(again);
  expect(again.list().lists).toMatchObject([
    {
      ...{ names: 1, error: "it answered with status 500" },
      error_args: { what: "block_list_status", status: 500 },
    },
  ]);
  expect(again.blocks(["ads.example"], TV)).toBe(true);
  await again.put({ lists: [] });
});

test("a list of less than half the size is told, and not taken", async () => {
  const source = { text: "a.example\nb.example\nc.example\n" };
  const { world, lists, look } = listsFrom(source);
  await lists.put({ lists: [{ url: URL }] });
  await look(lists);
  source.text = "a.example\n";
  world.now += 24 * 3_600_000;
  await look(lists);
  expect(lists.blocks(["c.example"], TV)).toBe(true);
  expect(lists.list().lists).toMatchObject([
    {
      error: "it has 1 names instead of 3, and is not used; the one before stays",
      error_args: { what: "block_list_shrunk", names: 1, former: 3 },
    },
  ]);
  expect(world.told).toEqual([
    "The list of lists.example has 1 names instead of 3. It is not used; the one before stays.",
  ]);
  await lists.put({ lists: [] });
});

test("a list that has moved is followed, over https and three times at most", async () => {
  const to = (count: number) => `https://${count}.example/list`;
  const moved: Record<string, string> = { [URL]: to(1), [to(1)]: to(2), [to(2)]: "/elsewhere" };
  const { world, lists, look } = listsFrom({ text: "ads.example\n?\n", moved });
  await lists.put({ lists: [{ url: URL }] });
  await look(lists);
  expect(world.asked.map(({ url }) => url)).toEqual([URL, to(1), to(2), "https://2.example/elsewhere"]);
  expect(lists.list().lists).toMatchObject([{ names: 1, skipped: 1, error: null }]);
  for (const [from, place, error] of [
    ["https://2.example/elsewhere", URL, "it has moved more than 3 times"],
    [to(2), "http://2.example/", "it has moved to an address that is not https"],
  ] as const) {
    moved[from] = place;
    world.now += 24 * 3_600_000;
    await look(lists);
    expect(lists.list().lists).toMatchObject([{ names: 1, skipped: 1, error }]);
  }
  await lists.put({ lists: [] });
});

test("a list on the disk has its exceptions, and one that an earlier version has read blocks until it is fetched", async () => {
  const { world, lists, make, look } = listsFrom({
    text: "ads.example\n@@||x.ads.example^\n?\n",
    etag: '"1"',
  });
  await lists.put({ lists: [{ url: URL }] });
  await look(lists);
  world.connected = false;
  const again = make();
  await look(again);
  expect([again.blocks(["ads.example"], TV), again.blocks(["x.ads.example"], TV)]).toEqual([true, false]);
  expect(again.list().lists).toMatchObject([{ names: 1, skipped: 1 }]);
  const { hashes } = await NameSet.from(["former.example", "ads.example", "other.example"]);
  const header = JSON.stringify({ url: URL, etag: '"1"', fetched: world.now }).padEnd(92);
  const [file = ""] = readdirSync(folder);
  await Bun.write(
    join(folder, file),
    Buffer.concat([Buffer.from([0, 0, 0, 96]), Buffer.from(header), Buffer.from(hashes.buffer)]),
  );
  const later = make();
  await look(later);
  expect(later.blocks(["former.example"], TV)).toBe(true);
  world.connected = true;
  await look(later);
  expect(later.blocks(["former.example"], TV)).toBe(false);
  expect(world.asked.at(-1)?.headers["If-None-Match"]).toBeUndefined();
  await later.put({ lists: [] });
});

test("a name may lead home once a person has said so, and other changes leave that as it is", async () => {
  const { lists, make } = listsFrom({ text: "" });
  await lists.put({ lists: [], private_names: ["*.Plex.Direct."] });
  await lists.put({ lists: [], exceptions: ["good.example"] });
  for (const each of [lists, make()]) {
    const names = ["plex.direct", "a.b.plex.direct", "xplex.direct", "direct"];
    expect(names.filter((name) => each.mayLeadHome(name))).toEqual(names.slice(0, 2));
  }
  await lists.put({ lists: [], private_names: [] });
  expect(lists.mayLeadHome("plex.direct")).toBe(false);
});

test("opening a name opens all that it leads to, by a person or by the list itself", async () => {
  const { lists, look } = listsFrom({ text: "||tracker.example^\n@@||news.example^\n" });
  await lists.put({ lists: [{ url: URL }], exceptions: ["*.Shop_1.example."] });
  await look(lists);
  const chain = (first: string) => [first, "alias.example", "x.tracker.example"];
  expect(lists.blocks(chain("www.other.example"), TV)).toBe(true);
  expect(lists.blocks(chain("www.shop_1.example"), TV)).toBe(false);
  expect(lists.blocks(chain("www.news.example"), TV)).toBe(false);
  expect(lists.blocks(["a.example", "shop_1.example", "tracker.example"], TV)).toBe(false);
  expect(lists.blocks(["tracker.example", "shop_1.example"], TV)).toBe(true);
  await lists.put({ lists: [] });
});

test("bad lists are refused by the field, and nothing changes", async () => {
  const { lists } = listsFrom({ text: "" });
  for (const [body, message] of [
    [{ lists: [{ url: "http://lists.example/" }] }, "lists[0].url: must be an https address"],
    [{ lists: [{ url: URL }, { url: URL }] }, "lists[1].url: is there twice"],
    [{ lists: [{ url: "https://a:b@lists.example/" }] }, "lists[0].url: must have no name and no password"],
    [{ lists: [], exceptions: ["no name"] }, "exceptions[0]: is not a name, such as example.com"],
    [{ lists: [], private_names: ["a", "-"] }, "private_names[1]: is not a name, such as example.com"],
  ] as const)
    expect(lists.put(structuredClone(body) as never)).rejects.toMatchObject({ code: "bad_request", message });
  expect(lists.list()).toEqual({ lists: [], exceptions: [], private_names: [], block_doh: false });
});
