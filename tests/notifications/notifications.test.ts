import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import type { AlertCode } from "../../src/base/alert.ts";
import { alertText } from "../../src/base/alert-rows.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { ADDED_TARGETS, Notifications } from "../../src/notifications/notifications.ts";
import { Store } from "../../src/store/store.ts";
import type { HttpsAnswer, HttpsRequest } from "../../src/system/host.ts";
import type { State } from "../../src/tunnel/state.ts";
import { FakeHost } from "../fake/host.ts";
import { inDirectory } from "../tunnel/directory.ts";

const LAN = "http://192.168.7.5/message?token=LANSECRET";
const FAR = "ntfy://:FARSECRET@push.example.com/TopicSecret";
const SECRETS = /LANSECRET|FARSECRET|TopicSecret/;

const UP = { name: "connected", unanswered: null } as State;
const EMPTY = { name: "connected", unanswered: 1 } as State;
const DOWN = { name: "reconnecting" } as State;
const OFF = { name: "disconnected" } as State;

/** Notifications on a clock that stands unless a test lets time go by, and services that take them. */
class World {
  readonly host = new FakeHost(Date.UTC(2026, 0, 2, 3, 9));
  readonly lines: string[] = [];
  readonly changes: string[] = [];
  readonly sent: { host: string; title: string; text: string }[] = [];
  headline: string | null = null;
  /** What a service answers, by host; those that are missing take everything. */
  readonly answers = new Map<string, () => Promise<HttpsAnswer>>();
  /** How often each was tried. */
  readonly tries = new Map<string, number>();
  isUp = true;
  store: Store;
  notifications: Notifications;
  stopping = new AbortController();

  constructor(
    private readonly directory: string,
    private readonly addresses: readonly string[],
  ) {
    this.host.patient = true;
    this.store = Store.open(directory, 0);
    this.notifications = this.fresh();
  }

  start(): Promise<void> {
    return this.notifications.start(this.stopping.signal);
  }

  /** As systemd does it, or a kill, which saves nothing. */
  async restart(how: "stop" | "kill"): Promise<void> {
    this.stopping.abort();
    if (how === "stop") this.notifications.save();
    this.store.close();
    this.host.kill();
    this.store = Store.open(this.directory, 0);
    this.stopping = new AbortController();
    this.notifications = this.fresh();
    await this.start();
  }

  alert(code: AlertCode, message: string): void {
    const at = new Date(this.host.now()).toISOString();
    this.notifications.tell({ type: "security_alert", payload: { code, message, at } });
  }

  /** The texts that a service got since the last call. */
  texts(host: string): string[] {
    const own = this.sent.filter((each) => each.host === host);
    for (const each of own) this.sent.splice(this.sent.indexOf(each), 1);
    return own.map(({ text }) => text);
  }

  private fresh(): Notifications {
    const note = (message: string) => void this.lines.push(message);
    return new Notifications({
      host: this.host,
      store: this.store,
      log: { info: note, warn: note },
      hostname: "pi",
      addresses: this.addresses,
      send: (request) => this.send(request),
      isOpenTo: ({ url }) => url.startsWith("http://") || this.isUp,
      headline: async () => this.headline,
      onChange: (change) => void this.changes.push(alertText("notifications_changed", change)),
    });
  }

  private async send({ url, body = "{}" }: HttpsRequest): Promise<HttpsAnswer> {
    const { hostname } = new URL(url);
    this.tries.set(hostname, (this.tries.get(hostname) ?? 0) + 1);
    const answer = (await this.answers.get(hostname)?.()) ?? { status: 200, headers: {}, body: "" };
    const { title, message: text } = JSON.parse(body);
    if (answer.status === 200) this.sent.push({ host: hostname, title, text });
    return answer;
  }
}

async function withWorld(addresses: readonly string[], work: (world: World) => Promise<void>): Promise<void> {
  await inDirectory(async (directory) => {
    const world = new World(directory, addresses);
    await world.start();
    await work(world);
    world.store.close();
  });
}

