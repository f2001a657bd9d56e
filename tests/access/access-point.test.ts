import { expect, test } from "bun:test";
import { AccessPoint } from "../../src/access/access-point.ts";
import type { ClaimStatus } from "../../src/access/schema.ts";
import { TOKENS } from "../../src/access/tokens.ts";
import { FakeHost } from "../fake/host.ts";
import { newLink } from "../fake/link.ts";

const MINUTE_MS = 60_000;
const OWNER = TOKENS.format([
  { name: "a", hash: "0".repeat(64), read_only: false, passphrase: "x", created_at: "2026-01-01" },
] as never);

/**
 * A flashed gateway with these ports, each with a cable (`c`) or without one (`-`). What its service does at its start is no
 * event.
 */
function flashed(plugs: string, radios = ["wlan0"]) {
  const host = new FakeHost();
  host.patient = true;
  const plug = (text: string) => {
    for (const [number, what] of [...text].entries())
      host.links.set(`eth${number}`, newLink({ up: true, carrier: what === "c" }));
  };
  plug(plugs);
  const insert = (radio: string) => void host.links.set(radio, newLink({}));
  radios.forEach(insert);
  const claim: { state: ClaimStatus["claim"] } = { state: "open" };
  const texts = new Map<string, string>();
  const told: string[] = [];
  const accessPoint = new AccessPoint({
    ...{ host, claim, store: { read: (key: string) => texts.get(key) ?? null } },
    log: { info: () => {}, warn: (text) => void told.push(text) },
  });
  const events: string[] = [];
  let [works, closing, closed] = [true, Promise.resolve(), 0];
  const root = {
    openAccessPoint: async (radio: string) => {
      events.push(`open ${radio}`);
      // The card leaves this network.
      if (works) host.links.delete(radio);
    },
    closeAccessPoint: async () => {
      if (closed++ === 0) return;
      events.push("close");
      await closing;
      radios.forEach(insert);
    },
  };
  const ending = new AbortController();
  const watching = accessPoint.watch(root, ending.signal);
  return {
    ...{ host, claim, events, told, accessPoint, plug, insert, watching },
    pass: (ms: number) => host.pass(ms),
    own: () => {
      claim.state = "over";
      texts.set(TOKENS.key, OWNER);
    },
    fail: () => {
      works = false;
    },
    repair: () => {
      works = true;
    },
    holdClosing: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      closing = promise;
      return resolve;
    },
    end: () => ending.abort(),
  };
}

test("a minute without a cable opens it, and not before", async () => {
  const { pass, events, end } = flashed("--");
  await pass(55_000);
  expect(events).toEqual([]);
  await pass(10_000);
  expect(events).toEqual(["open wlan0"]);
  await pass(5 * MINUTE_MS);
  expect(events).toEqual(["open wlan0"]);
  end();
});

test("a cable at any port, also one that comes and goes, keeps it closed for another minute", async () => {
  const { pass, plug, events, end } = flashed("-c");
  await pass(3 * MINUTE_MS);
  plug("--");
  await pass(50_000);
  plug("c-");
  await pass(6_000);
  plug("--");
  await pass(55_000);
  expect(events).toEqual([]);
  await pass(10_000);
  expect(events).toEqual(["open wlan0"]);
  end();
});

test("without a Wi-Fi card nothing opens, and one that is plugged in later opens it", async () => {
  const { pass, insert, events, end } = flashed("-", []);
  await pass(3 * MINUTE_MS);
  expect(events).toEqual([]);
  insert("wlan0");
  await pass(6_000);
  expect(events).toEqual(["open wlan0"]);
  end();
});

test("a Wi-Fi card that root has connected to a network is left to it", async () => {
  const { host, pass, insert, events, end } = flashed("-", []);
  host.links.set("wlan0", newLink({ up: true }));
  await pass(3 * MINUTE_MS);
  expect(events).toEqual([]);
  insert("wlan1");
  await pass(6_000);
  expect(events).toEqual(["open wlan1"]);
  end();
});

test("a cable ends it for good, and a plug that slips in for a moment does not", async () => {
  const { pass, plug, events, watching } = flashed("-");
  await pass(70_000);
  plug("c");
  await pass(5_000);
  plug("-");
  await pass(MINUTE_MS);
  expect(events).toEqual(["open wlan0"]);
  plug("c");
  await pass(15_000);
  expect(events).toEqual(["open wlan0", "close"]);
  plug("-");
  await pass(5 * MINUTE_MS);
  await watching;
  expect(events).toEqual(["open wlan0", "close"]);
});

