import { describe, expect, setDefaultTimeout } from "bun:test";
import type { Sample } from "../../src/tunnel/health.ts";
import {
  askedAnew,
  isCertain,
  isDoubtful,
  type Unanswered,
  unansweredAfter,
} from "../../src/tunnel/unanswered.ts";
import { FakeHost } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, ONE, server, THREE, TWO } from "./gateway.ts";

const { test } = slow;

const PATIENCE_MS = 120_000;
setDefaultTimeout(PATIENCE_MS);
const ENDPOINT = "192.0.2.1:51820";
const RESOLVER = "10.64.0.101";
/** What the interface's user is promised. */
const NOTICED_MS = 30_000;
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
const KNOWN: Unanswered = { since: 0, last: 500, times: 3 };

/** After a second in which a program has counted so many bytes. */
function after(rx: number, tx: number): Sample {
  const { rxBytes, txBytes } = QUIET;
  return { ...QUIET, at: 2_000, countedAt: 2_000, rxBytes: rxBytes + rx, txBytes: txBytes + tx };
}

describe("what is known of answers after another sample", () => {
  test.each([
    ["nothing", 0, 0],
    ["a keepalive", 32, 32],
    ["two keepalives", 64, 64],
    ["a handshake", 92, 148],
    ["the other side's handshake", 148, 92],
    ["a handshake and the keepalive that ends it", 92, 148 + 32],
  ])("is as before where WireGuard alone has exchanged %s", (_, rx, tx) => {
    expect(unansweredAfter(KNOWN, QUIET, after(rx, tx), KEEPALIVE_MS, true)).toEqual(KNOWN);
    expect(unansweredAfter(null, QUIET, after(rx, tx), KEEPALIVE_MS, true)).toBeNull();
  });

  test.each([
    ["a TCP acknowledgement", 80],
    ["one with a timestamp", 96],
    ["an echo reply", 128],
    ["an unpadded echo reply", 116],
    ["an answer and a keepalive", 128 + 32],
    ["a download", 1_480_000],
  ])("is nothing where %s came", (_, rx) => {
    expect(unansweredAfter(KNOWN, QUIET, after(rx, 128), KEEPALIVE_MS, true)).toBeNull();
  });

  test("counts samples in which data went out, since the first of them", () => {
    const once = unansweredAfter(null, QUIET, after(0, 128), KEEPALIVE_MS, true);
    expect(once).toEqual({ since: 2_000, last: 2_000, times: 1 });
    expect(unansweredAfter(KNOWN, QUIET, after(32, 96), KEEPALIVE_MS, true)).toEqual({
      since: 0,
      last: 2_000,
      times: 4,
    });
  });

  test("starts anew after half a minute in which nothing went out", () => {
    const late = { ...after(0, 128), at: 40_000, countedAt: 40_000 };
    expect(
      unansweredAfter(KNOWN, { ...QUIET, at: 39_000, countedAt: 39_000 }, late, KEEPALIVE_MS, true),
    ).toEqual({
      since: 40_000,
      last: 40_000,
      times: 1,
    });
  });

  test("is of the kernel's packets where it counts them: a short packet is no two keepalives", () => {
    const packets = (received: number, receivedBytes: number) => ({
      ...after(0, 128),
      packets: { received, receivedBytes, sent: 1 },
    });
    const before = { ...QUIET, packets: { received: 0, receivedBytes: 0, sent: 0 } };
    expect(unansweredAfter(KNOWN, before, packets(1, 64), KEEPALIVE_MS, true)).toBeNull();
    expect(unansweredAfter(KNOWN, before, packets(2, 64), KEEPALIVE_MS, true)).toMatchObject({ times: 4 });
  });

  test("is not counted of bytes that were read at another time", () => {
    const packets = { received: 0, receivedBytes: 0, sent: 1 };
    const stale = { ...after(0, 128), packets, countedAt: 1_000 };
    expect(unansweredAfter(null, { ...QUIET, packets }, stale, KEEPALIVE_MS, true)).toBeNull();
  });
});

