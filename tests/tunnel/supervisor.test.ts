import { describe, expect } from "bun:test";
import { checkerOf } from "../../src/base/checker.ts";
import { JournalEntry, type NewJournalEntry } from "../../src/journal/schema.ts";
import { journalOf } from "../../src/journal/tunnel-states.ts";
import type { Server } from "../../src/servers/schema.ts";
import { cidr } from "../fake/address.ts";
import type { FakeHost } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, kernelState, ONE, placeOf, server, serversIn, stoodAlways, TWO } from "./gateway.ts";

const { test } = slow;

const entrySchema = checkerOf(JournalEntry);
const PATIENCE_MS = 60_000;
const HANDSHAKE_MS = 10_000;
const MAX_PAUSE_MS = 60_000;
const ENDPOINTS = { one: "192.0.2.1:51820", two: "192.0.2.2:51820", three: "192.0.2.3:51820" };

/** A test with a gateway that is watched; time goes by in `host.pass` alone. */
function claim(text: string, work: (gateway: Gateway) => Promise<void>): void {
  test(text, () => inDirectory(async (directory) => work(await Gateway.watched(directory))), PATIENCE_MS);
}

/** A test with a gateway that is watched and connected to server one, while clients send. */
function claimConnected(text: string, work: (gateway: Gateway) => Promise<void>): void {
  claim(text, async (gateway) => {
    await gateway.controller.connect(ONE);
    gateway.host.busy = true;
    await gateway.host.pass(3_000);
    await work(gateway);
  });
}

interface Attempt {
  at: number;
  endpoint: string;
}

/** Every dial from now on. */
function attemptsOn(gateway: Gateway): Attempt[] {
  const attempts: Attempt[] = [];
  const { host } = gateway;
  host.onEvent = (event) => {
    const link = /^wg setconf (\S+) /.exec(event)?.[1];
    const dialled = link === undefined ? undefined : host.links.get(link);
    // An interface that has a key, or had one, is that of the former session.
    if (link === undefined || dialled === undefined || dialled.device?.privateKey) return;
    const attempt = { at: host.monotonic(), endpoint: "" };
    attempts.push(attempt);
    // The command is about to happen; what it says is known after it.
    setImmediate(() => {
      attempt.endpoint = host.links.get(link)?.device?.peer?.endpoint ?? "";
    });
  };
  return attempts;
}

async function loseServer(gateway: Gateway): Promise<void> {
  gateway.host.silent.add(ENDPOINTS.one);
  for (let waited = 0; gateway.controller.state.name === "connected" && waited < 20_000; waited += 100) {
    await gateway.host.pass(100);
  }
  expect(gateway.controller.state.name).toBe("reconnecting");
}

claim("a server is known to be lost before the gateway looks for the router's name", async (gateway) => {
  const { controller, host } = gateway;
  const relayed = { ...ONE, offers: { udp2tcp: [443] } };
  gateway.changed = [relayed];
  await controller.connect(relayed);
  host.busy = true;
  await host.pass(3_000);
  const states: string[] = [];
  host.onEvent = (event) => void (/^ip .*neigh/.test(event) && states.push(controller.state.name));
  host.silent.add(ENDPOINTS.one);
  await host.pass(20_000);
  expect(states[0]).toBe("reconnecting");
});

/** Server one, which takes TCP as well, has fallen silent soon, and is connected over TCP. */
async function cutOff(gateway: Gateway): Promise<Server> {
  const { controller, host } = gateway;
  const relayed = { ...ONE, offers: { udp2tcp: [443] } };
  gateway.changed = [relayed];
  await controller.connect(relayed);
  host.busy = true;
  await host.pass(3_000);
  // It answers handshakes: the network lets the first packets pass.
  host.onEvent = () => void (controller.state.name === "reconnecting" && host.silent.clear());
  host.silent.add(ENDPOINTS.one);
  await host.pass(20_000);
  expect(host.silent.size).toBe(0);
  host.onEvent = () => {};
  expect(await gateway.status()).toMatchObject({ transport: "udp2tcp", blocked: "flows" });
  return relayed;
}

/** While it looks for the router's name, time has to go by. */
async function connectAnew({ controller, host }: Gateway, to: Server): Promise<void> {
  await controller.disconnect();
  await Promise.all([controller.connect(to), host.pass(1_000)]);
}

claim("an hour after UDP was cut off it is trusted again, without a restart", async (gateway) => {
  const relayed = await cutOff(gateway);
  await connectAnew(gateway, relayed);
  expect(await gateway.status()).toMatchObject({ transport: "udp2tcp" });
  await gateway.host.pass(3_600_000);
  const looks: string[] = [];
  gateway.host.onEvent = (event) => void (/^ip .*neigh/.test(event) && looks.push(event));
  await connectAnew(gateway, relayed);
  expect((await gateway.status()).transport).toBeUndefined();
  // Nothing is left that would ask for the uplink's name.
  expect(looks).toEqual([]);
});

claim("what was asked for does not bring back the trust in UDP when it falls silent", async (gateway) => {
  const { host } = gateway;
  const relayed = await cutOff(gateway);
  await connectAnew(gateway, { ...relayed, offers: { udp2tcp: [443, 80] }, transport: "udp2tcp" });
  for (const port of [443, 80]) host.relays.faults.set(`192.0.2.1:${port}`, "silent");
  await host.pass(MAX_PAUSE_MS);
  host.relays.faults.clear();
  await connectAnew(gateway, relayed);
  expect(await gateway.status()).toMatchObject({ transport: "udp2tcp", blocked: "flows" });
});

claim("UDP is trusted again if TCP falls silent as soon, because then it is the server", async (gateway) => {
  const { host } = gateway;
  const relayed = await cutOff(gateway);
  host.relays.faults.set("192.0.2.1:443", "silent");
  await host.pass(MAX_PAUSE_MS);
  host.relays.faults.clear();
  await connectAnew(gateway, relayed);
  expect((await gateway.status()).transport).toBeUndefined();
});

