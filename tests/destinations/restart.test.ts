import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { ips } from "../fake/address.ts";
import { runs, sampled } from "../fast.ts";
import { DEVICES, EXITS, World } from "./world.ts";

const NAMES = ["a.test", "b.test", "x.a.test", "c.b.test"];
const ADDRESSES = ips("192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1");

type Deed = (world: World) => Promise<unknown>;

const some = <Item>(all: readonly Item[], minLength: number) => fc.subarray([...all], { minLength });
const index = fc.nat({ max: 5 });
const body = fc.record({
  names: some(NAMES, 1),
  devices: some(DEVICES, 0),
  exit: fc.constantFrom(...EXITS),
});

/** Rules have other ids in each world, and the same order. */
const idAt = (world: World, at: number) => world.rules[at % Math.max(1, world.rules.length)]?.id ?? "none";

const added = body.map(
  (rule): Deed =>
    (world) =>
      world.destinations.add(rule),
);
const learnt = fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...DEVICES), some(ADDRESSES, 1)).map(
  ([name, device, addresses]): Deed =>
    (world) =>
      world.learn(name, device, addresses),
);
const edited = fc
  .tuple(
    index,
    fc.oneof(body, fc.record({ names: some(NAMES, 1) }), fc.record({ exit: fc.constantFrom(...EXITS) })),
  )
  .map(
    ([at, change]): Deed =>
      (world) =>
        world.destinations.edit(idAt(world, at), change),
  );
const removed = index.map(
  (at): Deed =>
    (world) =>
      world.destinations.remove(idAt(world, at)),
);
const deeds = fc
  .tuple(added, fc.array(fc.oneof(added, learnt, learnt, edited, removed), { minLength: 2, maxLength: 14 }))
  .map((all) => all.flat());

/** A rule may contradict another, or be gone. */
const play = async (world: World, all: readonly Deed[]) => {
  for (const deed of all) await deed(world).catch(() => {});
};

sampled.test(
  "whatever is decided and learnt, a restart changes none of the kernel's sets",
  () =>
    fc.assert(
      fc.asyncProperty(deeds, deeds, async (before, after) => {
        const [world, other] = [new World(), new World()];
        for (const each of [before, after]) {
          await play(world, each);
          await play(other, each);
          await other.restart();
          expect(other.sets).toEqual(world.sets);
        }
      }),
      { numRuns: runs(150) },
    ),
  60_000,
);

sampled.test(
  "wherever the service is killed, the next one has what was before a change or what is after it",
  () =>
    fc.assert(
      fc.asyncProperty(
        deeds,
        fc.oneof(added, learnt, edited, removed),
        fc.nat({ max: 2 }),
        async (past, deed, effects) => {
          const [killed, before, after] = [new World(), new World(), new World()];
          for (const world of [killed, before, after]) await play(world, past);
          await play(after, [deed]);
          await killed.killAfter(effects, () => deed(killed));
          await killed.restart();
          expect([before.sets, after.sets]).toContainEqual(killed.sets);
        },
      ),
      { numRuns: runs(150) },
    ),
  60_000,
);

const [TV, PHONE] = DEVICES as [(typeof DEVICES)[number], (typeof DEVICES)[number]];
const many = (net: number, count: number) =>
  ips(...Array.from({ length: count }, (_, at) => `198.${net}.${at >> 8}.${at & 255}`));

test("each rule of a group has its own addresses after a restart", async () => {
  const world = new World();
  const names = ["a.test", "b.test", "c.test"];
  const rules = [];
  for (const name of names) rules.push(await world.destinations.add({ names: [name], exit: "amsterdam" }));
  for (const [net, name] of names.entries()) await world.learn(name, TV, many(net, 100));
  await world.restart();
  const counts = () => world.destinations.list().destinations.map(({ addresses }) => addresses);
  expect(counts()).toEqual([100, 100, 100]);
  // There is room for as many as before, a removed rule ends, and what another still has stays.
  expect(await world.learn("a.test", PHONE, many(9, 300))).toBe(true);
  await world.learn("b.test", TV, many(0, 1));
  await world.destinations.remove(rules[0]?.id ?? "");
  expect(counts()).toEqual([101, 100]);
  expect(world.sets.join()).toContain("198.0.0.0,");
  expect(world.sets.join()).not.toMatch(/198\.(0\.0\.1|9\.0\.0),/);
});