test("it is certain after 15 s and four samples, and doubtful enough to ask before that", () => {
  expect(isDoubtful({ since: 0, last: 7_999, times: 9 })).toBe(false);
  expect(isDoubtful({ since: 0, last: 8_000, times: 2 })).toBe(true);
  expect(isCertain({ since: 0, last: 14_999, times: 9 })).toBe(false);
  expect(isCertain({ since: 0, last: 15_000, times: 3 })).toBe(false);
  expect(isCertain({ since: 0, last: 15_000, times: 4 })).toBe(true);
  expect(isCertain(askedAnew({ since: 0, last: 15_000, times: 4 }))).toBe(false);
  expect(isCertain(null)).toBe(false);
});

/** Runs `work` on a gateway that is connected to server one and watched. */
function onGateway(
  native: boolean,
  work: (gateway: Gateway, host: FakeHost) => Promise<void>,
): Promise<void> {
  return inDirectory(async (directory) => {
    const host = new FakeHost();
    host.native = native;
    const gateway = await Gateway.watched(directory, host);
    await gateway.controller.connect(ONE);
    await host.pass(3_000);
    await work(gateway, host);
  });
}

const FINE = { connected: true, state: "connected", server: "one", unanswered: false, error: null };
const EMPTY = {
  ...FINE,
  unanswered: true,
  error: "one answers handshakes, but nothing else comes back through it",
};

describe.each([
  ["the kernel", true],
  ["a program", false],
])("a tunnel made by %s", (_, native) => {
  test("whose server answers handshakes and drops what is inside is said to carry nothing within 30 s", () =>
    onGateway(native, async (gateway, host) => {
      host.busy = true;
      await host.pass(5_000);
      const seen: unknown[] = [];
      gateway.controller.onChange((state, error) => seen.push([state.name, error]));
      host.hollow.add(ENDPOINT);
      await host.pass(NOTICED_MS);
      expect(await gateway.status()).toMatchObject(EMPTY);
      expect(await gateway.controller.row()).toMatchObject({ unanswered: true, error: EMPTY.error });
      await host.pass(600_000);
      expect(await gateway.status()).toMatchObject(EMPTY);
      host.hollow.clear();
      await host.pass(2_000);
      expect(await gateway.status()).toMatchObject(FINE);
      expect(seen).toEqual([
        ["connected", EMPTY.error],
        ["connected", null],
      ]);
    }));

  test("that is idle, or has one packet unanswered now and then, is fine", () =>
    onGateway(native, async (gateway, host) => {
      host.hollow.add(ENDPOINT);
      for (let round = 0; round < 20; round++) {
        host.busy = true;
        await host.pass(200);
        host.busy = false;
        await host.pass(60_000);
      }
      await host.pass(3_600_000);
      expect(await gateway.status()).toMatchObject(FINE);
    }));

  test("into which data goes that nobody answers is fine while the tunnel's resolver answers", () =>
    onGateway(native, async (gateway, host) => {
      let asked = 0;
      host.onEvent = (event) => {
        asked += Number(event.startsWith(`probe ${RESOLVER} `));
      };
      host.resolvers.set(RESOLVER, 1_500);
      host.hollow.add(ENDPOINT);
      host.busy = true;
      const seen: unknown[] = [];
      gateway.controller.onChange((state) => seen.push(state));
      await host.pass(300_000);
      expect(seen).toEqual([]);
      // It is asked rarely.
      expect(asked).toBeGreaterThan(0);
      expect(asked).toBeLessThanOrEqual(40);
      host.resolvers.clear();
      await host.pass(NOTICED_MS + 10_000);
      expect(await gateway.status()).toMatchObject(EMPTY);
      host.busy = false;
      host.resolvers.set(RESOLVER, 1_500);
      await host.pass(20_000);
      expect(await gateway.status()).toMatchObject(FINE);
    }));
});