const [NEAR_HOST, FAR_HOST] = ["192.168.7.5", "push.example.com"];
const MINUTE_MS = 60_000;

test("an outage is told on the LAN while it lasts, and elsewhere afterwards, in one sentence", () =>
  withWorld([LAN, FAR], async (world) => {
    const { host, notifications } = world;
    notifications.see("main", UP, null);
    await host.pass(MINUTE_MS);
    world.isUp = false;
    notifications.see("main", DOWN, "the server is silent");
    await host.pass(4 * MINUTE_MS);
    expect(world.texts(NEAR_HOST)).toEqual([
      "The main tunnel has been down since 3:10: nothing goes through it. Reason: the server is silent.",
    ]);
    expect(world.tries.get(FAR_HOST)).toBeUndefined();
    world.isUp = true;
    notifications.see("main", UP, null);
    await host.pass(MINUTE_MS);
    const [near, far] = [world.texts(NEAR_HOST), world.texts(FAR_HOST)];
    expect(far).toEqual(["The main tunnel was down from 3:10 to 3:14. Reason: the server is silent."]);
    expect(near).toEqual(far);
    expect(world.lines).toEqual([]);
  }));

test("the title says what is true of the home when the message is sent, and nothing that is not known", () =>
  withWorld([LAN], async (world) => {
    const titleNow = async (headline: string | null) => {
      world.headline = headline;
      world.alert("firewall_altered", "The firewall was altered.");
      await world.host.pass(20 * MINUTE_MS);
      return world.sent.splice(0).map(({ title }) => title);
    };
    expect(await titleNow(null)).toEqual(["Portcullis on pi"]);
    expect(await titleNow("37 devices have no internet")).toEqual([
      "Portcullis on pi: 37 devices have no internet",
    ]);
  }));

test("a tunnel that becomes slow or lossy is told with the reason, and that it is good again", () =>
  withWorld([LAN], async (world) => {
    const { host, notifications } = world;
    const tell = (state: "good" | "slow" | "lossy", round_trip_ms: number | null, reason: string | null) =>
      notifications.tell({
        type: "quality",
        payload: {
          ...{ tunnel: "tv", state, round_trip_ms, variation_ms: 2, loss_percent: 12.5, reason },
          at: new Date(host.now()).toISOString(),
        },
      });
    tell("slow", 412, "The uplink is slow itself.");
    await host.pass(MINUTE_MS);
    expect(world.texts(NEAR_HOST)).toEqual([
      "The tunnel tv is slow (412 ms, 12.5 % lost). The uplink is slow itself.",
    ]);
    await host.pass(20 * MINUTE_MS);
    tell("lossy", null, "It is the line.");
    tell("good", 20, null);
    await host.pass(MINUTE_MS);
    expect(world.texts(NEAR_HOST)).toEqual([
      "The tunnel tv is lossy (12.5 % lost). It is the line.\nThe tunnel tv is good (20 ms, 12.5 % lost) again.",
    ]);
  }));

test("a tunnel that carries nothing is told at once, and that it carries something again", () =>
  withWorld([LAN], async (world) => {
    const { host, notifications } = world;
    notifications.see("main", UP, null);
    await host.pass(MINUTE_MS);
    notifications.see("main", EMPTY, "se-1 answers handshakes, but nothing else comes back through it");
    await host.pass(11_000);
    const reason = "Reason: se-1 answers handshakes, but nothing else comes back through it.";
    expect(world.texts(NEAR_HOST)).toEqual([
      `The main tunnel has carried nothing since 3:10. ${reason} Try another server.`,
    ]);
    await host.pass(4 * MINUTE_MS);
    notifications.see("main", UP, null);
    await host.pass(20 * MINUTE_MS);
    expect(world.texts(NEAR_HOST).at(-1)).toBe(
      `The main tunnel carried nothing from 3:10 to 3:14. ${reason}`,
    );
  }));

