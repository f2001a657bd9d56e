import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { exitMarkOf } from "../../src/network/slot.ts";
import { Quality } from "../../src/tunnel/quality.ts";
import { QUALITY, type QualityChoice, QualitySettings } from "../../src/tunnel/quality-settings.ts";
import type { Tunnel } from "../../src/tunnel/tunnel.ts";
import { FakeHost } from "../fake/host.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, ONE, TWO } from "./gateway.ts";

const CHOICE: QualityChoice = { on: true, everySeconds: 10, slowMs: 300, lossyPercent: 10 };
const EVERY_MS = 10_000;
const PATIENCE_MS = 60_000;
setDefaultTimeout(PATIENCE_MS);

describe("what the answers tell", () => {
  /** Asks all these questions, one each 10 s; null is one without an answer. */
  function after(...all: (number | null)[]) {
    return atInterval(EVERY_MS, ...all);
  }
  function atInterval(everyMs: number, ...all: (number | null)[]) {
    const host = new FakeHost();
    const quality = new Quality({
      host,
      settings: { choice: { ...CHOICE, everySeconds: everyMs / 1_000 } },
    });
    const states: (string | undefined)[] = [];
    quality.onChange(() => states.push(quality.shown?.state));
    const ask = async (more: readonly (number | null)[]) => {
      for (const ms of more) {
        await host.sleep(everyMs);
        quality.add(ms);
      }
    };
    const asked = ask(all);
    return { host, quality, states, ask, asked };
  }
  const many = (count: number, ms: number | null) => Array.from({ length: count }, () => ms);

  test("is the median, the average step from one to the next, and the part without an answer", async () => {
    const { quality, asked } = after(20, 24, null, 22, 900);
    await asked;
    expect(quality.shown).toEqual({
      state: "good",
      round_trip_ms: 23,
      variation_ms: 294.7,
      loss_percent: 20,
    });
  });

  test("is nothing as long as nobody has ever answered, which is not lossy either", async () => {
    const { quality, states, ask, asked } = after(...many(20, null));
    await asked;
    expect(quality.shown).toBeNull();
    expect(quality.isMute).toBe(true);
    await ask([20]);
    expect(quality.isMute).toBe(false);
    expect(states).toEqual(["lossy"]);
  });

  test("is forgotten after a quarter of an hour", async () => {
    const { host, quality, asked } = after(20);
    await asked;
    await host.sleep(900_000);
    expect(quality.shown?.round_trip_ms).toBe(20);
    await host.sleep(1);
    expect(quality.shown).toBeNull();
  });

  test("is lossy from a tenth on, and until it is half of that; two lost ones tell nothing", async () => {
    const { states, ask, asked } = after(...many(20, 20), null, null);
    await asked;
    expect(states).toEqual([]);
    await ask([null]);
    expect(states).toEqual(["lossy"]);
    // Three of thirty, then two, and then one.
    await ask(many(27, 20));
    expect(states).toEqual(["lossy"]);
    await ask(many(2, 20));
    expect(states).toEqual(["lossy", "good"]);
  });

  test("is slow from the limit on, and until it is a fifth below", async () => {
    const { states, ask, asked } = after(...many(30, 290));
    await asked;
    expect(states).toEqual([]);
    await ask(many(16, 310));
    expect(states).toEqual(["slow"]);
    await ask(many(30, 250));
    expect(states).toEqual(["slow"]);
    await ask(many(16, 230));
    expect(states).toEqual(["slow", "good"]);
  });

  test.each([
    ["slow", many(30, 400), 5, 4],
    ["lossy", [...many(20, 20), ...many(10, null)], 10, 9],
  ] as const)("stays %s until enough new answers tell that it has ended", async (state, all, enough, few) => {
    const { host, quality, states, ask, asked } = after(...all);
    await asked;
    expect(states).toEqual([state]);
    await host.sleep(1_000_000);
    await ask(many(few, 20));
    expect(states).toEqual([state]);
    expect(quality.measured?.isJudged).toBe(false);
    await ask(many(enough - few, 20));
    expect(states).toEqual([state, "good"]);
  });

  test("may be slow and lossy at once, is then told to be lossy, and slow once nothing is lost any more", async () => {
    const { host, quality, states, ask, asked } = after(...many(10, 400), ...many(3, null));
    await asked;
    expect([states, quality.is("slow"), quality.is("lossy")]).toEqual([["slow", "lossy"], true, true]);
    // Above the end of slow, below its begin.
    await ask(many(30, 250));
    expect([states.at(-1), quality.is("slow"), quality.is("lossy")]).toEqual(["slow", true, false]);
    await host.sleep(1_000_000);
    expect(quality.is("slow")).toBe(false);
  });

  test("tells a state at any interval", async () => {
    for (const seconds of [60, 90, 300]) {
      const lossy = atInterval(1_000 * seconds, ...many(7, 20), ...many(3, null));
      await lossy.asked;
      expect([seconds, lossy.states]).toEqual([seconds, ["lossy"]]);
    }
  });

  test("is judged once both its loss and its round trip can be", async () => {
    const { quality, ask, asked } = after(...many(9, 20));
    expect(quality.measured).toBeNull();
    await asked;
    expect(quality.measured?.isJudged).toBe(false);
    await ask([20]);
    expect(quality.measured).toEqual({ quality: quality.shown as never, isJudged: true });
  });

  test("does not flap around a limit", async () => {
    const { states, ask, asked } = after(...many(30, 20));
    await asked;
    for (let round = 0; round < 20; round++) await ask([null, ...many(9, 295 + (round % 2) * 10)]);
    expect(states).toEqual(["lossy"]);
  });

  test("that nothing comes back any more is lossy, and has no round trip", async () => {
    const { quality, ask, asked } = after(...many(30, 20));
    await asked;
    await ask(many(30, null));
    expect(quality.shown).toEqual({
      state: "lossy",
      round_trip_ms: null,
      variation_ms: null,
      loss_percent: 100,
    });
  });
});