test("a second tunnel, which the gateway cannot ask through, carries on while a device tries hosts that are down", () =>
  onGateway(true, async (gateway, host) => {
    const { controller } = await gateway.tunnels.opened("tv");
    await controller.connect(TWO);
    gateway.alternatives = [THREE];
    host.hollow.add("192.0.2.2:51820");
    const seen: unknown[] = [];
    controller.onChange((state) => seen.push(state));
    for (let connection = 0; connection < 5; connection++) {
      // TCP sends its first packet again and again (tcp_syn_retries).
      for (const pause of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000]) {
        host.busy = true;
        await host.pass(100);
        host.busy = false;
        await host.pass(pause - 100);
      }
    }
    expect(seen).toEqual([]);
    host.busy = true;
    await host.pass(NOTICED_MS);
    expect(await controller.row()).toMatchObject({ unanswered: true });
  }));

test("a server that carries nothing and then dies is lost once it answers no handshake either", () =>
  onGateway(true, async (gateway, host) => {
    host.busy = true;
    host.hollow.add(ENDPOINT);
    await host.pass(NOTICED_MS);
    host.silent.add(ENDPOINT);
    await host.pass(35_000);
    expect(await gateway.status()).toMatchObject({ state: "reconnecting", unanswered: false });
    host.silent.clear();
    host.hollow.clear();
    await host.pass(60_000);
    expect(await gateway.status()).toMatchObject(FINE);
  }));

test("a server that comes back after an outage is not blamed for what was not answered before", () =>
  onGateway(true, async (gateway, host) => {
    host.busy = true;
    await host.pass(3_000);
    const seen: unknown[] = [];
    gateway.controller.onChange(() => seen.push(gateway.controller.state));
    host.silent.add(ENDPOINT);
    await host.pass(25_000);
    host.silent.clear();
    await host.pass(60_000);
    expect(seen.filter((state) => (state as { unanswered?: number | null }).unanswered != null)).toEqual([]);
    expect(await gateway.status()).toMatchObject(FINE);
  }));

describe("where failover is on", () => {
  test("a server that carries nothing is left for the next one after a minute, and not come back to", () =>
    onGateway(true, async (gateway, host) => {
      gateway.alternatives = [ONE, TWO, THREE];
      host.busy = true;
      for (const number of [1, 2]) host.hollow.add(`192.0.2.${number}:51820`);
      await host.pass(NOTICED_MS);
      const links = new Set<string>();
      gateway.controller.onChange((state) => links.add(state.name));
      await host.pass(65_000);
      expect(await gateway.status()).toMatchObject({ server: "two", connected: true });
      await host.pass(NOTICED_MS + 65_000);
      expect(await gateway.status()).toMatchObject({ ...FINE, server: "three" });
      // Each is dialled beside the other, so nothing is ever blocked.
      expect([...links]).toEqual(["connected"]);
    }));

  test("the tunnel stays where it is once no server carries anything, as when an account has expired", () =>
    onGateway(true, async (gateway, host) => {
      gateway.alternatives = [ONE, TWO];
      host.busy = true;
      for (const number of [1, 2]) host.hollow.add(`192.0.2.${number}:51820`);
      await host.pass(300_000);
      const { server: name } = await gateway.status();
      let moves = 0;
      gateway.controller.onChange(() => moves++);
      await host.pass(1_200_000);
      expect(await gateway.status()).toMatchObject({ server: name, unanswered: true });
      expect(moves).toBe(0);
    }));

  test("the tunnel moves three times an hour at most, however many servers there are", () =>
    onGateway(true, async (gateway, host) => {
      gateway.alternatives = Array.from({ length: 20 }, (_, index) => server(`s${index}`, index + 4));
      host.busy = true;
      for (let number = 1; number < 24; number++) host.hollow.add(`192.0.2.${number}:51820`);
      const servers = new Set<string>();
      gateway.controller.onChange((state) => {
        if (state.name === "connected") servers.add(state.session.server.name);
      });
      await host.pass(3_000_000);
      expect([...servers]).toEqual(["one", "s0", "s1", "s2"]);
    }));

  test("the next server that does not answer leaves the tunnel as it is", () =>
    onGateway(true, async (gateway, host) => {
      gateway.alternatives = [server("four", 4)];
      host.busy = true;
      host.hollow.add(ENDPOINT);
      host.silent.add("192.0.2.4:51820");
      await host.pass(120_000);
      expect(await gateway.status()).toMatchObject(EMPTY);
    }));
});
