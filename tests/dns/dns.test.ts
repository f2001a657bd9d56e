import { afterEach, expect, test } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import type { DeviceId } from "../../src/devices/id.ts";
import { Dns } from "../../src/dns/dns.ts";
import { questionIn } from "../../src/dns/question.ts";
import { OTHERS, type Resolver } from "../../src/dns/resolver.ts";
import type { OwnResolver, PolicyPart } from "../../src/killswitch/policy.ts";
import { cidr, cidrs, ips } from "../fake/address.ts";
import { until } from "../rig/tools/until.ts";
import { query } from "./messages.ts";

/** Loopback is this home's LAN. */
const OWN = ips("127.53.0.1");
const NETWORK = cidr("10.8.0.0/16");
const macs = (...ends: number[]) =>
  ends.map((end) => `02:00:00:00:${end.toString(16).padStart(4, "0").replace(/../, "$&:")}` as Mac);
const [TV, PHONE, ROUTER] = macs(1, 2, 3) as [Mac, Mac, Mac];

const open: Dns[] = [];
afterEach(async () => {
  for (const dns of open.splice(0)) await stop(dns);
});

const stop = (dns: Dns) => dns.watch(AbortSignal.abort());

/** A gateway whose firewall leads each device to the port that it was told, as soon as it has accepted that. */
function home() {
  const world = {
    isWanted: true,
    own: OWN,
    decided: [TV, NETWORK] as DeviceId[],
    others: [PHONE] as Mac[],
    /** What the firewall has; null if nobody is led. */
    led: null as OwnResolver | null,
    /** Each thing that was told to the firewall, with who answers at the ports of the one before. */
    told: [] as PolicyPart["resolver"][],
    refuses: false,
    asked: [] as DeviceId[],
    remarks: [] as string[],
  };
  const dns = new Dns({
    host: { read: async () => null, monotonic: () => 0, sleep: async () => {} },
    killSwitch: {
      update: async (_, part) => {
        // Packets come also while the firewall is changed.
        await expectOwnPorts();
        if (world.refuses) throw new Error("the kernel refuses");
        world.led = part?.resolver ?? null;
        world.told.push(part?.resolver);
        await expectOwnPorts();
      },
    },
    network: () => ({
      lans: [{ interface: "lo", prefixes: cidrs("127.0.0.0/8", "::1/128") }],
      addresses: world.own,
    }),
    isWanted: () => world.isWanted,
    askers: () => world,
    routersTo: () => [ROUTER],
    resolver: {
      answer: async (message: Uint8Array, device: DeviceId) => {
        world.asked.push(device);
        return { question: questionIn(message), answer: message };
      },
    } as unknown as Resolver,
    events: { publish: () => {} },
    log: { info: (text) => void world.remarks.push(text), warn: (text) => void world.remarks.push(text) },
  });
  open.push(dns);
  /** Whoever is led to a port is answered there as itself, or by nobody. */
  const expectOwnPorts = async () => {
    for (const { id, port } of world.led?.askers ?? [])
      if (port !== null) expect([null, id]).toContain(await answererAt(port));
    // Whoever is not told apart is answered as all others are.
    if (world.own !== OWN && world.led !== null && (await answererAt(world.led.port)) === OTHERS)
      expect(world.led.askers.map(({ id }) => id)).toContain(TV);
  };
  /** As whom a question at the port is answered; null if nothing listens there. */
  const answererAt = async (port: number) => {
    world.asked = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = await Bun.udpSocket({
      connect: { hostname: OWN[0] ?? "", port },
      socket: { data: () => resolve(), error: () => resolve() },
    });
    socket.send(query("example.com"));
    await promise;
    socket.close();
    return world.asked[0] ?? null;
  };
  const portOf = (id: DeviceId) => world.led?.askers.find((asker) => asker.id === id)?.port;
  return { world, dns, answererAt, portOf };
}

test("each device is led to a port where it is answered as itself, and nobody to one that is not open", async () => {
  const { world, dns, answererAt, portOf } = home();
  await dns.update();
  expect([dns.state, await answererAt(world.led?.port ?? 0)]).toEqual(["on", OTHERS]);
  for (const id of [TV, NETWORK, PHONE]) expect(await answererAt(portOf(id) ?? 0)).toBe(id);
  expect(world.led?.askers.map(({ id, routers }) => [id, routers])).toEqual([
    [TV, []],
    [NETWORK, [ROUTER]],
    [PHONE, []],
  ]);
  // The first thing that is told leads nobody: another service may have left a table with other ports.
  expect(world.told[0]?.askers.filter(({ port }) => port !== null)).toEqual([]);
  // Nor is a device taken for another while the gateway's own addresses change.
  world.own = ips("127.53.0.1", "::1");
  await dns.update();
  expect(await answererAt(portOf(TV) ?? 0)).toBe(TV);
});