/** Runs `work` on a gateway that is connected to server one and watched, and whose tunnel is used. */
function onGateway(
  work: (host: FakeHost, tunnel: Tunnel, gateway: Gateway) => Promise<void>,
  native = true,
): Promise<void> {
  return inDirectory(async (directory) => {
    const host = new FakeHost();
    host.native = native;
    host.links.get("up0")?.addresses.push("198.51.100.2/24");
    const gateway = await Gateway.watched(directory, host);
    host.trips.push(...Array.from({ length: 1_000 }, () => 20));
    host.routerTrips.push(...Array.from({ length: 1_000 }, () => 1));
    await gateway.controller.connect(ONE);
    host.busy = true;
    await host.pass(3_000);
    await work(host, gateway.tunnels.main, gateway);
  });
}

describe.each([
  ["the kernel", true],
  ["a program", false],
])("a tunnel made by %s", (_, native) => {
  test("is measured at its resolver, by its interface and with its exit's mark; the uplink at its router", () =>
    onGateway(async (host, { quality, slot }, { tunnels }) => {
      expect(host.tripsTo).toEqual([{ link: "wg0", mark: exitMarkOf(slot.mark), address: "10.64.0.101" }]);
      expect(host.routerTripsTo).toEqual([{ link: "up0", own: "198.51.100.2", router: "198.51.100.1" }]);
      await host.pass(100_000);
      expect(host.tripsTo.length).toBeWithin(9, 12);
      expect(host.routerTripsTo.length).toBeWithin(9, 12);
      expect(quality.quality.shown?.round_trip_ms).toBe(20);
      expect(tunnels.uplink.quality.shown?.round_trip_ms).toBe(1);
    }, native));

  test("that nobody uses is measured every five minutes, and again within seconds once it is used", () =>
    onGateway(async (host) => {
      host.busy = false;
      await host.pass(2 * EVERY_MS);
      const before = host.tripsTo.length;
      await host.pass(1_200_000);
      expect(host.tripsTo.length - before).toBeWithin(3, 6);
      const used = host.tripsTo.length;
      host.busy = true;
      await host.pass(3 * EVERY_MS);
      expect(host.tripsTo.length - used).toBeGreaterThanOrEqual(2);
    }, native));
});

test("a resolver that answers nobody is left alone, and says nothing of the tunnel", () =>
  onGateway(async (host, { quality }) => {
    host.trips.length = 0;
    quality.quality.begin();
    await host.pass(120_000);
    const before = host.tripsTo.length;
    await host.pass(600_000);
    expect(host.tripsTo.length - before).toBeWithin(1, 4);
    expect(quality.quality.shown).toBeNull();
  }));

test("another server's quality is its own, and without a tunnel there is none", () =>
  onGateway(async (host, { quality }, { controller }) => {
    expect(quality.quality.shown?.round_trip_ms).toBe(20);
    const connecting = controller.connect(TWO);
    host.trips.splice(0, host.trips.length, 70);
    await host.pass(5_000);
    await connecting;
    expect(quality.quality.shown?.round_trip_ms).toBe(70);
    expect(host.tripsTo.at(-1)?.address).toBe("10.64.0.102");
    const ended = controller.disconnect();
    await host.pass(5_000);
    await ended;
    expect(quality.quality.shown).toBeNull();
  }));

test("what is switched off asks nobody and shows nothing; other limits hold at once", () =>
  onGateway(async (host, { quality }, { tunnels, qualitySettings }) => {
    const states: (string | undefined)[] = [];
    quality.quality.onChange(() => states.push(quality.quality.shown?.state));
    await host.pass(100_000);
    qualitySettings.set({ ...CHOICE, slowMs: 15 });
    tunnels.qualityChanged();
    expect(states).toEqual(["slow"]);
    qualitySettings.set({ ...CHOICE, on: false });
    tunnels.qualityChanged();
    expect([quality.quality.shown, tunnels.uplink.quality.shown]).toEqual([null, null]);
    const asked = [host.tripsTo.length, host.routerTripsTo.length];
    await host.pass(600_000);
    expect([host.tripsTo.length, host.routerTripsTo.length]).toEqual(asked);
  }));

test("a choice survives a restart, and one that cannot be read is none", () => {
  const texts = new Map<string, string>();
  const store = {
    read: (key: string) => texts.get(key) ?? null,
    write: (key: string, text: string) => void texts.set(key, text),
  };
  expect(new QualitySettings(store).choice).toEqual(CHOICE);
  const choice = { on: false, everySeconds: 60, slowMs: 150, lossyPercent: 5 };
  new QualitySettings(store).set(choice);
  expect(new QualitySettings(store).choice).toEqual(choice);
  for (const text of ["", "on", "on, every 1 s, slow from 300 ms, lossy from 10 %", `${QUALITY.unset} `]) {
    expect(QUALITY.isValid(text)).toBe(false);
    texts.set(QUALITY.key, text);
    expect(new QualitySettings(store).choice).toEqual(CHOICE);
  }
});
