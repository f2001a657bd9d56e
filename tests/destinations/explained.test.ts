import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Address, HostName } from "../../src/base/address.ts";
import { formatExit, parseExit } from "../../src/devices/exit.ts";
import type { DeviceId } from "../../src/devices/id.ts";
import { destinationExit } from "../../src/killswitch/destination-exits.ts";
import { cidr, ip, ips } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { defaultExitTo, exitTo, POLICIES } from "../killswitch/example.ts";
import { kernelWith } from "./kernel.ts";
import { DEVICES, EXITS, World } from "./world.ts";

const NAMES = ["a.test", "b.test", "x.a.test", "y.x.a.test", "c.b.test"];
const ADDRESSES = ips("192.0.2.1", "192.0.2.2", "192.0.2.70", "198.51.100.1");
const PREFIXES = ["192.0.2.0/24", "192.0.2.64/26", "192.0.2.1/32"];

/** A network behind a router, which sends with the MAC address of one of the devices. */
const ROUTED = cidr("10.8.7.0/24");
const SENDERS = [...DEVICES, ROUTED];
const packetOf = (id: DeviceId, to: Address) =>
  id === ROUTED
    ? { mac: DEVICES[0] ?? "", from: ip("10.8.7.5"), to }
    : { mac: id, from: ip("192.168.7.20"), to };

const some = <Item>(all: readonly Item[]) => fc.subarray([...all]);
const rules = fc.array(
  fc.record({
    names: some(NAMES),
    prefixes: some(PREFIXES),
    devices: some(SENDERS),
    exit: fc.constantFrom(...EXITS),
  }),
  { maxLength: 8 },
);
const answers = fc.array(fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...SENDERS), some(ADDRESSES)), {
  maxLength: 12,
});
const exits = fc.tuple(...SENDERS.map(() => fc.constantFrom("main", "amsterdam", "blocked")));

slow.test(
  "the exit that is explained is the exit that the kernel takes",
  () => {
    const seen = new Map<string, number>();
    return fc
      .assert(
        fc.asyncProperty(rules, answers, exits, fc.boolean(), async (bodies, learnt, own, isLost) => {
          const world = new World();
          const exitOf = (device: string) => own[SENDERS.indexOf(device as DeviceId)] ?? "main";
          world.exitOf = exitOf;
          for (const body of bodies) await world.destinations.add(body).catch(() => {});
          for (const [at, [name, device, addresses]] of learnt.entries()) {
            await world.learn(name, device, addresses);
            // What is learnt before this is unknown after it.
            if (isLost && at === 5) world.kept = null;
            if (isLost && at === 5) await world.restart();
          }
          const devices = DEVICES.map((id) => ({ id, exit: exitTo(exitOf(id)) }));
          const routed = [{ prefix: ROUTED, exit: defaultExitTo(exitOf(ROUTED)) }];
          const policy = { ...POLICIES["two-tunnels"], devices, routed, destinations: world.loaded };
          const exitOfPacket = kernelWith(policy);
          for (const id of SENDERS)
            for (const address of ADDRESSES) {
              const { exit, rule } = await world.destinations.explain(id, address);
              const taken = exitOfPacket(packetOf(id, address));
              const sender = { id, exit: parseExit(exitOf(id)) ?? ({ to: "blocked" } as const) };
              const known = destinationExit(policy, address, sender);
              expect(taken === "own" ? exitOf(id) : taken).toBe(exit);
              expect(known ? formatExit(known) : exitOf(id)).toBe(exit);
              const kind = `${rule === null ? "none" : "rule"} ${exit}`;
              seen.set(kind, (seen.get(kind) ?? 0) + 1);
            }
        }),
        { numRuns: 200 },
      )
      .then(() => {
        // The judge has seen every exit.
        for (const exit of EXITS) expect(seen.get(`rule ${exit}`) ?? 0).toBeGreaterThan(20);
      });
  },
  180_000,
);

test("when a device has asked is known, however much the others ask", async () => {
  const world = new World();
  const names = Array.from({ length: 128 }, (_, at) => `n${at}.test` as HostName);
  const rule = await world.destinations.add({ names, exit: "main" });
  const ask = (name: HostName, device: DeviceId) => {
    const match = world.destinations.matching.forName(name, device);
    if (match !== null) world.destinations.names.note(match, device);
  };
  const [tv = "", name] = [DEVICES[0], names[0] as HostName];
  ask(name, tv as DeviceId);
  for (let device = 16; device < 48; device += 1)
    for (const each of names) ask(each, `02:00:00:00:01:${device.toString(16)}` as DeviceId);
  expect((await world.destinations.explain(tv, name)).asked_at).not.toBeNull();
  await world.destinations.edit(rule.id, { names: names.slice(1) });
  await world.destinations.edit(rule.id, { names });
  expect((await world.destinations.explain(tv, name)).asked_at).toBeNull();
});

test("what the resolver does with a name that no rule is for is told", async () => {
  const world = new World();
  const [tv = "", phone = ""] = DEVICES;
  const { destinations } = world;
  const { why } = await destinations.explain(tv, "ads.test");
  expect(why).toContain("No rule is for this name");
  const isListed = (name: string, device: string) => name === "ads.test" && device === tv;
  world.resolves("on");
  const told = await destinations.explain(tv, "ads.test", isListed);
  expect([told.why, told.advice].join()).toMatch(/A list blocks this name.*dns open ads\.test/);
  expect((await destinations.explain(phone, "ads.test", isListed)).why).toBe(why.replaceAll(tv, phone));
  // No list holds for it.
  world.exitOf = () => "direct";
  expect((await destinations.explain(tv, "ads.test", isListed)).why).toContain("No rule is for this name");
  world.exitOf = () => "main";
  world.resolves("failed");
  await destinations.add({ names: ["shop.test"], exit: "amsterdam" });
  for (const name of ["ads.test", "shop.test"])
    expect((await destinations.explain(tv, name, isListed)).advice).toContain("all questions are refused");
});

test("whoever asks about a name of the home hears that no exit leads to it, and whether the gateway answers", async () => {
  const world = new World();
  const [tv = ""] = DEVICES;
  await world.destinations.add({ names: ["a.test"], exit: "amsterdam" });
  const explained = () => world.destinations.explain(tv, "nas.home.arpa");
  expect(await explained()).toMatchObject({ rule: null, why: expect.stringContaining("now nobody does") });
  world.resolves("on");
  expect(await explained()).toMatchObject({
    ...{ rule: null, by: null, exit: "main", open: true, advice: null },
    why: "It is a name of the home, which the gateway answers itself. No exit leads to it.",
  });
});