test("devices that come and go have ports of their own at each moment; a port goes to nobody else meanwhile", async () => {
  const { world, dns, answererAt, portOf } = home();
  await dns.update();
  const former = portOf(PHONE) ?? 0;
  for (let round = 10; round < 20; round += 1) {
    world.others = macs(round, round + 1, round + 2);
    dns.follow();
    await dns.update();
    for (const id of world.others) expect(await answererAt(portOf(id) ?? 0)).toBe(id);
  }
  expect([portOf(PHONE), await answererAt(former)]).toEqual([undefined, null]);
});

test("a port that another program has goes to no device, and the next one does", async () => {
  const { world, dns, portOf } = home();
  await dns.update();
  const next = Math.max(...(world.led?.askers ?? []).map(({ port }) => port ?? 0)) + 1;
  const other = await Bun.udpSocket({ hostname: OWN[0] ?? "", port: next });
  const [late] = macs(30) as [Mac];
  world.others = [PHONE, late];
  await dns.update();
  expect(portOf(late)).toBe(next + 1);
  other.close();
});

test("while the port of all others is taken, nothing is answered, and it is told", async () => {
  const { world, dns } = home();
  const other = await Bun.udpSocket({ hostname: OWN[0] ?? "", port: 10_053 });
  await dns.update();
  expect([dns.state, dns.reason]).toEqual(["failed", expect.stringContaining("EADDRINUSE")]);
  // The firewall refuses those about whom something is decided.
  expect(world.led?.askers).toEqual(
    [TV, NETWORK].map((id) => ({ id, port: null, routers: id === TV ? [] : [ROUTER] })),
  );
  other.close();
  await dns.update();
  expect(dns.state).toBe("on");
});

test("if the kernel refuses a change, no port changes hands, and the next look makes it", async () => {
  const { world, dns, answererAt, portOf } = home();
  await dns.update();
  const port = portOf(PHONE) ?? 0;
  world.refuses = true;
  world.others = macs(40);
  await expect(dns.update()).rejects.toThrow("the kernel refuses");
  expect(await answererAt(port)).toBe(PHONE);
  world.refuses = false;
  await dns.update();
  expect([portOf(PHONE), await answererAt(portOf(world.others[0] as Mac) ?? 0)]).toEqual([
    undefined,
    world.others[0],
  ]);
});

test("a device that opens as many TCP connections as it can leaves others theirs", async () => {
  const { dns, portOf } = home();
  await dns.update();
  let closed = 0;
  const connect = (id: DeviceId) =>
    Bun.connect({
      ...{ hostname: OWN[0] ?? "", port: portOf(id) ?? 0 },
      socket: {
        data: ({ data }, bytes) => data.resolve(bytes.length),
        close: () => {
          closed += 1;
        },
        error() {},
      },
      data: Promise.withResolvers<number>(),
    });
  const all = await Promise.all(Array.from({ length: 300 }, () => connect(TV)));
  await until(async () => closed === all.length - 25);
  const message = query("example.com");
  const phone = await connect(PHONE);
  phone.write(Buffer.concat([Buffer.from([0, message.length]), message]));
  expect(await phone.data.promise).toBeGreaterThan(message.length);
  for (const socket of [...all, phone]) socket.terminate();
});

test("of the devices that nobody has decided about, those that have a port keep it, and there are 256", async () => {
  const { world, dns, portOf } = home();
  await dns.update();
  const port = portOf(PHONE);
  world.others = [PHONE, ...macs(...Array.from({ length: 300 }, (_, index) => 0x100 + index))];
  await dns.update();
  expect(portOf(PHONE)).toBe(port);
  expect(world.led?.askers).toHaveLength(256 + world.decided.length);
  // Of the others, the last that were heard.
  expect([portOf(world.others[1] as Mac), typeof portOf(world.others[300] as Mac)]).toEqual([
    undefined,
    "number",
  ]);
  world.isWanted = false;
  await dns.update();
  expect([dns.state, world.led]).toEqual(["off", null]);
});