test("the claim ends it two minutes later, also if a cable comes meanwhile, and it stays closed", async () => {
  const { pass, plug, own, events, watching } = flashed("-");
  await pass(70_000);
  own();
  await pass(MINUTE_MS);
  plug("c");
  await pass(50_000);
  expect(events).toEqual(["open wlan0"]);
  await pass(20_000);
  expect(events).toEqual(["open wlan0", "close"]);
  plug("-");
  await pass(5 * MINUTE_MS);
  await watching;
  expect(events).toEqual(["open wlan0", "close"]);
});

test("the end of the claim's minutes ends it, and a claim that is just being saved does not", async () => {
  const home = flashed("-");
  await home.pass(70_000);
  home.claim.state = "over";
  await home.pass(4_000);
  home.own();
  await home.pass(MINUTE_MS);
  expect(home.events).toEqual(["open wlan0"]);
  home.end();
  const other = flashed("-");
  await other.pass(70_000);
  other.claim.state = "over";
  await other.pass(15_000);
  expect(other.events).toEqual(["open wlan0", "close"]);
  await other.watching;
});

test.each([
  ["a gateway that was not flashed", "none"],
  ["one whose minutes are over", "over"],
] as const)("%s never opens it", async (_, state) => {
  const { claim, pass, events, watching } = flashed("-");
  claim.state = state;
  await pass(5 * MINUTE_MS);
  await watching;
  expect(events).toEqual([]);
});

test("an owner keeps it closed, also where the card has opened the claim again", async () => {
  const { claim, own, pass, events, watching } = flashed("-");
  own();
  claim.state = "open";
  await pass(5 * MINUTE_MS);
  await watching;
  expect(events).toEqual([]);
});

test("while it closes, nobody can claim the gateway: the answer would not arrive", async () => {
  const { pass, plug, accessPoint, holdClosing, end } = flashed("-");
  await pass(70_000);
  expect(() => accessPoint.assertQuiet()).not.toThrow();
  const closed = holdClosing();
  plug("c");
  await pass(15_000);
  expect(() => accessPoint.assertQuiet()).toThrow("another change is under way");
  closed();
  await pass(1_000);
  expect(() => accessPoint.assertQuiet()).not.toThrow();
  end();
});

test("one that fails is told and tried again, and another Wi-Fi card means no failure", async () => {
  const { pass, fail, repair, events, told, end } = flashed("-", ["wlan0", "wlan1"]);
  fail();
  await pass(2 * MINUTE_MS);
  expect([events, told.length]).toEqual([["open wlan0", "close"], 1]);
  repair();
  await pass(MINUTE_MS);
  expect(events).toEqual(["open wlan0", "close", "open wlan0"]);
  await pass(3 * MINUTE_MS);
  expect(events).toEqual(["open wlan0", "close", "open wlan0"]);
  end();
});

test.each([
  ["open", 2],
  ["over", 2],
  ["none", 0],
] as const)(
  "what a restart of the service has opened again is closed, and tried until it is: %s",
  async (state, tries) => {
    const host = new FakeHost();
    host.patient = true;
    host.links.set("eth0", newLink({ up: true, carrier: true }));
    let count = 0;
    const root = {
      openAccessPoint: async () => {},
      closeAccessPoint: async () => {
        // Who has a cable may claim the gateway meanwhile.
        expect(() => accessPoint.assertQuiet()).not.toThrow();
        if (count++ === 0) throw new Error("systemd is busy");
      },
    };
    const log = { info: () => {}, warn: () => {} };
    const accessPoint = new AccessPoint({ host, log, claim: { state }, store: { read: () => null } });
    const ending = new AbortController();
    void accessPoint.watch(root, ending.signal);
    await host.pass(MINUTE_MS);
    expect(count).toBe(tries);
    ending.abort();
  },
);

test("one command that fails does not keep it open once a cable is there", async () => {
  const { host, pass, plug, events, told, end } = flashed("-");
  await pass(70_000);
  host.fails = () => "before";
  await pass(6_000);
  host.fails = () => null;
  plug("c");
  await pass(15_000);
  expect([events, told.length]).toEqual([["open wlan0", "close"], 1]);
  end();
});
