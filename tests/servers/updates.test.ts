import { expect, test } from "bun:test";
import { type AlertArgs, alertText } from "../../src/base/alert-rows.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { Catalogue } from "../../src/servers/catalogue.ts";
import { ManagedList } from "../../src/servers/managed.ts";
import { Updates } from "../../src/servers/updates.ts";
import { Store } from "../../src/store/store.ts";
import type { HttpsAnswer, HttpsRequest } from "../../src/system/host.ts";
import { inDirectory } from "../tunnel/directory.ts";
import { NOW, PUBLIC } from "./example.ts";

const ADDRESS = "https://list.test/servers";
const HOUR_MS = 3_600_000;

/** A list in the gateway's own format. */
function listOf(count: number): string {
  const servers = Array.from({ length: count }, (_, index) => ({
    hostname: `se-${index}`,
    country: "Sweden",
    city: "Stockholm",
    ipv4: `192.0.2.${index + 1}`,
    port: 51820,
    public_key: PUBLIC,
  }));
  return JSON.stringify({ servers });
}

/** A gateway's catalogue whose list comes from `source`, on a clock that only tests advance. */
class Scene {
  readonly log: string[] = [];
  readonly told: [string, number][] = [];
  readonly asked: HttpsRequest[] = [];
  readonly files: Record<string, string> = {};
  answer: (request: HttpsRequest) => HttpsAnswer = () => page(listOf(4), '"four"');
  now = NOW;
  uptime = 0;
  store: Store;
  catalogue!: Catalogue;
  updates!: Updates;
  private sleepers: { until: number; wake: () => void }[] = [];

  constructor(
    private readonly directory: string,
    private readonly source: string | null = ADDRESS,
  ) {
    this.store = Store.open(directory, NOW);
  }

  async start(): Promise<this> {
    this.store.close();
    this.store = Store.open(this.directory, NOW);
    const { store, source, log } = this;
    const host = {
      read: async (path: string) => this.files[path] ?? null,
      now: () => this.now,
      monotonic: () => this.uptime,
      sleep: (ms: number, signal?: AbortSignal) => this.sleep(ms, signal),
    };
    const managed = new ManagedList({ missing: "there is none" });
    await managed.load(host, source, store);
    this.catalogue = new Catalogue(store, managed);
    this.catalogue.onChange((provider, count) => void this.told.push([provider, count]));
    const note = (message: string) => void log.push(message);
    const { catalogue } = this;
    const onShrunk = (lists: AlertArgs<"list_shrunk">) =>
      void log.push(`shrunk: ${alertText("list_shrunk", lists)}`);
    this.updates = new Updates({ host, store, catalogue, log: { info: note, warn: note }, onShrunk }, source);
    return this;
  }

  readonly send = async (request: HttpsRequest) => {
    this.asked.push(request);
    return this.answer(request);
  };

  update(force = false) {
    return this.updates.update(this.send, { force });
  }

  count(): number {
    return this.catalogue.managed.listed().length;
  }

  /** Advances the clock, a minute at a time. */
  async pass(ms: number): Promise<void> {
    for (const end = this.now + ms; this.now < end; ) {
      this.now += 60_000;
      this.uptime += 60_000;
      for (const sleeper of this.sleepers.filter(({ until }) => until <= this.uptime)) sleeper.wake();
      for (let turn = 0; turn < 20; turn++) await null;
    }
  }

  private async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper = { until: this.uptime + ms, wake: resolve };
    this.sleepers.push(sleeper);
    signal?.addEventListener("abort", () => resolve());
    await promise;
    this.sleepers = this.sleepers.filter((other) => other !== sleeper);
  }
}

function page(body: string, etag = "", status = 200): HttpsAnswer {
  return { status, headers: etag === "" ? {} : { etag }, body };
}

function scene(work: (scene: Scene) => Promise<void>, source: string | null = ADDRESS): Promise<void> {
  return inDirectory(async (directory) => {
    const made = await new Scene(directory, source).start();
    await work(made);
    made.store.close();
  });
}

test("a list is fetched, reported, and still there after a restart without the source", () =>
  scene(async (home) => {
    expect(home.count()).toBe(0);
    expect(await home.update()).toEqual({ changed: true, servers: 4, skipped: 0 });
    expect(home.told).toEqual([["managed", 4]]);
    expect(home.asked).toEqual([{ url: ADDRESS, method: "GET", headers: { Accept: "application/json" } }]);
    await home.start();
    expect([home.count(), home.catalogue.managed.alert]).toEqual([4, null]);
  }));

test("the next update asks whether the list has changed, and reports nothing if it has not", () =>
  scene(async (home) => {
    await home.update();
    home.answer = () => page("", "", 304);
    home.now += HOUR_MS;
    expect(await home.update()).toEqual({ changed: false, servers: 4, skipped: 0 });
    expect(home.asked[1]?.headers).toEqual({ Accept: "application/json", "If-None-Match": '"four"' });
    expect(home.store.list(ADDRESS)?.fetched).toBe(home.now);
    home.answer = () => page(listOf(4), '"again"');
    expect(await home.update()).toMatchObject({ changed: false });
    expect(home.told).toEqual([["managed", 4]]);
  }));

