import { expect } from "bun:test";
import { type Address, mustParseAddress } from "../../src/base/address.ts";
import { Bus } from "../../src/base/bus.ts";
import { GatewayError } from "../../src/base/errors.ts";
import type { Mac } from "../../src/base/mac.ts";
import type { ForwardEvents } from "../../src/forwards/active-forwards.ts";
import { Forwards } from "../../src/forwards/forwards.ts";
import {
  type Opener,
  type OpenPort,
  PortRefusal,
  type TunnelEnd,
  type WantedPort,
} from "../../src/forwards/opener.ts";
import { FORWARDS } from "../../src/forwards/saved.ts";
import type { Forward } from "../../src/forwards/schema.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "../tunnel/directory.ts";
import { Gateway, ONE, TWO } from "../tunnel/gateway.ts";

const { test } = slow;

const PATIENCE_MS = 60_000;
const MINUTE_MS = 60_000;
const TV = "02:00:00:00:00:20" as Mac;
const PHONE = "02:00:00:00:00:30" as Mac;
const TV_ID = { device: TV, protocol: "tcp", port: 6881 } as const;
const TV_AT = mustParseAddress("192.168.7.20");
const PHONE_AT = mustParseAddress("192.168.7.30");
const SILENCE = "the server does not answer requests for a port; it is asked again";

/** Opens ports at every server, as NAT-PMP does: each for a minute. */
class Provider implements Opener {
  readonly kind = "nat-pmp";
  /** What it was asked, by server. */
  readonly asked: string[] = [];
  /** What it answers instead of opening a port. */
  fault: unknown = null;
  isSilent = false;
  address: Address | null = mustParseAddress("203.0.113.9");
  next = 50_000;
  contact = () => ({ protocol: "udp", address: mustParseAddress("10.64.0.1"), port: 5351 }) as const;

  open: Opener["open"] = (way, { protocol, inside, external }: WantedPort) =>
    this.answer(`open ${way.session.server.name} ${protocol} ${inside} ${external ?? "any"}`, () => ({
      ...{ protocol, inside, external: external ?? this.next++, address: mustParseAddress("203.0.113.7") },
      ...{ renewAfterMs: 45_000, expiresAfterMs: 60_000 },
    }));

  renew: Opener["renew"] = (way, port) =>
    this.answer(`renew ${way.session.server.name} ${port.external}`, () => port);

  close: Opener["close"] = async (way, { external }) =>
    void this.asked.push(`close ${way.session.server.name} ${external}`);

  publicAddress = async ({ tunnel }: TunnelEnd) => {
    this.asked.push(`address at ${tunnel}`);
    return this.address;
  };

  private async answer(question: string, port: () => OpenPort): Promise<OpenPort> {
    this.asked.push(question);
    if (this.isSilent) await new Promise(() => {});
    if (this.fault !== null) throw this.fault;
    return port();
  }
}

/** A gateway whose providers open ports, with a TV and a phone. */
class World {
  readonly provider = new Provider();
  readonly told: Forward[] = [];
  readonly removed: string[] = [];
  readonly forwards: Forwards;

  constructor(readonly gateway: Gateway) {
    const { host, store, tunnels, devices } = gateway;
    const events = new Bus<ForwardEvents>((fault) => this.removed.push(fault));
    events.subscribe("forward_update", ({ payload }) => this.told.push(payload));
    events.subscribe("forward_removed", ({ payload: { device, protocol, port } }) =>
      this.removed.push(`${device} ${protocol} ${port}`),
    );
    this.forwards = new Forwards({
      ...{ host, store, tunnels, devices, killSwitch: tunnels.killSwitch },
      openerFor: () => this.provider,
      events,
      reserved: { has: () => false },
      log: { info: () => {}, warn: () => {} },
    });
  }