test("a tunnel that was down for less than a minute and then carries nothing is told", () =>
  withWorld([LAN], async (world) => {
    const { host, notifications } = world;
    notifications.see("main", DOWN, "lost");
    await host.pass(30_000);
    notifications.see("main", EMPTY, "empty");
    await host.pass(11_000);
    expect(world.texts(NEAR_HOST)).toEqual([
      "The main tunnel has been down since 3:09: nothing goes through it. Reason: lost.",
    ]);
  }));

test("an outage of less than a minute, a disconnect and a failed connect are not told", () =>
  withWorld([LAN], async ({ host, notifications, ...world }) => {
    notifications.see("main", DOWN, "lost");
    await host.pass(59_000);
    notifications.see("main", { name: "connecting", server: {}, former: DOWN } as State, null);
    notifications.see("main", UP, null);
    for (const state of [OFF, { name: "failed" } as State, UP]) {
      await host.pass(5 * MINUTE_MS);
      notifications.see("main", state, null);
    }
    await host.pass(5 * MINUTE_MS);
    expect(world.sent).toEqual([]);
  }));

test("a dial out of an outage does not end it", () =>
  withWorld([LAN], async (world) => {
    const { host, notifications } = world;
    notifications.see("main", DOWN, null);
    for (let minute = 0; minute < 3; minute++) {
      await host.pass(30_000);
      notifications.see("main", { name: "connecting", server: {}, former: DOWN } as State, null);
      await host.pass(30_000);
      notifications.see("main", DOWN, null);
    }
    notifications.see("main", OFF, null);
    await host.pass(MINUTE_MS);
    expect(world.texts(NEAR_HOST)).toEqual([
      "The main tunnel has been down since 3:09: nothing goes through it.",
      "The main tunnel was down from 3:09 until it was disconnected at 3:12.",
    ]);
  }));

test("an outage in which the date is set is as long as it was", () =>
  withWorld([LAN], async (world) => {
    const { host, notifications } = world;
    notifications.see("main", DOWN, null);
    await host.pass(MINUTE_MS);
    host.setClock(30 * MINUTE_MS);
    await host.pass(MINUTE_MS);
    notifications.see("main", UP, null);
    await host.pass(MINUTE_MS);
    expect(world.texts(NEAR_HOST).at(-1)).toBe("The main tunnel was down from 3:39 to 3:41.");
  }));

test.each(["stop", "kill"] as const)(
  "after a %s of the service, what was not sent is sent, and an outage goes on",
  (how) =>
    withWorld([LAN, FAR], async (world) => {
      const { host } = world;
      world.isUp = false;
      world.notifications.see("main", DOWN, null);
      world.notifications.see("tv", DOWN, null);
      world.alert("direct_changed", "The TV leaves directly.");
      await host.pass(2 * MINUTE_MS);
      expect(world.texts(NEAR_HOST).length).toBeGreaterThan(0);
      await world.restart(how);
      world.notifications.see("main", DOWN, null);
      world.notifications.see("tv", UP, null);
      await host.pass(2 * MINUTE_MS);
      world.isUp = true;
      world.notifications.see("main", UP, null);
      await host.pass(MINUTE_MS);
      expect(world.texts(FAR_HOST)).toEqual([
        "3:09: The TV leaves directly.\nThe main tunnel was down from 3:09 to 3:13.\nThe tunnel tv was down from 3:09 to 3:11.",
      ]);
      expect(world.texts(NEAR_HOST)).toEqual([
        "The tunnel tv was down from 3:09 to 3:11.",
        "The main tunnel was down from 3:09 to 3:13.",
      ]);
    }),
);

