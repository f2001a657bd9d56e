import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { askedIn, type Evidence, heardIn, isDead, type Sample, weigh } from "../../src/tunnel/health.ts";
import { FakeHost } from "../fake/host.ts";
import { runs, sampled } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, ONE, server } from "./gateway.ts";

const PATIENCE_MS = 120_000;
setDefaultTimeout(PATIENCE_MS);
const ENDPOINT = "192.0.2.1:51820";
/** What the interface's user is promised. */
const NOTICED_UNDER_TRAFFIC_MS = 15_000;
const SESSION_ENDS_MS = 180_000;
/** A look comes at least this often. */
const LOOK_MS = 1_500;
/** A program is asked for its counters at least this often. */
const COUNTED_MS = 15_000;
const HOUR_MS = 3_600_000;
/** The gateway's own choice. */
const KEEPALIVE_MS = 25_000;

const QUIET: Sample = {
  at: 1_000,
  packets: null,
  data: null,
  countedAt: 1_000,
  rxBytes: 500,
  txBytes: 500,
  latestHandshake: 5,
};
const FRESH: Evidence = { heardAt: 1_000, askedAt: null };

function later(ms: number, change: Partial<Sample> = {}): Sample {
  return { ...QUIET, at: QUIET.at + ms, ...change };
}

/** What the kernel has counted, at 1 packet of so many bytes. */
function counted(receivedBytes: number, sent: number): Sample["packets"] {
  return { received: receivedBytes === 0 ? 0 : 1, receivedBytes, sent };
}

describe("the evidence after a look", () => {
  test("is as before where nothing was sent and nothing came", () => {
    expect(weigh(FRESH, QUIET, later(1_000), KEEPALIVE_MS)).toEqual(FRESH);
  });

  test.each([
    ["bytes", { rxBytes: 501 }],
    ["a handshake", { latestHandshake: 6 }],
    ["a handshake by a clock that was set back", { latestHandshake: 4 }],
  ])("is new where %s came", (_, change) => {
    const asked: Evidence = { heardAt: 1_000, askedAt: 1_000 };
    expect(weigh(asked, QUIET, later(1_000, change), KEEPALIVE_MS)).toEqual({
      heardAt: 2_000,
      askedAt: null,
    });
  });

  test("counts from the first data that nobody answers, not from the last", () => {
    const first = later(1_000, { txBytes: 700 });
    const second = later(2_000, { txBytes: 900 });
    const once = weigh(FRESH, QUIET, first, KEEPALIVE_MS);
    expect(once).toEqual({ heardAt: 1_000, askedAt: 2_000 });
    expect(weigh(once, first, second, KEEPALIVE_MS)).toEqual(once);
  });

  test("is of the kernel's packets, where it counts them, and not of bytes that were counted late", () => {
    const asked: Evidence = { heardAt: 1_000, askedAt: 1_000 };
    const before = later(0, { packets: counted(0, 7), countedAt: 0 });
    const heard = later(1_000, { packets: counted(32, 7), countedAt: 0 });
    expect(weigh(asked, before, heard, KEEPALIVE_MS)).toEqual({ heardAt: 2_000, askedAt: null });
    const late = later(1_000, { packets: counted(0, 8), countedAt: 2_000, rxBytes: 9_000 });
    expect(weigh(asked, before, late, KEEPALIVE_MS)).toEqual(asked);
    expect(weigh(FRESH, before, { ...late, txBytes: 9_000 }, KEEPALIVE_MS)).toEqual(FRESH);
  });

  test.each([
    ["one keepalive", 1_000, 25_000, 1],
    ["its keepalive and the one that is owed for data", 1_000, 10_000, 2],
    ["a keepalive each second, seen after 3 s", 3_000, 1_000, 4],
    ["all its keepalives of a minute in which nobody looked", 60_000, 25_000, 4],
  ])("asks nothing of a server that was sent %s", (_, lookMs, keepaliveMs, keepalives) => {
    const after = later(lookMs, { countedAt: QUIET.at + lookMs, txBytes: QUIET.txBytes + 32 * keepalives });
    expect(weigh(FRESH, QUIET, after, keepaliveMs)).toEqual(FRESH);
  });

  test("asks of a server that was sent the shortest question there is, a TCP acknowledgement", () => {
    expect(askedIn(QUIET, later(1_000, { txBytes: QUIET.txBytes + 32 + 48 }), KEEPALIVE_MS)).toBe(true);
  });

  test("is busy where packets go and come, of which the kernel counts no bytes", () => {
    const before = later(0, { packets: counted(0, 7) });
    expect(askedIn(before, later(1_000, { packets: counted(32, 8) }), KEEPALIVE_MS)).toBe(true);
    expect(askedIn(before, later(1_000, { packets: counted(32, 7) }), KEEPALIVE_MS)).toBe(false);
    expect(heardIn(before, later(1_000, { packets: counted(32, 7) }))).toBe(true);
  });

  test.each([1, 2, 3])(
    "is not of a server of which nothing but %d attempts at a handshake came",
    (attempts) => {
      const bytes = 148 * attempts;
      const asked: Evidence = { heardAt: 1_000, askedAt: 1_000 };
      const byProgram = later(1_000, { rxBytes: QUIET.rxBytes + bytes });
      expect(weigh(asked, QUIET, byProgram, KEEPALIVE_MS)).toEqual(asked);
      const before = later(0, { packets: counted(0, 7) });
      const came = (receivedBytes: number, received: number) =>
        heardIn(before, later(1_000, { packets: { received, receivedBytes, sent: 7 } }));
      expect(came(bytes, attempts)).toBe(false);
      expect(came(bytes + 32, attempts + 1)).toBe(true);
    },
  );

  test("is of a server that does not pad its data, whose echo reply and keepalive have the bytes of an attempt", () => {
    const before = later(0, { packets: counted(0, 7) });
    const both = { received: 2, receivedBytes: 32 + 84 + 32, sent: 7 };
    expect(heardIn(before, later(1_000, { packets: both }))).toBe(true);
  });

  test("is of a dead server 11 s after a question without an answer, and 180 s after its last word", () => {
    expect(isDead({ heardAt: 0, askedAt: 100_000 }, 110_999)).toBe(false);
    expect(isDead({ heardAt: 0, askedAt: 100_000 }, 111_000)).toBe(true);
    expect(isDead({ heardAt: 0, askedAt: null }, 179_999)).toBe(false);
    expect(isDead({ heardAt: 0, askedAt: null }, 180_000)).toBe(true);
  });
});