  /** Time goes by until the work is done. */
  async settled<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const end = work.finally(() => {
      done = true;
    });
    end.catch(() => {});
    while (!done) await this.gateway.host.pass(100);
    return end;
  }

  async hear(mac: Mac, address: string): Promise<void> {
    const heard = { interface: "lan0", address: mustParseAddress(address), heardMsAgo: 0, isLost: false };
    this.gateway.devices.saw({ ...heard, mac });
    await this.pass(1_000);
  }

  pass(ms: number): Promise<void> {
    return this.gateway.host.pass(ms);
  }

  /** What leads from the tunnels to devices now, in the kernel. */
  get led(): string[] {
    const rule = /iifname "(\w+)" meta nfproto ipv4 (\w+) dport (\d+) dnat ip to (\S+)/g;
    return [...(this.gateway.host.table ?? "").matchAll(rule)].map((found) => found.slice(1).join(" "));
  }

  /** State and reason, or external port. */
  async shown(): Promise<(string | number | null)[][]> {
    return (await this.forwards.list()).map(({ state, external, error }) => [state, external ?? error]);
  }

  async toTv(): Promise<void> {
    await this.settled(this.forwards.put(TV_ID, {}));
  }
}

/** A test with main connected to server one, and both devices heard. */
function claim(text: string, work: (world: World) => Promise<void>, run: typeof test = test): void {
  run(
    text,
    () =>
      inDirectory(async (directory) => {
        const world = new World(await Gateway.watched(directory));
        const { devices, controller } = world.gateway;
        devices.lanIs(controller.network.lans, controller.network.uplink);
        await world.settled(devices.reload());
        await world.settled(world.forwards.reload());
        await world.settled(world.gateway.controller.connect(ONE));
        await world.hear(TV, TV_AT);
        await world.hear(PHONE, PHONE_AT);
        await work(world);
      }),
    PATIENCE_MS,
  );
}

claim("a port is asked for, led to the device, and renewed in time", async (world) => {
  const row = await world.settled(world.forwards.put(TV_ID, {}));
  expect(row).toMatchObject({
    ...{ state: "open", external: 50_000, address: "203.0.113.7", tunnel: "main", opener: "nat-pmp" },
    ...{ asked_by: "operator", fixed: null, error: null, expires_at: null },
  });
  expect(world.led).toEqual(["wg0 tcp 6881 192.168.7.20:6881"]);
  await world.pass(2 * MINUTE_MS);
  expect(world.provider.asked).toEqual(["open one tcp 6881 any", "renew one 50000", "renew one 50000"]);
  expect(world.forwards.portsOf("main")).toEqual([50_000]);
});

claim("a port is renewed while nothing else comes back through the tunnel", async (world) => {
  await world.toTv();
  world.gateway.host.busy = true;
  world.gateway.host.hollow.add("192.0.2.1:51820");
  await world.pass(5 * MINUTE_MS);
  expect(await world.gateway.status()).toMatchObject({ unanswered: true });
  // An answer to it may be the first that comes.
  expect(world.provider.asked.filter((each) => each.startsWith("renew")).length).toBeGreaterThanOrEqual(5);
  expect(await world.shown()).toEqual([["open", 50_000]]);
});

claim("where its device is now is saved with a forward, not only where it goes later", async (world) => {
  await world.settled(world.forwards.put(TV_ID, {}));
  expect(FORWARDS.read(world.gateway.store)).toMatchObject([{ address: TV_AT }]);
});

claim("the address that ports lead to is kept as long as one does, and then forgotten", async (world) => {
  await world.toTv();
  await world.hear(TV, "192.168.7.21");
  const second = { ...TV_ID, port: 80 };
  await world.settled(world.forwards.put(second, {}));
  await world.settled(world.forwards.remove(TV_ID));
  expect(world.led).toEqual(["wg0 tcp 80 192.168.7.20:80"]);
  await world.settled(world.forwards.remove(second));
  await world.toTv();
  expect(world.led).toEqual(["wg0 tcp 6881 192.168.7.21:6881"]);
});