test.each([
  ["another status", page("down", "", 503), "list.test answered with status 503 and no list"],
  [
    "a redirect",
    { ...page("", "", 302), headers: { location: "https://evil.test/" } },
    "the list may have moved",
  ],
  ["no JSON", page("<html>"), "the server list is not JSON"],
  ["an unknown format", page("{}"), "none of the known formats"],
  ["a list without a usable server", page('{"servers":[{}]}'), "has no usable WireGuard server"],
  ["304 without having been asked for it", page("", "", 304), "answered with status 304"],
])("%s is refused, and the list that there was stays, after a restart too", (_, answer, why) =>
  scene(async (home) => {
    home.answer = () => page(listOf(4));
    await home.update();
    home.answer = () => answer;
    await expect(home.update()).rejects.toThrow(why);
    expect(home.count()).toBe(4);
    await home.start();
    expect(home.count()).toBe(4);
    expect(home.told).toEqual([["managed", 4]]);
  }),
);

test("a list with less than half of the servers is used only with force", () =>
  scene(async (home) => {
    await home.update();
    home.answer = () => page(listOf(2));
    expect(await home.update()).toMatchObject({ servers: 2 });
    home.answer = () => page(listOf(4));
    await home.update();
    home.answer = () => page(listOf(1));
    const why =
      "has 1 server and the current one 4, which is kept; to use the new one: portcullis servers update --force";
    await expect(home.update()).rejects.toThrow(why);
    expect([home.count(), home.store.list(ADDRESS)?.content]).toEqual([4, listOf(4)]);
    expect(await home.update(true)).toEqual({ changed: true, servers: 1, skipped: 0 });
    await home.start();
    expect(home.count()).toBe(1);
  }));

test("a file is read again, by the same rules", () =>
  scene(async (home) => {
    await expect(home.update()).rejects.toThrow("/list.json is missing or cannot be read");
    home.files["/list.json"] = listOf(4);
    expect(await home.update()).toEqual({ changed: true, servers: 4, skipped: 0 });
    home.files["/list.json"] = listOf(1);
    await expect(home.update()).rejects.toThrow("which is kept");
    expect(home.asked).toEqual([]);
  }, "/list.json"));

test("if there is no list, the operator is told so", () =>
  scene(async (home) => {
    await expect(home.update()).rejects.toThrow(GatewayError);
  }, null));

test("while the tunnel is up the list is refreshed twice a day, and soon if there is none", () =>
  scene(async (home) => {
    home.updates.tunnelIs(true, home.send);
    await home.pass(2 * 60_000);
    expect([home.asked.length, home.count()]).toEqual([1, 4]);
    await home.pass(11 * HOUR_MS);
    expect(home.asked).toHaveLength(1);
    await home.pass(26 * HOUR_MS);
    expect(home.asked).toHaveLength(4);
  }));

test("without a tunnel nothing is fetched, and the next tunnel does not fetch a list that is fresh", () =>
  scene(async (home) => {
    home.updates.tunnelIs(true, home.send);
    await home.pass(2 * 60_000);
    home.updates.tunnelIs(false, home.send);
    await home.pass(6 * HOUR_MS);
    home.updates.tunnelIs(true, home.send);
    await home.pass(5 * HOUR_MS);
    expect(home.asked).toHaveLength(1);
    home.updates.tunnelIs(false, home.send);
    await home.pass(48 * HOUR_MS);
    expect(home.asked).toHaveLength(1);
  }));

test("after a failure it is tried once an hour, and a shrunken list is reported", () =>
  scene(async (home) => {
    home.updates.tunnelIs(true, home.send);
    await home.pass(2 * 60_000);
    home.answer = () => page(listOf(1));
    await home.pass(14 * HOUR_MS);
    expect(home.asked).toHaveLength(4);
    expect(home.log.at(-1)).toStartWith("shrunk: the new list of the VPN account's servers has 1 server");
    home.answer = () => page("", "", 500);
    await home.pass(HOUR_MS);
    expect(home.log.at(-1)).toContain("could not be refreshed: list.test answered with status 500");
    expect(home.count()).toBe(4);
  }));

test("a database that cannot be read is logged, and an hour later the list is fetched all the same", () =>
  scene(async (home) => {
    const { store } = home;
    const read = store.fetchedAt.bind(store);
    store.fetchedAt = () => {
      throw new Error("disk I/O error");
    };
    home.updates.tunnelIs(true, home.send);
    await home.pass(2 * 60_000);
    expect(home.log).toEqual([
      "the list of the VPN account's servers could not be refreshed: disk I/O error",
    ]);
    store.fetchedAt = read;
    await home.pass(HOUR_MS);
    expect([home.asked.length, home.count()]).toEqual([1, 4]);
  }));

test("after a failure a tunnel that flaps does not bring the next attempt forward", () =>
  scene(async (home) => {
    home.answer = () => page("", "", 500);
    home.updates.tunnelIs(true, home.send);
    await home.pass(2 * 60_000);
    expect(home.asked).toHaveLength(1);
    home.answer = () => page(listOf(4));
    for (let flap = 0; flap < 3; flap++) {
      home.updates.tunnelIs(false, home.send);
      home.updates.tunnelIs(true, home.send);
      await home.pass(25 * 60_000);
    }
    expect([home.asked.length, home.count()]).toEqual([2, 4]);
  }));

test("a clock that is set back does not delay a refresh for years", () =>
  scene(async (home) => {
    home.now += 1_000 * HOUR_MS;
    await home.update();
    home.now = NOW;
    home.updates.tunnelIs(true, home.send);
    await home.pass(61 * 60_000);
    expect(home.asked).toHaveLength(2);
  }));

test("a list in a file is not refreshed by the tunnel", () =>
  scene(async (home) => {
    home.updates.tunnelIs(true, home.send);
    await home.pass(24 * HOUR_MS);
    expect(home.asked).toEqual([]);
  }, "/list.json"));