/** Runs `work` on a gateway that is connected to server one and watched, in a home that is quiet. */
function onGateway(native: boolean, keepalive: number, work: (home: Home) => Promise<void>): Promise<void> {
  return inDirectory(async (directory) => {
    const host = new FakeHost();
    host.native = native;
    const gateway = await Gateway.watched(directory, host);
    const target = keepalive === 0 ? ONE : server("one", 1, { persistentKeepalive: keepalive });
    await gateway.controller.connect(target);
    const losses: number[] = [];
    gateway.controller.onChange(() => {
      if (gateway.controller.state.name === "reconnecting") losses.push(host.monotonic());
    });
    await work({ gateway, host, losses });
  });
}

interface Home {
  gateway: Gateway;
  host: FakeHost;
  /** When the server was found dead. */
  losses: number[];
}

const DOORS = [
  ["the kernel", true],
  ["a program", false],
] as const;

sampled.describe.each(DOORS)("a tunnel made by %s", (_, native) => {
  test.each([0, 1, 2, 10, 60, 61, 100, 121, 65_535])(
    "that is idle for an hour, with a keepalive each %d s in its configuration, is alive",
    (keepalive) =>
      onGateway(native, keepalive, async ({ host, losses }) => {
        await host.pass(HOUR_MS);
        expect(losses).toEqual([]);
      }),
  );

  test("that carries traffic one way alone is alive by the server's passive keepalives", () =>
    onGateway(native, 0, async ({ host, losses }) => {
      host.oneWay = true;
      await fc.assert(
        fc.asyncProperty(fc.nat(4_000), fc.nat(60_000), async (quietMs, busyMs) => {
          host.busy = false;
          await host.pass(quietMs);
          host.busy = true;
          await host.pass(busyMs);
          expect(losses).toEqual([]);
        }),
        { numRuns: runs(50) },
      );
    }));

  test("to a server that dies under traffic is lost within 15 s, in any phase of traffic, death and looks", () =>
    onGateway(native, 0, async ({ gateway, host, losses }) => {
      const quiet = fc.nat(40_000);
      const busy = fc.oneof(fc.nat(200), fc.nat(4_000), fc.nat(30_000));
      await fc.assert(
        fc.asyncProperty(quiet, busy, fc.nat(200), async (quietMs, busyMs, restMs) => {
          host.busy = false;
          await host.pass(quietMs);
          host.busy = true;
          await host.pass(busyMs);
          expect(gateway.controller.state.name).toBe("connected");
          const died = await dies(host, restMs);
          expect(losses[0]).toBeLessThanOrEqual(died + NOTICED_UNDER_TRAFFIC_MS);
          await recover(gateway, losses);
        }),
        { numRuns: runs(60) },
      );
    }));

  test("to a server that hears nothing and asks for a handshake again and again is lost within 15 s", () =>
    onGateway(native, 0, async ({ host, losses }) => {
      host.busy = true;
      await host.pass(20_000);
      expect(losses).toEqual([]);
      host.deaf.add(ENDPOINT);
      const began = host.monotonic();
      await host.pass(NOTICED_UNDER_TRAFFIC_MS);
      expect(losses[0]).toBeLessThanOrEqual(began + NOTICED_UNDER_TRAFFIC_MS);
    }));

  test("to a server that died in the quiet is lost within 15 s of the first traffic", () =>
    onGateway(native, 0, async ({ gateway, host, losses }) => {
      await fc.assert(
        fc.asyncProperty(fc.nat(10_000), fc.nat(40_000), fc.nat(60_000), async (busyMs, quietMs, deadMs) => {
          host.busy = true;
          await host.pass(busyMs);
          host.busy = false;
          await host.pass(quietMs);
          host.silent.add(ENDPOINT);
          await host.pass(deadMs);
          expect(losses).toEqual([]);
          host.busy = true;
          const began = host.monotonic();
          await host.pass(NOTICED_UNDER_TRAFFIC_MS);
          expect(losses[0]).toBeLessThanOrEqual(began + NOTICED_UNDER_TRAFFIC_MS);
          await recover(gateway, losses);
        }),
        { numRuns: runs(60) },
      );
    }));

  test("that is idle is lost at the latest 180 s and two looks after the server's last word: one that hears it, and one that finds it old", () =>
    onGateway(native, 0, async ({ gateway, host, losses }) => {
      const heardMs = native ? LOOK_MS : COUNTED_MS + LOOK_MS;
      await fc.assert(
        fc.asyncProperty(fc.nat(200_000), async (quietMs) => {
          await host.pass(quietMs);
          host.silent.add(ENDPOINT);
          const died = host.monotonic();
          await host.pass(SESSION_ENDS_MS + heardMs + LOOK_MS);
          expect(losses[0]).toBeLessThanOrEqual(died + SESSION_ENDS_MS + heardMs + LOOK_MS);
          await recover(gateway, losses);
        }),
        { numRuns: runs(20) },
      );
    }));

  test("is neither lost nor kept by a clock that jumps by hours, not even right after a connect or a failed switch", () =>
    onGateway(native, 0, async ({ gateway, host, losses }) => {
      const hours = fc.integer({ min: -30, max: 30 }).map((number) => number * HOUR_MS);
      await fc.assert(
        fc.asyncProperty(hours, fc.nat(4_000), fc.boolean(), async (jumpMs, waitMs, again) => {
          host.busy = false;
          if (again) {
            await gateway.controller.disconnect();
            await gateway.controller.connect(ONE);
          }
          host.setClock(jumpMs);
          await host.pass(waitMs);
          await failToSwitch(gateway);
          await host.pass(200_000);
          expect(losses).toEqual([]);
          host.busy = true;
          await host.pass(waitMs);
          const died = await dies(host, 0);
          expect(losses[0]).toBeLessThanOrEqual(died + NOTICED_UNDER_TRAFFIC_MS);
          await recover(gateway, losses);
        }),
        { numRuns: runs(20) },
      );
    }));
});