claim("a port that a renewal changes is told", async (world) => {
  await world.toTv();
  world.provider.renew = async (_, port) => ({ ...port, external: 50_007, inside: 7 });
  await world.pass(MINUTE_MS);
  expect(world.told.map(({ external }) => external)).toEqual([null, 50_000, 50_007]);
  expect(world.led).toEqual(["wg0 tcp 7 192.168.7.20:6881"]);
});

claim(
  "a port that another forward has is refused, and the service goes on when the tunnel moves",
  async (world) => {
    const { controller } = world.gateway;
    await world.toTv();
    const ofPhone = { ...TV_ID, device: PHONE };
    const phone = await world.settled(world.forwards.put(ofPhone, { external: TV_ID.port }));
    expect([phone.state, phone.error]).toEqual([
      "closed",
      "port 6881 of the main tunnel already leads to another device or port; remove that forward first",
    ]);
    for (const next of [TWO, ONE]) {
      await world.settled(controller.connect(next));
      await world.pass(MINUTE_MS);
    }
    expect((await world.shown()).map(([state]) => state).toSorted()).toEqual(["closed", "open"]);
  },
);

claim("a provider that does not answer is asked again, ever more rarely", async (world) => {
  world.provider.isSilent = true;
  const begun = world.gateway.host.monotonic();
  const row = await world.settled(world.forwards.put(TV_ID, {}));
  expect([row.state, row.error, world.led]).toEqual(["opening", null, []]);
  expect(world.gateway.host.monotonic() - begun).toBeLessThan(11_000);
  await world.pass(10 * MINUTE_MS);
  expect(await world.shown()).toMatchObject([[expect.any(String), SILENCE]]);
  expect(world.provider.asked.length).toBeWithin(8, 14);
  world.provider.isSilent = false;
  await world.pass(2 * MINUTE_MS);
  expect(await world.shown()).toEqual([["open", 50_000]]);
});

claim("a refusal is shown, and another server is asked at once", async (world) => {
  world.provider.fault = new PortRefusal("refused", { message: "this key has no port; make another one" });
  const row = await world.settled(world.forwards.put(TV_ID, {}));
  expect([row.state, row.error]).toEqual(["closed", "this key has no port; make another one"]);
  await world.pass(9 * MINUTE_MS);
  expect(world.provider.asked).toHaveLength(1);
  world.provider.fault = null;
  await world.settled(world.gateway.controller.connect(TWO));
  await world.pass(1_000);
  expect(await world.shown()).toEqual([["open", 50_000]]);
});

claim("a person who asks again for a port that was refused has the provider asked again", async (world) => {
  world.provider.fault = new PortRefusal("refused", { message: "no" });
  await world.toTv();
  world.provider.fault = null;
  await world.toTv();
  expect(await world.shown()).toEqual([["open", 50_000]]);
  await world.toTv();
  expect(world.provider.asked).toEqual(["open one tcp 6881 any", "open one tcp 6881 any"]);
  expect(world.removed).toEqual([]);
});

claim("a port whose renewal fails stays open until its time is over", async (world) => {
  await world.toTv();
  world.provider.fault = new GatewayError("unable", "lost");
  await world.pass(50_000);
  expect([await world.shown(), world.led.length]).toEqual([[["open", 50_000]], 1]);
  await world.pass(20_000);
  expect([await world.shown(), world.led]).toEqual([[["closed", "lost"]], []]);
});

claim("a switch opens a port at the next server, and nothing leads from there before", async (world) => {
  await world.toTv();
  world.provider.isSilent = true;
  await world.settled(world.gateway.controller.connect(TWO));
  await world.pass(2_000);
  expect([world.led, (await world.shown())[0]?.[0]]).toEqual([[], "opening"]);
  world.provider.isSilent = false;
  await world.pass(MINUTE_MS);
  expect(world.led).toEqual(["wg1 tcp 6881 192.168.7.20:6881"]);
  // The former port is asked for.
  expect(world.provider.asked.at(-1)).toBe("open two tcp 6881 50000");
});