test("a target that is down costs the others nothing, is tried less and less, and gets everything later", () =>
  withWorld([LAN, FAR], async (world) => {
    const { host } = world;
    // Never answers at all.
    world.answers.set(NEAR_HOST, () => new Promise(() => {}));
    world.alert("other_router", "One.");
    await host.pass(MINUTE_MS);
    expect(world.texts(FAR_HOST)).toEqual(["One."]);
    expect(world.tries.get(NEAR_HOST)).toBe(1);
  }));

test("failures are logged once, without secrets, and pauses grow to an hour", () =>
  withWorld([FAR], async (world) => {
    const { host } = world;
    world.answers.set(FAR_HOST, () => {
      throw new GatewayError("unable", "the request to push.example.com failed: connection refused");
    });
    world.alert("firewall_altered", "One.");
    await host.pass(24 * 60 * MINUTE_MS);
    expect(world.tries.get(FAR_HOST)).toBeWithin(25, 35);
    world.answers.delete(FAR_HOST);
    await host.pass(61 * MINUTE_MS);
    expect(world.texts(FAR_HOST)).toEqual(["3:09 on 2026-01-02: One."]);
    expect(world.lines).toEqual([
      "a notification to ntfy at push.example.com could not be sent: the request to push.example.com failed: connection refused; it is kept and sent later",
      "notifications to ntfy at push.example.com arrive again",
    ]);
  }));

test.each([
  [302, "it answered 302 and wants to redirect, which is not followed"],
  [401, "it answered 401"],
  [500, "it answered 500"],
])("an answer with status %i is a failure", (status, why) =>
  withWorld([LAN], async (world) => {
    world.answers.set(NEAR_HOST, async () => ({ status, headers: {}, body: "" }));
    expect(await world.notifications.test()).toEqual([
      {
        ...{ target: "gotify at 192.168.7.5", sent: false, error: why },
        error_args: { what: "target_refused", status, redirects: status === 302 ? "yes" : "no" },
      },
    ]);
  }),
);

test("a test sends to every target at once, and names those that cannot be used", () =>
  withWorld([LAN, "/etc/notify", "/etc/none", "ntfy://push.example.com"], async (world) => {
    await world.restart("stop");
    expect(await world.notifications.test()).toMatchObject([
      { target: "gotify at 192.168.7.5", sent: true, error: null },
      { target: "/etc/notify", sent: false, error: "the file cannot be read" },
      { target: "/etc/none", sent: false, error: "the file cannot be read" },
      { target: "address 4", sent: false, error: "ntfy needs a topic: ntfy://host/topic" },
    ]);
    expect(world.texts(NEAR_HOST)).toEqual(["This is a test. Notifications from this gateway arrive here."]);
  }));

test("a file has an address on each line, with comments; one that is there twice is one target", () =>
  withWorld(["/etc/notify", FAR], async (world) => {
    world.host.files.set("/etc/notify", `# mine\n\n  ${FAR}\r\nhttp://nas.lan/LANSECRET\n${LAN}\n`);
    await world.restart("stop");
    expect((await world.notifications.test()).map(({ target }) => target)).toEqual([
      "ntfy at push.example.com",
      "gotify at 192.168.7.5",
      "/etc/notify, line 4",
    ]);
    expect(world.lines.at(-1)).toBe(
      "--notify: /etc/notify, line 4: plain http is for an IP address of the LAN; use https",
    );
  }));

test("neither the log nor the database has what is secret in an address", () =>
  withWorld([LAN, FAR, "http://nas.lan/LANSECRET"], async (world) => {
    world.answers.set(NEAR_HOST, async () => ({ status: 401, headers: {}, body: "" }));
    world.isUp = false;
    world.alert("firewall_altered", "One.");
    await world.host.pass(MINUTE_MS);
    const stored = world.store.read("notifications") ?? "";
    expect(stored).toContain("One.");
    expect(stored).not.toMatch(SECRETS);
    expect(world.lines.length).toBeGreaterThan(1);
    expect(world.lines.join("\n")).not.toMatch(SECRETS);
  }));