/** The server dies now; time goes by until it must have been noticed. */
async function dies(host: FakeHost, restMs: number): Promise<number> {
  host.silent.add(ENDPOINT);
  const died = host.monotonic();
  await host.pass(NOTICED_UNDER_TRAFFIC_MS + restMs);
  return died;
}

async function failToSwitch({ controller, host }: Gateway): Promise<void> {
  host.silent.add("192.0.2.2:51820");
  const failure = controller.connect(server("two", 2)).then(
    () => "connected",
    () => "failed",
  );
  await host.pass(10_500);
  expect(await failure).toBe("failed");
}

/** The server is back, and so is the tunnel. */
async function recover(gateway: Gateway, losses: number[]): Promise<void> {
  const { host, controller } = gateway;
  host.silent.delete(ENDPOINT);
  for (let tries = 0; controller.state.name !== "connected" && tries < 20; tries++) await host.pass(5_000);
  expect(controller.state.name).toBe("connected");
  losses.length = 0;
}

test("a program is asked four times a minute while no data passes, and at each look while some does", () =>
  onGateway(false, 0, async ({ host }) => {
    let questions = 0;
    host.onEvent = (event) => {
      if (event === "uapi get") questions += 1;
    };
    const asked = async (ms: number) => {
      const before = questions;
      await host.pass(ms);
      return questions - before;
    };
    await host.pass(30_000);
    expect(await asked(60_000)).toBeLessThanOrEqual(5);
    host.busy = true;
    expect(await asked(60_000)).toBeGreaterThanOrEqual(50);
    host.busy = false;
    await host.pass(30_000);
    expect(await asked(60_000)).toBeLessThanOrEqual(5);
    // A few packets that ask for no answer, as the interface itself sends them when it comes up.
    host.oneWay = true;
    host.busy = true;
    await host.pass(300);
    host.busy = false;
    await host.pass(60_000);
    expect(await asked(60_000)).toBeLessThanOrEqual(5);
  }));

test("a tunnel of the kernel's that an earlier process has made costs no program a look", () =>
  onGateway(true, 0, async ({ gateway, host }) => {
    await gateway.restart();
    gateway.watch();
    host.busy = true;
    await host.pass(10_000);
    const before = host.commands.length;
    await host.pass(60_000);
    expect(host.commands.slice(before)).toEqual([]);
  }));