claim("the port moves with the device's exit, and is closed where it was", async (world) => {
  const { gateway } = world;
  await world.settled(gateway.tunnels.opened("tv").then(({ controller }) => controller.connect(TWO)));
  await world.toTv();
  await world.settled(gateway.devices.assign(TV, { exit: "tv" }));
  expect(world.led).toEqual([]);
  await world.pass(2_000);
  expect(world.led).toEqual(["wg2 tcp 6881 192.168.7.20:6881"]);
  expect(world.provider.asked).toEqual([
    "open one tcp 6881 any",
    "close one 50000",
    "open two tcp 6881 50000",
  ]);
  const contacts = (gateway.host.table ?? "").match(/oifname "\w+" .* udp dport 5351 .*$/gm) ?? [];
  expect(contacts.map((rule) => rule.trim().replace(/ comment.*/, ""))).toEqual([
    'oifname "wg2" ip daddr 10.64.0.1 udp dport 5351 ct state new,established accept',
  ]);
});

claim("a removed port is closed at the provider too", async (world) => {
  await world.toTv();
  await world.settled(world.forwards.remove(TV_ID));
  expect([world.led, world.removed]).toEqual([[], [`${TV} tcp 6881`]]);
  expect(world.provider.asked.at(-1)).toBe("close one 50000");
});

claim("two devices with the same port have different ports inside the tunnel", async (world) => {
  await world.toTv();
  await world.settled(world.forwards.put({ ...TV_ID, device: PHONE }, {}));
  expect(world.provider.asked).toEqual(["open one tcp 6881 any", "open one tcp 6882 any"]);
  expect(world.led).toEqual(["wg0 tcp 6881 192.168.7.20:6881", "wg0 tcp 6882 192.168.7.30:6881"]);
  expect(world.forwards.portsOf("main")).toEqual([50_000, 50_001]);
});

claim("a device asks for a port of its own, for as long as it repeats the request", async (world) => {
  const request = {
    address: TV_AT,
    protocol: "udp",
    port: 3074,
    external: 3074,
    lifetimeMs: 600_000,
  } as const;
  const granted = await world.settled(world.forwards.map(request));
  expect(granted).toMatchObject({ external: 3074, lifetimeMs: 600_000, address: "203.0.113.7" });
  expect(await world.forwards.publicAddress(TV_AT)).toBe(mustParseAddress("203.0.113.7"));
  expect(await world.forwards.list()).toMatchObject([{ device: TV, asked_by: "device", state: "open" }]);
  await world.pass(8 * MINUTE_MS);
  // Nothing but the end of the request is new.
  expect(world.told.map(({ state }) => state)).toEqual(["opening", "open"]);
  await world.settled(world.forwards.map(request));
  await world.pass(8 * MINUTE_MS);
  expect(world.led).toEqual(["wg0 udp 3074 192.168.7.20:3074"]);
  await world.pass(3 * MINUTE_MS);
  expect([world.led, await world.forwards.list()]).toEqual([[], []]);
  expect(world.gateway.store.read("forwards")).toBeNull();
});

claim(
  "a device gives back what it has asked for, and nothing of a person's or another device's",
  async (world) => {
    const ask = (address: typeof TV_AT, port: number) =>
      world.settled(
        world.forwards.map({ ...{ address, port, external: null }, protocol: "tcp", lifetimeMs: 1e6 }),
      );
    await world.toTv();
    await ask(TV_AT, 80);
    await ask(TV_AT, 81);
    await ask(PHONE_AT, 80);
    const of = { address: TV_AT, protocol: "tcp" } as const;
    await world.settled(world.forwards.unmap({ ...of, port: 80 }));
    expect(world.forwards.unmap({ ...of, port: 6881 })).rejects.toThrow("a person has forwarded this port");
    expect(world.removed).toEqual([`${TV} tcp 80`]);
    // As many as possible, and yet a refusal (RFC 6886, section 3.4).
    await expect(world.settled(world.forwards.unmap({ ...of, port: null }))).rejects.toThrow(
      "a person has forwarded this port",
    );
    expect(world.removed).toEqual([`${TV} tcp 80`, `${TV} tcp 81`]);
    expect((await world.forwards.list()).map(({ device, port }) => [device, port])).toEqual([
      [TV, 6881],
      [PHONE, 80],
    ]);
  },
);