test("a target that was taken out of the settings is forgotten, and damaged data are no obstacle", () =>
  withWorld([LAN], async (world) => {
    world.store.write(
      "notifications",
      '{"targets":{"other":{"pending":[],"told":{},"sent":[]}},"outages":[]}',
    );
    await world.restart("stop");
    world.alert("firewall_altered", "One.");
    await world.host.pass(MINUTE_MS);
    expect(Object.keys(JSON.parse(world.store.read("notifications") ?? "").targets)).toHaveLength(1);
    world.store.write("notifications", '{"targets":[');
    await world.restart("kill");
    world.alert("routing_altered", "Two.");
    await world.host.pass(MINUTE_MS);
    expect(world.texts(NEAR_HOST)).toEqual(["One.", "Two."]);
  }));

test("without addresses nothing is watched, kept or sent", () =>
  withWorld([], async (world) => {
    world.notifications.see("main", DOWN, null);
    world.alert("firewall_altered", "One.");
    await world.host.pass(60 * MINUTE_MS);
    world.notifications.save();
    expect(world.store.read("notifications")).toBeNull();
    expect(await world.notifications.test()).toEqual([]);
  }));

test("an added address that a setting has too, or that cannot be used, outlives the next change, and can be removed", () =>
  inDirectory(async (directory) => {
    const first = new World(directory, []);
    await first.start();
    await first.notifications.add({ name: "phone", address: FAR }, "a test");
    await first.restart("stop");
    first.store.close();
    const second = new World(directory, [FAR]);
    await second.start();
    expect(second.notifications.list()).toMatchObject([{ name: null }]);
    await second.notifications.add({ name: "tablet", address: LAN }, "a test");
    expect(second.notifications.names()).toEqual(["phone", "tablet"]);
    await expect(second.notifications.add({ name: "phone", address: LAN }, "a test")).rejects.toThrow(
      /exists/,
    );
    await second.notifications.remove("phone", "a test");
    expect(second.notifications.names()).toEqual(["tablet"]);
    await expect(second.notifications.remove("phone", "a test")).rejects.toThrow(/no address/);
    second.store.close();
  }));

test("on a disk that takes no writes nothing is added, and what is removed gets nothing more and is saved later", () =>
  withWorld([], async (world) => {
    const { notifications, store, host, stopping } = world;
    await notifications.add({ name: "phone", address: LAN }, "a test");
    void notifications.watch(stopping.signal);
    const { database } = store as unknown as { database: Database };
    database.run("PRAGMA query_only = ON");
    const added = notifications.add({ name: "tablet", address: FAR }, "a test");
    await expect(added).rejects.toThrow("read-only");
    expect(notifications.names()).toEqual(["phone"]);
    await expect(notifications.remove("phone", "a test")).rejects.toThrow("a restart would undo it");
    await host.pass(60_000);
    expect([notifications.list(), ADDED_TARGETS.read(store)]).toMatchObject([[], [{ name: "phone" }]]);
    await expect(notifications.remove("phone", "a test")).rejects.toThrow("a restart would undo it");
    database.run("PRAGMA query_only = OFF");
    const { scrub } = store;
    let scrubs = 0;
    store.scrub = () => {
      scrubs += 1;
      scrub.call(store);
    };
    await host.pass(15_000);
    expect([ADDED_TARGETS.read(store), scrubs]).toEqual([[], 1]);
    expect(world.changes).toHaveLength(2);
    stopping.abort();
  }));

test("an address that cannot be used is listed once, even if the start fails at first", () =>
  inDirectory(async (directory) => {
    const world = new World(directory, ["nowhere", FAR]);
    const { read } = world.store;
    world.store.read = (key) => {
      if (key === "notifications") throw new Error("the disk cannot be read");
      return read.call(world.store, key);
    };
    await expect(world.start()).rejects.toThrow("the disk cannot be read");
    world.store.read = read;
    await world.start();
    expect(world.notifications.list()).toHaveLength(2);
    world.store.close();
  }));