test("an address is led for as long as its answer says, or an hour, however often the service starts", async () => {
  const HOUR_MS = 3_600_000;
  const world = new World();
  await world.destinations.add({ names: ["a.test"], exit: "amsterdam" });
  const [short, long] = [ips("192.0.2.1"), ips("192.0.2.2")];
  await world.learn("a.test", TV, long, 5 * HOUR_MS);
  world.now += 4 * HOUR_MS;
  await world.learn("a.test", TV, short);
  await world.learn("a.test", TV, long, 5 * HOUR_MS);
  for (let time = 0; time < 5; time += 1) {
    await world.restart();
    await world.learn("a.test", TV, ips(`192.0.2.${10 + time}`));
  }
  const led = async (hours: number) => {
    world.now += hours * HOUR_MS + 1;
    await world.destinations.names.expire();
    return /192\.0\.2\.[12](?=,| )/g.exec(world.sets.join())?.[0];
  };
  expect(world.sets.join()).toContain("192.0.2.1, 192.0.2.10,");
  expect(await led(1)).toBe("192.0.2.2");
  expect(await led(3)).toBe("192.0.2.2");
  expect(await led(1)).toBeUndefined();
});

test("what cannot be kept is not told, and goes nowhere", async () => {
  const world = new World();
  await world.destinations.add({ names: ["a.test"], exit: "amsterdam" });
  await world.learn("a.test", TV, ips("192.0.2.9"));
  const before = world.sets;
  world.isFull = true;
  expect(await world.learn("a.test", TV, ADDRESSES)).toBe(false);
  const row = () => world.destinations.list().destinations[0];
  expect(row()).toMatchObject({ addresses: 1, warning: expect.stringContaining("cannot be written") });
  // What was written before is told.
  expect(await world.learn("a.test", TV, ips("192.0.2.9"))).toBe(true);
  world.isFull = false;
  await world.destinations.reload();
  expect(world.sets).toEqual(before);
  expect(await world.learn("a.test", TV, ADDRESSES)).toBe(true);
  expect(row()).toMatchObject({ addresses: 5, warning: null });
});

test("the resolver is told of the first name, even if its rule only blocks and cannot be saved", async () => {
  const world = new World();
  let told = 0;
  world.events.subscribe("lookups_changed", () => {
    told += 1;
  });
  world.isFull = true;
  await expect(world.destinations.add({ names: ["a.test"], exit: "amsterdam" })).rejects.toThrow("killed");
  expect(world.rules).toEqual([]);
  told = 0;
  const added = world.destinations.add({ names: ["a.test"], exit: "blocked" });
  await expect(added).rejects.toThrow("The change is in force");
  expect([world.rules.length, told]).toEqual([1, 1]);
});

test("a rule that blocks and could not be saved may be put again, whatever was asked for meanwhile", async () => {
  const world = new World();
  const { id } = await world.destinations.add({ names: ["a.test"], exit: "amsterdam" });
  world.isFull = true;
  for (let times = 0; times < 2; times++) {
    await expect(world.destinations.edit(id, { exit: "blocked" })).rejects.toThrow("The change is in force");
    await world.learn("x.a.test", TV, ADDRESSES);
  }
});

test("the removal of a rule that could not be saved may be repeated until it is", async () => {
  const world = new World();
  const { id } = await world.destinations.add({ names: ["a.test"], exit: "direct" });
  world.isFull = true;
  for (let times = 0; times < 2; times++)
    await expect(world.destinations.remove(id)).rejects.toThrow("The change is in force");
  world.isFull = false;
  await world.destinations.remove(id);
  await expect(world.destinations.remove(id)).rejects.toThrow("there is no such rule");
  await world.restart();
  expect(world.rules).toEqual([]);
});

test("what is lost is refused to its devices until they ask again, and for an hour at most", async () => {
  const world = new World();
  await world.destinations.add({ names: ["a.test"], exit: "amsterdam" });
  await world.destinations.add({ names: ["b.test"], devices: [TV], exit: "main" });
  await world.learn("a.test", PHONE, ips("192.0.2.1", "192.0.2.2"));
  await world.learn("b.test", TV, ips("192.0.2.3"));
  for (const lost of [null, "{", "[[1]]"]) {
    world.kept = lost;
    await world.restart();
    const exits = async (device: string) =>
      Promise.all(
        ADDRESSES.slice(0, 3).map(
          async (address) => (await world.destinations.explain(device, address)).exit,
        ),
      );
    expect(await exits(PHONE)).toEqual(["blocked", "blocked", "main"]);
    expect(await exits(TV)).toEqual(["blocked", "blocked", "blocked"]);
    expect((await world.destinations.explain(TV, "192.0.2.3")).why).toContain("has lost which");
  }
  expect(await world.learn("a.test", PHONE, ips("192.0.2.1"))).toBe(true);
  expect((await world.destinations.explain(TV, "192.0.2.1")).exit).toBe("amsterdam");
  expect((await world.destinations.explain(TV, "192.0.2.2")).exit).toBe("blocked");
});