claim("a device asks for eight ports at most, and only with its own address", async (world) => {
  const ask = (port: number, address = TV_AT) =>
    world.settled(
      world.forwards.map({ ...{ address, port, external: null }, protocol: "tcp", lifetimeMs: 1e6 }),
    );
  for (let port = 8001; port <= 8008; port++) await ask(port);
  expect(ask(8009)).rejects.toMatchObject({ reason: "exhausted" });
  await ask(8001);
  expect(ask(80, mustParseAddress("192.168.7.99"))).rejects.toMatchObject({ reason: "refused" });
  expect(await world.forwards.list()).toHaveLength(8);
});

claim("a device that asks for a shorter time next has its port closed in time", async (world) => {
  const request = { address: TV_AT, protocol: "udp", port: 3074, external: null } as const;
  await world.settled(world.forwards.map({ ...request, lifetimeMs: 7_200_000 }));
  await world.settled(world.forwards.map({ ...request, lifetimeMs: 30_000 }));
  await world.pass(40_000);
  expect([world.led, await world.forwards.list()]).toEqual([[], []]);
});

claim(
  "devices that use up what they may ask for do not keep a person from forwarding a port",
  async (world) => {
    for (let device = 0; device < 8; device++) {
      await world.hear(`02:00:00:00:01:0${device}` as Mac, `192.168.7.10${device}`);
      for (let port = 8001; port <= 8008; port++) {
        const address = mustParseAddress(`192.168.7.10${device}`);
        const request = { ...{ address, port, external: null }, protocol: "tcp", lifetimeMs: 1e6 } as const;
        await world.settled(world.forwards.map(request));
      }
    }
    const request = { address: TV_AT, port: 80, external: null, protocol: "tcp", lifetimeMs: 1e6 } as const;
    expect(world.settled(world.forwards.map(request))).rejects.toMatchObject({ reason: "exhausted" });
    expect(await world.settled(world.forwards.put(TV_ID, {}))).toMatchObject({ state: "open" });
  },
  slow.test,
);

claim("what a device asks for in vain is not kept", async (world) => {
  world.provider.fault = new PortRefusal("unsupported", { message: "no" });
  const request = { address: TV_AT, protocol: "udp", port: 3074, external: null, lifetimeMs: 1e6 } as const;
  expect(world.settled(world.forwards.map(request))).rejects.toMatchObject({ reason: "unsupported" });
  await world.pass(1_000);
  expect(await world.forwards.list()).toEqual([]);
});

claim(
  "a forward ends even if the disk takes no writes, which is told, and saved when there is room",
  async (world) => {
    await world.settled(world.forwards.put(TV_ID, {}));
    const { store } = world.gateway;
    const { write } = store;
    const full = new GatewayError("storage_full", "The disk is full.");
    store.write = () => {
      throw full;
    };
    await expect(world.settled(world.forwards.remove(TV_ID))).rejects.toThrow(
      "The disk is full. The change is in force, but a restart would undo it",
    );
    expect([world.led, world.removed]).toEqual([[], [`${TV} tcp 6881`]]);
    await expect(world.settled(world.forwards.remove(TV_ID))).rejects.toThrow("The change is in force");
    await expect(world.settled(world.forwards.put(TV_ID, {}))).rejects.toThrow(full);
    expect(world.led).toEqual([]);
    store.write = write;
    await world.settled(world.forwards.put({ ...TV_ID, port: 6882 }, {}));
    expect(JSON.parse(store.read("forwards") ?? "").map(({ port }: { port: number }) => port)).toEqual([
      6882,
    ]);
  },
);