claim(
  "plain WireGuard that falls silent soon is followed by a relay, and is trusted after a restart",
  async (gateway) => {
    const relayed = await cutOff(gateway);
    expect(gateway.store.read("server_ways")).toBeNull();
    await gateway.restart();
    await gateway.controller.disconnect();
    await gateway.controller.connect(relayed);
    expect((await gateway.status()).transport).toBeUndefined();
  },
);

describe("a server that dies under traffic", () => {
  claimConnected("is dialled again at once, and then ever more rarely", async (gateway) => {
    const { host } = gateway;
    const attempts = attemptsOn(gateway);
    await loseServer(gateway);
    const lostAt = host.monotonic();
    await host.pass(600_000);
    expect(attempts[0]?.at).toBeLessThanOrEqual(lostAt);
    const pauses = attempts.slice(1).map(({ at }, index) => at - (attempts[index]?.at ?? 0) - HANDSHAKE_MS);
    const looks = 2_500;
    pauses.forEach((pause, index) => {
      const longest = Math.min(2_500 * 2 ** index, MAX_PAUSE_MS);
      expect(pause, `pause ${index}`).toBeGreaterThanOrEqual(longest / 2);
      expect(pause, `pause ${index}`).toBeLessThanOrEqual(longest + looks);
    });
    expect(attempts.length).toBeGreaterThan(8);
    expect(new Set(attempts.map(({ endpoint }) => endpoint))).toEqual(new Set([ENDPOINTS.one]));
    expect(stoodAlways(host)).toBe(true);
  });

  claimConnected("is connected again with its uptime when it answers a new dial", async (gateway) => {
    const { host } = gateway;
    const { uptime_seconds: before } = await gateway.status();
    await loseServer(gateway);
    host.silent.clear();
    await host.pass(MAX_PAUSE_MS);
    const status = await gateway.status();
    expect(status).toMatchObject({ connected: true, server: "one", error: null });
    expect(status.uptime_seconds).toBeGreaterThan(before);
  });

  claimConnected("that answers again on the old session is connected without a new dial", async (gateway) => {
    const { host } = gateway;
    await loseServer(gateway);
    await host.pass(HANDSHAKE_MS + 100);
    expect(gateway.controller.state.name).toBe("reconnecting");
    const attempts = attemptsOn(gateway);
    host.silent.clear();
    await host.pass(1_100);
    expect(attempts).toEqual([]);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one", error: null });
  });

  claimConnected(
    "is led nothing: its devices are refused at once, routes stay, and its WireGuard may come back",
    async (gateway) => {
      const { host } = gateway;
      const [routes, leads] = [[...host.routes], /oifname "wg0" iifname "lan0"/];
      expect(host.table).toMatch(leads);
      await loseServer(gateway);
      for (const ms of [0, 5_000, HANDSHAKE_MS]) {
        await host.pass(ms);
        expect(host.table).not.toMatch(leads);
        expect(serversIn(host.table)).toEqual(["192.0.2.1:51820"]);
        expect([...host.routes]).toEqual(routes);
      }
      host.silent.clear();
      await host.pass(2_000);
      expect(gateway.controller.state.name).toBe("connected");
      expect(host.table).toMatch(/oifname "wg\d" iifname "lan0"/);
    },
  );

  claimConnected("gives way to a disconnect at once, in the middle of a dial", async (gateway) => {
    const { host, controller } = gateway;
    await loseServer(gateway);
    await host.pass(5_000);
    expect(host.links.has("wg1")).toBe(true);
    const before = host.monotonic();
    const done = controller.disconnect();
    await host.pass(0);
    await done;
    expect(host.monotonic() - before).toBe(0);
    await host.pass(600_000);
    expect(await gateway.status()).toMatchObject({ state: "disconnected", error: null });
    expect([...host.links.keys()]).toEqual(["lo", "lan0", "up0"]);
  });

  claimConnected("gives way to a connect elsewhere, in the middle of a dial", async (gateway) => {
    const { host, controller } = gateway;
    await loseServer(gateway);
    await host.pass(5_000);
    const done = controller.connect(TWO);
    await host.pass(1_000);
    await done;
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two" });
    await host.pass(600_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two" });
  });
});

claimConnected(
  "two interfaces never send to one server with one key, and a dead session is given its server back after a failed dial",
  async (gateway) => {
    const { host } = gateway;
    const withServer = () =>
      [...host.links].flatMap(([name, { device }]) => (device?.peer == null ? [] : [name]));
    let [most, dials] = [0, 0];
    host.onEvent = (event) => {
      most = Math.max(most, withServer().length);
      if (event.startsWith("wg setconf wg1 ")) dials += 1;
    };
    await loseServer(gateway);
    await host.pass(30_000);
    expect([most, dials > 1]).toEqual([1, true]);
    for (let waited = 0; withServer()[0] !== "wg0" && waited < 20_000; waited += 100) await host.pass(100);
    expect(withServer()).toEqual(["wg0"]);
    host.silent.clear();
    await host.pass(30_000);
    expect(gateway.controller.state.name).toBe("connected");
    expect([most, withServer().length]).toEqual([1, 1]);
  },
);

describe("a server that stays dead", () => {
  const candidates = [server("two", 2), server("three", 3)];

  claimConnected("is never left where the operator does not allow it", async (gateway) => {
    const attempts = attemptsOn(gateway);
    await loseServer(gateway);
    await gateway.host.pass(600_000);
    expect(attempts.every(({ endpoint }) => endpoint === ENDPOINTS.one)).toBe(true);
    expect(gateway.controller.state.name).toBe("reconnecting");
  });

  claimConnected(
    "is left for the nearest after 60 s, then for the next, then tried itself",
    async (gateway) => {
      const { host } = gateway;
      gateway.alternatives = candidates;
      for (const endpoint of Object.values(ENDPOINTS)) host.silent.add(endpoint);
      const attempts = attemptsOn(gateway);
      await loseServer(gateway);
      const lostAt = host.monotonic();
      await host.pass(900_000);
      const early = attempts.filter(({ at }) => at < lostAt + 60_000);
      const late = attempts.filter(({ at }) => at >= lostAt + 60_000).map(({ endpoint }) => endpoint);
      expect(early.length).toBeGreaterThan(2);
      expect(early.every(({ endpoint }) => endpoint === ENDPOINTS.one)).toBe(true);
      const { one, two, three } = ENDPOINTS;
      expect(late.slice(0, 6)).toEqual([two, three, one, two, three, one]);
    },
  );

  claimConnected(
    "is left for good where another answers, which is then the one remembered",
    async (gateway) => {
      const { host } = gateway;
      gateway.alternatives = candidates;
      host.silent.add(ENDPOINTS.two);
      await loseServer(gateway);
      await host.pass(240_000);
      expect(await gateway.status()).toMatchObject({ connected: true, server: "three", error: null });
      expect(gateway.savedState.connection()?.name).toBe("three");
      expect(stoodAlways(host)).toBe(true);
    },
  );
});

claimConnected("a dead server whose provider has moved it is tried where it is now", async (gateway) => {
  const { host } = gateway;
  host.busy = true;
  gateway.changed = [server("one", 1, { endpoint: { host: "192.0.2.200", port: 51820 } })];
  host.silent.add(ENDPOINTS.one);
  await host.pass(120_000);
  expect(await gateway.status()).toMatchObject({ connected: true, server: "one", ip: "192.0.2.200" });
});

describe("an uplink that is down", () => {
  const DOWN: [string, (host: FakeHost) => void, (host: FakeHost) => void][] = [
    ["without a carrier", (host) => host.plug(false), (host) => host.plug(true)],
    ["without a default route", (host) => host.setDefaultRoute(null), (host) => host.setDefaultRoute("up0")],
  ];

  for (const [how, takeDown, bringUp] of DOWN) {
    claimConnected(
      `${how} is a loss at once, is tried rarely, and at once when it is back`,
      async (gateway) => {
        const { host } = gateway;
        const attempts = attemptsOn(gateway);
        takeDown(host);
        await host.pass(1_000);
        expect(await gateway.status()).toMatchObject({
          state: "reconnecting",
          error: "the uplink up0 is down",
        });
        await host.pass(25_000);
        expect(attempts).toEqual([]);
        await host.pass(575_000);
        expect(attempts.length).toBeGreaterThanOrEqual(8);
        expect(attempts.length).toBeLessThanOrEqual(15);
        expect(await gateway.status()).toMatchObject({
          state: "reconnecting",
          error: "the uplink up0 is down",
        });
        attempts.length = 0;
        // To get its route back it must hear the router.
        expect(host.table).toMatch(/iifname \{ "up0".*nd-router-advert/);
        host.silent.add(ENDPOINTS.one);
        bringUp(host);
        await host.pass(1_000);
        // Two if one of the rare attempts ended just then.
        const atOnce = attempts.length;
        expect([1, 2]).toContain(atOnce);
        host.silent.clear();
        await host.pass(1_000);
        expect(attempts).toHaveLength(atOnce);
        expect(await gateway.status()).toMatchObject({ connected: true, server: "one", error: null });
        expect(stoodAlways(host)).toBe(true);
      },
    );
  }

  claimConnected("is a loss though a packet came in just before it went", async (gateway) => {
    const { host } = gateway;
    for (let phase = 0; phase < 10; phase++) {
      host.plug(false);
      await host.pass(400);
      for (let second = 0; second < 5; second++) {
        expect(gateway.controller.state.name).toBe("reconnecting");
        await host.pass(1_000);
      }
      host.plug(true);
      await host.pass(5_130);
      expect(gateway.controller.state.name).toBe("connected");
    }
  });

  claimConnected(
    "that is back ends a dial that began before, and the next begins at once",
    async (gateway) => {
      const { host } = gateway;
      await loseServer(gateway);
      await host.pass(2_000);
      const attempts = attemptsOn(gateway);
      host.plug(false);
      await host.pass(1_000);
      expect(attempts).toHaveLength(0);
      host.plug(true);
      await host.pass(1_000);
      expect(attempts).toHaveLength(1);
      host.silent.clear();
      await host.pass(1_000);
      expect(gateway.controller.state.name).toBe("connected");
    },
  );

  claimConnected("and back without an event is found within 5 min each way", async (gateway) => {
    const { host, controller } = gateway;
    host.busy = false;
    host.defaultRoute = null;
    await host.pass(301_500);
    expect(await gateway.status()).toMatchObject({ state: "reconnecting" });
    host.defaultRoute = "up0";
    await host.pass(301_500);
    expect(controller.state.name).toBe("connected");
  });

  claimConnected(
    "by its routes alone, with one to the server, is tried and found to work",
    async (gateway) => {
      const { host, controller } = gateway;
      host.hostRoute = true;
      host.silent.add(ENDPOINTS.one);
      host.setDefaultRoute(null);
      await host.pass(20_000);
      expect(controller.state.name).toBe("reconnecting");
      host.silent.clear();
      host.removeLink("wg0");
      await host.pass(61_000);
      expect(await gateway.status()).toMatchObject({ connected: true, server: "one", error: null });
    },
  );

  claimConnected("is taken note of where the kernel refuses what follows from it", async (gateway) => {
    const { host } = gateway;
    host.links.get("lan0")?.addresses.splice(0);
    host.fails = () => (/^nft -e/.test(host.commands.at(-1) ?? "") ? "before" : null);
    host.plug(false);
    await host.pass(1_000);
    expect(await gateway.status()).toMatchObject({ state: "reconnecting", error: "the uplink up0 is down" });
    expect(await gateway.tunnels.protection.fault()).toContain("made to fail");
    const { stands, parts } = await gateway.tunnels.protection.inspection();
    expect(stands).toBe(false);
    expect(parts.find((part) => part.name === "last change")?.found).toContain("made to fail");
    host.fails = () => null;
    host.plug(true);
    await host.pass(5_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one" });
    expect(await gateway.tunnels.protection.fault()).toBeNull();
    expect((await gateway.tunnels.protection.inspection()).stands).toBe(true);
  });

  claimConnected(
    "that gets another address during a connect leaves a former tunnel that is dialled again",
    async (gateway) => {
      const { host, controller } = gateway;
      const readdress = async (address: string) => {
        host.links.get("up0")?.addresses.splice(0, 1, `${address}/24`);
        host.tell("ip", `[ADDR]3: up0    inet ${address}/24 scope global up0`);
        await host.pass(2_000);
      };
      await readdress("198.51.100.2");
      const attempts = attemptsOn(gateway);
      host.silent.add(ENDPOINTS.two);
      const connecting = controller.connect(TWO).catch(() => {});
      await readdress("198.51.100.3");
      await host.pass(HANDSHAKE_MS + 5_000);
      await connecting;
      expect(attempts.map(({ endpoint }) => endpoint)).toEqual([ENDPOINTS.two, ENDPOINTS.one]);
      expect(await gateway.status()).toMatchObject({ connected: true, server: "one" });
    },
  );

  claim("when the service starts is told of the tunnel that is up, too", async (gateway) => {
    const { host, controller } = gateway;
    await controller.connect(ONE);
    host.plug(false);
    await gateway.restart();
    expect(await gateway.status()).toMatchObject({
      state: "reconnecting",
      error: "the uplink up0 is down",
    });
    expect(host.links.has("wg0")).toBe(true);
    gateway.watch();
    host.patient = true;
    host.plug(true);
    await host.pass(5_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one", error: null });
  });

  claim("when the service starts is waited for", async (gateway) => {
    const { host, controller } = gateway;
    await controller.connect(ONE);
    host.plug(false);
    host.removeLink("wg0");
    await gateway.restart();
    gateway.watch();
    const attempts = attemptsOn(gateway);
    await host.pass(25_000);
    expect(attempts).toEqual([]);
    host.plug(true);
    await host.pass(1_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one" });
  });

  claim("when the service starts, and back before anyone watches, is found to be back", async (gateway) => {
    const { host, controller } = gateway;
    await controller.connect(ONE);
    host.plug(false);
    host.removeLink("wg0");
    await gateway.restart();
    host.plug(true);
    gateway.watch();
    await host.pass(5_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one" });
  });
});

describe("a restart with the tunnel gone", () => {
  async function restarted(gateway: Gateway): Promise<void> {
    gateway.host.removeLink("wg0");
    await gateway.restart();
    gateway.watch();
    await gateway.host.pass(5_000);
  }

  claim("goes back to the server that the gateway had", async (gateway) => {
    await gateway.controller.connect(TWO);
    await gateway.controller.connect(ONE);
    await gateway.host.pass(1_000);
    gateway.host.removeLink("wg1");
    await gateway.restart();
    expect(await gateway.status()).toMatchObject({ state: "reconnecting", connected: false, server: "" });
    gateway.watch();
    await gateway.host.pass(1_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one", error: null });
  });

  claim("takes the next target of its order if the server has left its list", async (gateway) => {
    const GONE = server("gone", 9);
    gateway.targets = [TWO, ONE];
    await gateway.controller.connect([GONE, TWO, ONE]);
    gateway.host.silent.add(ENDPOINTS.two);
    await restarted(gateway);
    expect(await gateway.status()).toMatchObject({ state: "reconnecting", connected: false });
    expect((await gateway.controller.row()).order).toMatchObject({ at: 1 });
    await gateway.host.pass(60_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one", order: { at: 2 } });
    expect(stoodAlways(gateway.host)).toBe(true);
  });

  describe("whose taken server has left its list", () => {
    const GONE = server("gone", 9);
    const serverOf = (gateway: Gateway, name: string) => {
      const { state } = gateway.tunnels.named(name).controller;
      return state.name === "connected" ? state.session.server.name : state.name;
    };
    async function booted(gateway: Gateway): Promise<void> {
      await gateway.host.pass(1_000);
      for (const link of [...gateway.host.links.keys()].filter((each) => each.startsWith("wg")))
        gateway.host.removeLink(link);
      await gateway.restart();
      gateway.watch();
      await gateway.host.pass(120_000);
    }

    claim("passes over a target that another tunnel has", async (gateway) => {
      gateway.targets = [TWO, ONE];
      const other = await gateway.tunnels.opened("other");
      await gateway.controller.connect([GONE, TWO, ONE]);
      await other.controller.connect(TWO);
      await gateway.host.pass(1_000);
      await gateway.restart();
      gateway.watch();
      await gateway.host.pass(60_000);
      expect(["main", "other"].map((name) => serverOf(gateway, name))).toEqual(["one", "two"]);
    });

    claim("takes no server from another tunnel that had it before a boot", async (gateway) => {
      gateway.targets = [TWO, ONE];
      const other = await gateway.tunnels.opened("other");
      await gateway.controller.connect([GONE, TWO, ONE]);
      await other.controller.connect(TWO);
      await booted(gateway);
      expect(["main", "other"].map((name) => serverOf(gateway, name))).toEqual(["one", "two"]);
    });
  });

  claim("goes on trying a server that does not answer", async (gateway) => {
    await gateway.controller.connect(ONE);
    gateway.host.silent.add(ENDPOINTS.one);
    await restarted(gateway);
    expect(await gateway.status()).toMatchObject({ state: "reconnecting", connected: false });
    gateway.host.silent.clear();
    await gateway.host.pass(30_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one" });
  });

  claim("stays disconnected after a disconnect", async (gateway) => {
    await gateway.controller.connect(ONE);
    await gateway.controller.disconnect();
    await gateway.restart();
    gateway.watch();
    await gateway.host.pass(120_000);
    expect(await gateway.status()).toMatchObject({ state: "disconnected" });
  });

  claim("stays disconnected where the operator wants no autoconnect", async (gateway) => {
    await gateway.controller.connect(ONE);
    gateway.autoconnect = false;
    await restarted(gateway);
    await gateway.host.pass(120_000);
    expect(await gateway.status()).toMatchObject({ state: "disconnected" });
  });

  claim("gives way to a disconnect while it goes back", async (gateway) => {
    await gateway.controller.connect(ONE);
    gateway.host.silent.add(ENDPOINTS.one);
    await restarted(gateway);
    await gateway.controller.disconnect();
    await gateway.restart();
    gateway.watch();
    gateway.host.silent.clear();
    await gateway.host.pass(120_000);
    expect(await gateway.status()).toMatchObject({ state: "disconnected" });
  });
});

describe("a connected tunnel", () => {
  claimConnected(
    "is not led beside while a person's connect waits for its turn",
    async ({ controller, host }) => {
      await controller.connect([ONE, TWO]);
      const { order } = controller.asked;
      const busy = Promise.withResolvers<void>();
      // The connect interrupts it, and waits for its end.
      controller.beside(() => busy.promise).catch(() => {});
      const connect = controller.connect(ONE);
      const asked = order ? { order: { ...order, at: 1 } } : {};
      const moved = controller.moveBeside([{ target: TWO, asked }], "slow", new AbortController().signal);
      busy.resolve();
      await host.pass(10_000);
      await connect;
      expect(await moved).toBe(false);
      expect(controller.asked.order).toBeUndefined();
    },
  );

  claimConnected(
    "keeps a person's wish that is the same as a schedule's move",
    async ({ controller, host }) => {
      await controller.connect([ONE, TWO]);
      const place = placeOf([ONE, TWO]);
      const schedule = controller.connect(place, controller.asked);
      schedule.catch(() => {});
      const person = controller.connect(place);
      await host.pass(10_000);
      await person;
      expect(controller.asked.order).toBeUndefined();
    },
  );
});

describe("the tunnel's interface", () => {
  claimConnected(
    "that someone deletes is a loss at once, and the tunnel is back at once",
    async (gateway) => {
      const { host } = gateway;
      const states: string[] = [];
      gateway.controller.onChange(() => states.push(gateway.controller.state.name));
      host.removeLink("wg0");
      await host.pass(400);
      expect(states).toEqual(["reconnecting", "connected"]);
      await host.pass(1_000);
      expect([...host.routes.values()]).toEqual(["wg1", "wg1"]);
      expect(stoodAlways(host)).toBe(true);
    },
  );

  for (const toldAfterMs of [0, 4, 70, 400]) {
    claimConnected(
      `that is deleted while its server is dead brings no flood of dials, where events take ${toldAfterMs} ms`,
      async (gateway) => {
        const { host } = gateway;
        host.toldAfterMs = toldAfterMs;
        const attempts = attemptsOn(gateway);
        host.silent.add(ENDPOINTS.one);
        host.removeLink("wg0");
        await host.pass(60_000);
        expect(attempts.length).toBeGreaterThanOrEqual(3);
        expect(attempts.length).toBeLessThanOrEqual(5);
      },
    );
  }

  const OTHER: Server = server("other", 3, { allowedIps: [cidr("0.0.0.0/0")] });

  claim("that is deleted does not hinder a connect to a server with fewer allowed IPs", async (gateway) => {
    const { host, controller } = gateway;
    await controller.connect(TWO);
    host.silent.add(ENDPOINTS.two);
    host.removeLink("wg0");
    await host.pass(12_000);
    await controller.connect(OTHER);
    await host.pass(1_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "other" });
    expect([...host.routes.keys()]).toEqual(["0.0.0.0/0"]);
  });

  const DAMAGES: [string, (host: FakeHost) => void][] = [
    ["an address", (host) => host.removeAddress("wg0", "10.64.0.1/32")],
    ["a route", (host) => host.removeRoute("::/0")],
    [
      "everything but itself",
      (host) => {
        host.removeRoute("::/0");
        host.removeRoute("0.0.0.0/0");
        host.removeAddress("wg0", "10.64.0.1/32");
        host.removeAddress("wg0", "fd00:64::1/128");
      },
    ],
  ];

  for (const [what, damage] of DAMAGES) {
    claimConnected(
      `from which someone takes ${what} has it back at once, and two alerts say so`,
      async (gateway) => {
        const { host } = gateway;
        const before = kernelState(host);
        await host.pass(10_000);
        damage(host);
        expect(kernelState(host)).not.toBe(before);
        await host.pass(10);
        expect(kernelState(host)).toBe(before);
        expect(gateway.alerts).toEqual(["routing_altered", "routing_restored"]);
        expect(gateway.controller.state.name).toBe("connected");
      },
    );
  }

  claimConnected("is mended though no event told of the damage, within 5 min", async (gateway) => {
    const { host } = gateway;
    const before = kernelState(host);
    host.routes.clear();
    await host.pass(301_500);
    expect(kernelState(host)).toBe(before);
  });
});

describe("an interface that is dialled", () => {
  const DIAL_MS = 2_000;
  const LOOK = "ip -j address show dev";

  /** A connect to server one, which takes its time; `during` is done in the middle of it. */
  async function dial(gateway: Gateway, during: () => void): Promise<void> {
    const { host, controller } = gateway;
    host.roundTrips.set(ENDPOINTS.one, DIAL_MS);
    const connected = controller.connect(ONE);
    await host.pass(DIAL_MS / 2);
    expect(controller.state.name).toBe("connecting");
    during();
    await host.pass(DIAL_MS);
    await connected;
  }

  for (const toldAfterMs of [0, 4, 70, 1_500]) {
    claim(
      `and from which someone takes an address has it back on arrival, where events take ${toldAfterMs} ms`,
      async (gateway) => {
        const { host } = gateway;
        host.toldAfterMs = toldAfterMs;
        await dial(gateway, () => host.removeAddress("wg0", "fd00:64::1/128"));
        await host.pass(10);
        expect(host.links.get("wg0")?.addresses).toContain("fd00:64::1/128");
        expect(gateway.alerts).toEqual(["routing_altered", "routing_restored"]);
      },
    );
  }

  claim("beside a tunnel that lives has what was taken back as soon as that one ends", async (gateway) => {
    const { host, controller } = gateway;
    await controller.connect(TWO);
    await host.pass(5_000);
    await dial(gateway, () => host.removeAddress("wg1", "fd00:64::1/128"));
    await host.pass(1_100);
    expect(host.links.get("wg1")?.addresses).toContain("fd00:64::1/128");
  });

  claim("again after its server died has what was taken back", async (gateway) => {
    const { host, controller } = gateway;
    await controller.connect(ONE);
    host.silent.add(ENDPOINTS.one);
    host.removeLink("wg0");
    await host.pass(5_000);
    host.removeAddress("wg1", "fd00:64::1/128");
    host.silent.clear();
    await host.pass(1_000);
    expect(controller.state.name).toBe("connected");
    await host.pass(1_100);
    expect(host.links.get("wg1")?.addresses).toContain("fd00:64::1/128");
  });

  claim("and from which nobody takes anything is not looked at", async (gateway) => {
    const { host, controller } = gateway;
    await dial(gateway, () => {});
    const before = host.commands.length;
    for (const [target, link] of [
      [TWO, "wg1"],
      [ONE, "wg0"],
    ] as const) {
      await Promise.all([controller.connect(target), host.pass(5_000)]);
      expect(await gateway.status()).toMatchObject({ server: target.name });
      expect(host.commands.slice(before)).not.toContain(`${LOOK} ${link}`);
    }
    await controller.disconnect();
    await dial(gateway, () => {});
    expect(host.commands.slice(before).filter((command) => command.startsWith(LOOK))).toEqual([]);
  });
});

describe("the watch", () => {
  claim("finds what happened before it began", async (gateway) => {
    const { host } = gateway;
    const before = kernelState(host);
    await gateway.restart();
    host.removeTable();
    host.changeRule("del", "-4", "priority 90 unreachable");
    gateway.watch();
    await host.pass(1_000);
    expect(kernelState(host)).toBe(before);
  });

  claimConnected("finds what happened while its programs were down, and listens again", async (gateway) => {
    const { host } = gateway;
    const before = kernelState(host);
    for (let time = 0; time < 3; time++) {
      host.endWatches();
      host.removeTable();
      host.removeRoute("::/0");
      await host.pass(2_000);
      expect(kernelState(host)).toBe(before);
      await host.pass(10_000);
      host.removeTable();
      await host.pass(10);
      expect(kernelState(host)).toBe(before);
    }
  });

  claimConnected(
    "repairs within seconds even if its programs never run, and says once that they do not",
    async (gateway) => {
      const { host } = gateway;
      const before = kernelState(host);
      host.refusesWatches = true;
      host.endWatches();
      await host.pass(20_000);
      for (let time = 0; time < 3; time++) {
        host.removeTable();
        await host.pass(7_000);
        expect(kernelState(host)).toBe(before);
      }
      const said = gateway.log.filter((line) => line.includes("does not run and is started again"));
      expect(said.length).toBe(3);
    },
  );

  claimConnected("flapping programs do not flood the log", async (gateway) => {
    const { host } = gateway;
    for (let time = 0; time < 100; time++) {
      host.endWatches();
      await host.pass(1_700);
    }
    const said = gateway.log.filter((line) => line.includes("does not run and is started again"));
    expect(said.length).toBeLessThanOrEqual(6);
  });

  const TAKEN: [string, (host: FakeHost) => void][] = [
    ["a route", (host) => host.removeRoute("::/0")],
    ["an address", (host) => host.removeAddress("wg0", "fd00:64::1/128")],
  ];

  for (const [what, take] of TAKEN) {
    claimConnected(`${what} of the tunnel comes back while nothing is watched`, async (gateway) => {
      const { host } = gateway;
      const before = kernelState(host);
      host.refusesWatches = true;
      host.endWatches();
      await host.pass(20_000);
      take(host);
      await host.pass(7_000);
      expect(kernelState(host)).toBe(before);
    });
  }

  claimConnected(
    "a failing check while unwatched is repeated each 5 s, not at each look",
    async (gateway) => {
      const { host } = gateway;
      host.refusesWatches = true;
      host.endWatches();
      await host.pass(20_000);
      const logged = gateway.log.length;
      host.fails = (count) => (host.commands[count - 1]?.startsWith("ip -j") ? "before" : null);
      await host.pass(60_000);
      const said = gateway.log.slice(logged);
      expect(said.filter((x) => x.includes("made to fail")).length).toBeLessThanOrEqual(26);
      expect(said.filter((x) => x.includes("interface is gone"))).toEqual([]);
    },
  );

  claim("programs that cannot be started are told of", async (gateway) => {
    const { host } = gateway;
    host.watch = () => {
      throw new Error("setpriv is missing");
    };
    await gateway.restart();
    gateway.watch();
    await host.pass(60_000);
    const said = gateway.log.filter((line) => line.includes("is started again"));
    expect(said.length).toBe(3);
  });

  /** Milliseconds from one look to the next, while `ms` go by. */
  async function lookTimes(gateway: Gateway, ms: number): Promise<number[]> {
    const { host } = gateway;
    const times: number[] = [];
    const look = host.read.bind(host);
    host.read = (path) => {
      if (path.endsWith("rx_packets")) times.push(host.monotonic());
      return look(path);
    };
    await host.pass(ms);
    return times.slice(1).map((time, index) => time - (times[index] ?? 0));
  }

  claimConnected("looks each second while clients send, and runs no program for it", async (gateway) => {
    const before = gateway.host.commands.length;
    expect(new Set(await lookTimes(gateway, 20_000))).toEqual(new Set([1_000]));
    expect(gateway.host.commands.slice(before)).toEqual([]);
  });

  claimConnected(
    "looks each 1.5 s while nobody sends, and asks WireGuard once a keepalive",
    async (gateway) => {
      const { host } = gateway;
      host.busy = false;
      await host.pass(30_000);
      const before = host.commands.length;
      const times = await lookTimes(gateway, 250_000);
      // A handshake that is renewed looks like a question and its answer: a second, and the rest until the next beat.
      expect(times.filter((time) => time !== 1_500).length).toBeLessThanOrEqual(6);
      expect(Math.max(...times)).toBe(1_500);
      const commands = host.commands.slice(before);
      expect(new Set(commands)).toEqual(new Set(["wg show wg0 dump"]));
      expect(commands.length).toBeLessThanOrEqual(12);
    },
  );

  claim("runs no program while there is no tunnel", async (gateway) => {
    const { host } = gateway;
    const before = host.commands.length;
    await host.pass(200_000);
    expect(host.commands.slice(before)).toEqual([]);
  });

  claimConnected("goes on judging the server while the kernel refuses the firewall", async (gateway) => {
    const { host } = gateway;
    host.fails = () => (host.commands.at(-1) === "nft -e -s -n -f -" ? "before" : null);
    host.removeTable();
    await host.pass(3_000);
    expect(await gateway.tunnels.protection.fault()).not.toBeNull();
    await loseServer(gateway);
  });

  claim("answers many events of the network with one look at it", async (gateway) => {
    const { host } = gateway;
    const before = host.commands.length;
    for (let event = 0; event < 50; event++) host.setDefaultRoute("up0");
    await host.pass(1_000);
    expect(host.commands.slice(before)).toEqual([
      "ip -j address show",
      "ip -j -4 route show",
      "ip -j -6 route show",
    ]);
  });
});

describe("a tunnel with an order of targets", () => {
  const orderOf = (gateway: Gateway) => gateway.status().then(({ order }) => order?.at);

  claim("takes the first that works, and keeps the order over a restart", async (gateway) => {
    const { controller, host } = gateway;
    host.silent.add(ENDPOINTS.one);
    const connecting = controller.connect([ONE, TWO]);
    await host.pass(HANDSHAKE_MS + 2_000);
    await connecting;
    const order = {
      targets: [
        { provider: "custom" as const, server: "one" },
        { provider: "custom" as const, server: "two" },
      ],
      at: 1,
    };
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two", error: null, order });
    expect((await controller.row()).order).toEqual(order);
    await gateway.restart();
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two", order });
    expect(stoodAlways(host)).toBe(true);
  });

  claim("none of which works says so of each, and stays where it was", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect(server("three", 3));
    host.silent.add(ENDPOINTS.one).add(ENDPOINTS.two);
    const failed = controller.connect([ONE, TWO]).catch((error: Error) => error.message);
    await host.pass(2 * HANDSHAKE_MS + 4_000);
    expect(await failed).toMatch(/^none of the 2 works: one did not answer .*; two did not answer /);
    const status = await gateway.status();
    expect([status.server, status.connected, status.order]).toEqual(["three", true, undefined]);
    expect(gateway.savedState.connection()?.order).toBeUndefined();
  });

  claim("already leads to the second and stays there if the first is silent", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect(TWO);
    const { link } = (controller.state as { session: { link: string } }).session;
    host.silent.add(ENDPOINTS.one);
    const connecting = controller.connect([ONE, TWO]);
    await host.pass(HANDSHAKE_MS + 2_000);
    await connecting;
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two" });
    expect(controller.state).toMatchObject({ name: "connected", session: { link } });
    expect(await orderOf(gateway)).toBe(1);
    expect(gateway.savedState.connection()?.order?.at).toBe(1);
  });

  claim("moves to the next after one dial in vain, without --failover", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect([ONE, TWO]);
    expect(await orderOf(gateway)).toBe(0);
    host.busy = true;
    await host.pass(3_000);
    await loseServer(gateway);
    await host.pass(2 * HANDSHAKE_MS);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two", error: null });
    expect(await orderOf(gateway)).toBe(1);
    expect(stoodAlways(host)).toBe(true);
  });

  claim("tells the journal why it has moved, and why it is back", async (gateway) => {
    const { controller, host } = gateway;
    const told: NewJournalEntry[] = [];
    controller.onChange(journalOf("main", { add: (happening) => void told.push(happening) }));
    await controller.connect([ONE, TWO], undefined, { back_after_minutes: 1 });
    host.busy = true;
    await host.pass(3_000);
    host.silent.add(ENDPOINTS.one);
    await host.pass(50_000);
    host.silent.clear();
    await host.pass(70_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one" });
    expect(told).toMatchObject([
      { state: "connected", server: "one" },
      { state: "reconnecting", server: "one" },
      { state: "connected", server: "two", moved: { from: "one", because: "silent" } },
      { state: "connected", server: "one", moved: { from: "two", because: "better_answers" } },
    ]);
    expect(told[0]).not.toHaveProperty("moved");
    for (const each of told)
      expect(entrySchema.Check({ id: 1, at: "2026-03-01T00:00:00Z", ...each })).toBe(true);
  });

  claim(
    "leaves a slow target for one that answers beside it, and has it back after its time",
    async (gateway) => {
      const { controller, host } = gateway;
      const told: NewJournalEntry[] = [];
      await controller.connect([ONE, TWO], undefined, { back_after_minutes: 10, move_when: ["slow"] });
      controller.onChange(journalOf("main", { add: (happening) => void told.push(happening) }));
      host.busy = true;
      host.silent.add(ENDPOINTS.two);
      host.trips.push(...Array.from({ length: 60 }, () => 900));
      const [before, attempts] = [kernelState(host), attemptsOn(gateway)];
      await host.pass(230_000);
      expect([attempts.map(({ endpoint }) => endpoint), told]).toEqual([[ENDPOINTS.two], []]);
      expect(kernelState(host)).toEqual(before);
      host.silent.clear();
      await host.pass(180_000);
      expect(await gateway.status()).toMatchObject({ connected: true, server: "two", order: { at: 1 } });
      host.trips.length = 0;
      await host.pass(500_000);
      expect(told).toMatchObject([{ server: "two", moved: { from: "one", because: "slow" } }]);
      await host.pass(200_000);
      expect(told[1]).toMatchObject({ server: "one", moved: { from: "two", because: "better_answers" } });
      expect(entrySchema.Check({ id: 1, at: "2026-03-01T00:00:00Z", ...told[0] })).toBe(true);
      expect(stoodAlways(host)).toBe(true);
    },
  );

  claim("tells at its arrival which target it has taken", async (gateway) => {
    const { controller, host } = gateway;
    host.silent.add(ENDPOINTS.one);
    const rows: ReturnType<typeof controller.row>[] = [];
    controller.onChange((state) => void (state.name === "connected" && rows.push(controller.row(state))));
    const connecting = controller.connect([ONE, TWO]);
    await host.pass(HANDSHAKE_MS + 2_000);
    await connecting;
    expect((await Promise.all(rows)).map(({ wanted, order }) => [wanted, order?.at])).toEqual([["two", 1]]);
  });

  claim("takes its best target when the server dies to which a schedule has moved it", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect([ONE, TWO]);
    await controller.connect(server("three", 3), controller.asked);
    host.busy = true;
    await host.pass(3_000);
    host.silent.add(ENDPOINTS.three);
    await host.pass(50_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one", order: { at: 0 } });
  });

  claim("tries the best first again when the second dies, and skips one that is gone", async (gateway) => {
    const { controller, host } = gateway;
    const [one, two, three] = [ONE, TWO, server("three", 3)];
    await controller.connect([two, one, three]);
    gateway.targets = [one, three];
    host.busy = true;
    await host.pass(3_000);
    host.silent.add(ENDPOINTS.two);
    await host.pass(50_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one" });
    gateway.targets = [two, one, three];
    await host.pass(3_000);
    host.silent.clear();
    host.silent.add(ENDPOINTS.one);
    await host.pass(50_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two", order: { at: 0 } });
  });

  claim(
    "goes back to the better one beside the live tunnel, with a permission that ends with each attempt",
    async (gateway) => {
      const { controller, host } = gateway;
      host.silent.add(ENDPOINTS.one);
      const connecting = controller.connect([ONE, TWO], undefined, { back_after_minutes: 10 });
      await host.pass(HANDSHAKE_MS + 2_000);
      await connecting;
      host.busy = true;
      await host.pass(5_000);
      const states = new Set<string>();
      controller.onChange((state) => void states.add(state.name));
      const permits = () => host.table?.includes("192.0.2.1 ") || host.table?.includes("192.0.2.1,");
      const [before, attempts] = [kernelState(host), attemptsOn(gateway)];
      expect(permits()).toBe(false);
      await host.pass(590_000);
      expect(attempts).toEqual([]);
      await host.pass(13_000);
      expect(permits()).toBe(true);
      await host.pass(12_000);
      expect(attempts.map(({ endpoint }) => endpoint)).toEqual([ENDPOINTS.one]);
      expect(permits()).toBe(false);
      expect(kernelState(host)).toEqual(before);
      expect(await gateway.status()).toMatchObject({ connected: true, server: "two", error: null });
      expect([...states]).toEqual([]);
      host.silent.clear();
      await host.pass(615_000);
      expect(await gateway.status()).toMatchObject({ connected: true, server: "one", order: { at: 0 } });
      expect([...states]).toEqual(["connected"]);
      expect(attempts).toHaveLength(2);
      await host.pass(700_000);
      expect(attempts).toHaveLength(2);
      expect(stoodAlways(host)).toBe(true);
    },
  );

  claim("dials at once when the live server dies in the middle of an attempt to go back", async (gateway) => {
    const { controller, host } = gateway;
    host.silent.add(ENDPOINTS.one);
    const connecting = controller.connect([ONE, TWO], undefined, { back_after_minutes: 1 });
    await host.pass(HANDSHAKE_MS + 2_000);
    await connecting;
    host.busy = true;
    await host.pass(50_000);
    host.silent.add(ENDPOINTS.two);
    for (let waited = 0; controller.state.name === "connected" && waited < 20_000; waited += 100)
      await host.pass(100);
    expect(controller.state.name).toBe("reconnecting");
    host.silent.clear();
    await host.pass(3_000);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two" });
    expect(stoodAlways(host)).toBe(true);
  });

  claim(
    "knows of the live server's death in the middle of an attempt, also when a check is due",
    async (gateway) => {
      const { controller, host } = gateway;
      const [three, four] = [server("three", 3), server("four", 4)];
      gateway.targets = [ONE, TWO, four, three];
      host.silent.add(ENDPOINTS.one).add(ENDPOINTS.two).add("192.0.2.4:51820");
      // The attempt after four minutes lasts half a minute, and five minutes after the start a check is due.
      await host.pass(10_000);
      const connecting = controller.connect([ONE, TWO, four, three], undefined, { back_after_minutes: 4 });
      await host.pass(3 * HANDSHAKE_MS + 2_000);
      await connecting;
      host.busy = true;
      const attempts = attemptsOn(gateway);
      while (attempts.length === 0) await host.pass(100);
      await host.pass(6_000);
      host.silent.add(ENDPOINTS.three);
      await host.pass(14_500);
      expect(controller.state.name).toBe("reconnecting");
    },
  );

  claim("is not led to a target that has died while the better ones were tried", async (gateway) => {
    const { controller, host } = gateway;
    const three = server("three", 3);
    await controller.connect(three);
    host.busy = true;
    await host.pass(3_000);
    host.silent.add(ENDPOINTS.one).add(ENDPOINTS.two).add(ENDPOINTS.three);
    const failed = controller.connect([ONE, TWO, three]).catch((error: Error) => error.message);
    await host.pass(16_000);
    expect([controller.state.name, controller.standing]).toMatchObject([
      "connecting",
      { name: "reconnecting", dead: true },
    ]);
    await host.pass(2 * HANDSHAKE_MS);
    expect(await failed).toMatch(/^none of the 3 works: /);
    expect(controller.state).toMatchObject({ name: "reconnecting", dead: true });
    expect(stoodAlways(host)).toBe(true);
  });

  claim("is cared for between two targets, and a disconnect ends what comes next", async (gateway) => {
    const { controller, host } = gateway;
    host.silent.add(ENDPOINTS.one).add(ENDPOINTS.two);
    const failed = controller.connect([ONE, TWO, server("three", 3)]).catch((error: Error) => error.message);
    await host.pass(1_000);
    let isChecked = false;
    void controller.checkTunnel().then(() => {
      isChecked = true;
    });
    await host.pass(HANDSHAKE_MS + 1_000);
    expect([isChecked, controller.state.name]).toEqual([true, "connecting"]);
    await controller.disconnect();
    expect([await failed, controller.state.name]).toEqual(["interrupted by a disconnect", "disconnected"]);
    expect((await gateway.status()).error).toBeNull();
    expect(stoodAlways(host)).toBe(true);
  });

  claim("loses it by a connect to one server", async (gateway) => {
    const { controller } = gateway;
    await controller.connect([ONE, TWO]);
    await controller.connect(ONE);
    const status = await gateway.status();
    expect([status.server, status.order]).toEqual(["one", undefined]);
    expect(gateway.savedState.connection()?.order).toBeUndefined();
  });
});