claim(
  "a removal that could not be saved is saved when it is repeated, and then there is none",
  async (world) => {
    await world.settled(world.forwards.put(TV_ID, {}));
    const { store } = world.gateway;
    const { write } = store;
    store.write = () => {
      throw new GatewayError("storage_full", "The disk is full.");
    };
    await expect(world.settled(world.forwards.remove(TV_ID))).rejects.toThrow("The change is in force");
    store.write = write;
    await world.settled(world.forwards.remove(TV_ID));
    expect(FORWARDS.read(store)).toEqual([]);
    await expect(world.settled(world.forwards.remove(TV_ID))).rejects.toThrow("there is no such forward");
  },
);

claim(
  "a removal that could not be saved is saved when it is repeated, even if the device has asked for the port since",
  async (world) => {
    await world.settled(world.forwards.put(TV_ID, {}));
    const { store } = world.gateway;
    const { write } = store;
    store.write = () => {
      throw new GatewayError("storage_full", "The disk is full.");
    };
    await expect(world.settled(world.forwards.remove(TV_ID))).rejects.toThrow("The change is in force");
    const request = { address: TV_AT, protocol: "tcp", port: 6881, external: null, lifetimeMs: 1e6 } as const;
    await world.settled(world.forwards.map(request));
    await expect(world.settled(world.forwards.remove(TV_ID))).rejects.toThrow("The change is in force");
    expect(world.led).toEqual([]);
    await world.settled(world.forwards.map(request));
    store.write = write;
    await world.settled(world.forwards.remove(TV_ID));
    expect([world.led, FORWARDS.read(store)]).toEqual([[], []]);
  },
);

claim(
  "a restart brings no removed forward back, even if the provider has not answered yet",
  async (world) => {
    await world.toTv();
    world.provider.close = () => new Promise<never>(() => {});
    const removed = world.forwards.remove(TV_ID);
    await world.pass(100);
    expect(world.gateway.store.read("forwards")).toBe("[]");
    await world.settled(removed);
  },
);

claim("what could not be saved is saved as soon as it can be, and no event is needed", async (world) => {
  const { store } = world.gateway;
  const stopping = new AbortController();
  const watching = world.forwards.watch(stopping.signal);
  await world.toTv();
  const { write } = store;
  store.write = () => {
    throw new GatewayError("storage_full", "The disk is full.");
  };
  await expect(world.settled(world.forwards.remove(TV_ID))).rejects.toThrow("The disk is full.");
  store.write = write;
  expect(FORWARDS.read(store)).toHaveLength(1);
  await world.pass(15_000);
  expect(FORWARDS.read(store)).toEqual([]);
  stopping.abort();
  await world.settled(watching);
});

claim("a provider that does not answer keeps no other change waiting", async (world) => {
  const second = { ...TV_ID, port: 80 };
  await world.toTv();
  await world.settled(world.forwards.put(second, {}));
  expect(world.led).toHaveLength(2);
  world.provider.close = () => new Promise<never>(() => {});
  const changes = [
    world.forwards.remove(TV_ID),
    world.forwards.remove(second),
    world.forwards.put({ ...TV_ID, device: PHONE, protocol: "udp" }, {}),
  ];
  await world.pass(100);
  expect(world.led).toEqual([]);
  expect(JSON.parse(world.gateway.store.read("forwards") ?? "")).toMatchObject([{ device: PHONE }]);
  await world.settled(Promise.all(changes));
});

claim("a restored backup's forwards are opened, and others closed", async (world) => {
  await world.toTv();
  const saved = [{ device: PHONE, protocol: "udp", port: 9 }];
  world.gateway.store.write("forwards", JSON.stringify(saved));
  await world.settled(world.forwards.reload());
  await world.pass(1_000);
  expect(world.led).toEqual(["wg0 udp 9 192.168.7.30:9"]);
});

claim("after a restart a port leads nowhere until its device answers at its last address", async (world) => {
  const at = "192.168.7.40";
  const camera = { device: "02:00:00:00:00:40", protocol: "tcp", port: 554, address: at };
  const { host, store } = world.gateway;
  host.answering.set(at, "02:00:00:00:00:99");
  store.write("forwards", JSON.stringify([camera]));
  await world.settled(world.forwards.reload());
  await world.pass(2 * MINUTE_MS);
  const unseen = "the device was not seen on the LAN yet; the port opens as soon as it is";
  expect([await world.shown(), world.led]).toEqual([[["closed", unseen]], []]);
  expect(world.provider.asked).toEqual([]);
  host.answering.set(at, camera.device);
  await world.pass(MINUTE_MS);
  expect([await world.shown(), world.led]).toEqual([[["open", 50_000]], [`wg0 tcp 554 ${at}:554`]]);
  // Then it is not asked for any more.
  const before = host.commands.length;
  await world.pass(2 * MINUTE_MS);
  expect(host.commands.slice(before).filter((each) => each.includes("neigh replace"))).toEqual([]);
});

claim("a device that only listens keeps its port, however many others are invented", async (world) => {
  await world.toTv();
  const open = [["open", 50_000]];
  for (let number = 0; number < 600; number++) {
    const hex = number.toString(16).padStart(4, "0");
    const address = mustParseAddress(`fd00:7::${hex}`);
    const mac = `02:00:00:01:${hex.slice(0, 2)}:${hex.slice(2)}` as Mac;
    world.gateway.devices.saw({ interface: "lan0", address, heardMsAgo: 0, isLost: false, mac });
  }
  await world.pass(1_000);
  expect([await world.shown(), world.led]).toEqual([open, ["wg0 tcp 6881 192.168.7.20:6881"]]);
});

claim(
  "a device learns the public address of its tunnel before it has a port, and from its ports",
  async (world) => {
    const address = (device: Address) => world.settled(world.forwards.publicAddress(device));
    expect(await address(TV_AT)).toBe(mustParseAddress("203.0.113.9"));
    world.provider.address = null;
    // Devices may ask as often as they like.
    expect(await address(TV_AT)).toBe(mustParseAddress("203.0.113.9"));
    await world.pass(10_000);
    expect(await address(TV_AT)).toBeNull();
    await world.toTv();
    expect(await address(PHONE_AT)).toBe(mustParseAddress("203.0.113.7"));
    expect(world.provider.asked).toEqual(["address at main", "address at main", "open one tcp 6881 any"]);
    await world.settled(world.gateway.controller.disconnect());
    expect(await address(PHONE_AT)).toBeNull();
  },
);

claim("only that request is permitted into another tunnel, and only while it is under way", async (world) => {
  const { gateway, provider } = world;
  await world.settled(gateway.tunnels.opened("second").then(({ controller }) => controller.connect(TWO)));
  await world.settled(gateway.devices.assign(TV, { exit: "second" }));
  const permitted = () => gateway.host.table?.includes("udp dport 5351 ct state new,established accept");
  expect(permitted()).toBe(false);
  const seen: unknown[] = [];
  provider.publicAddress = async ({ tunnel }) => {
    seen.push(tunnel, permitted());
    return null;
  };
  await world.settled(world.forwards.publicAddress(TV_AT));
  expect([seen, permitted()]).toEqual([["second", true], false]);
});

claim("the ports of a server that has lost them are renewed within five seconds", async (world) => {
  await world.toTv();
  await world.settled(world.forwards.put({ ...TV_ID, protocol: "udp" }, {}));
  const { state } = world.gateway.controller;
  if (state.name !== "connected") throw new Error("main is not connected");
  world.provider.asked.splice(0);
  void world.forwards.renewAll({ tunnel: "main", session: state.session });
  await world.pass(5_500);
  expect(world.provider.asked.toSorted()).toEqual(["renew one 50000", "renew one 50001"]);
  void world.forwards.renewAll({ tunnel: "main", session: { ...state.session } });
  await world.pass(5_500);
  expect(world.provider.asked).toHaveLength(2);
});
