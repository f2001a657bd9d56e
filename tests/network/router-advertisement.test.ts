import { expect, test } from "bun:test";
import fc from "fast-check";
import { routerAdvertisementIn, routerSolicitation } from "../../src/network/router-advertisement.ts";
import { advertisementPacket } from "./advertisement.ts";

/** A route with a lifetime of 600 s to a prefix in hexadecimal. */
const route = (length: number, prefix: string) =>
  `18${(1 + prefix.length / 16).toString(16).padStart(2, "0")}${length.toString(16).padStart(2, "0")}0000000258${prefix}`;
const RESOLVER = "fd0000070000000000000000000000fe";

const lifetimeOf = (options: string, lifetime = 0) =>
  routerAdvertisementIn(advertisementPacket({ lifetime, options }))?.lifetime ?? null;

test("an advertisement has the router's address, its lifetime and its resolvers", () => {
  const options = `0101020000000099${"1903000000000258"}${RESOLVER}`;
  expect(routerAdvertisementIn(advertisementPacket({ options })) as unknown).toEqual({
    router: "fe80::99",
    lifetime: 1_800,
    resolvers: ["fd00:7::fe"],
  });
  expect(routerAdvertisementIn(advertisementPacket({ lifetime: 0 })) as unknown).toEqual({
    router: "fe80::99",
    lifetime: 0,
    resolvers: [],
  });
  const withdrawn = `1903000000000000${RESOLVER}`;
  expect(routerAdvertisementIn(advertisementPacket({ options: withdrawn }))?.resolvers).toEqual([]);
});

test("a route to the internet counts like a default route; one to a private network does not", () => {
  expect(lifetimeOf(route(0, ""))).toBe(600);
  expect(lifetimeOf(route(3, "2000000000000000"))).toBe(600);
  expect(lifetimeOf(route(48, "20010db800070000"))).toBe(600);
  expect(lifetimeOf(route(6, "fc00000000000000"))).toBe(600);
  expect(lifetimeOf(route(48, "20010db800070000"), 1_800)).toBe(1_800);
  // As the border routers of Thread advertise.
  expect(lifetimeOf(route(64, "fd12345678900001"))).toBe(0);
  expect(lifetimeOf(route(7, "fc00000000000000"))).toBe(0);
  expect(lifetimeOf(route(64, "fe80000000000000"))).toBe(0);
});

test("what devices ignore is none", () => {
  const isOne = (given: Parameters<typeof advertisementPacket>[0]) =>
    routerAdvertisementIn(advertisementPacket(given)) !== null;
  expect(isOne({})).toBe(true);
  // From another link, or not from a router's own address on this one.
  expect(isOne({ hopLimit: 254 })).toBe(false);
  expect(isOne({ from: "2001:db8::99" })).toBe(false);
  expect(isOne({ from: "::" })).toBe(false);
  expect(isOne({ code: 1 })).toBe(false);
  expect(isOne({ type: 133 })).toBe(false);
  // An option without a length, one that is cut off, and a route that is too short for its prefix.
  expect(isOne({ options: "0100020000000099" })).toBe(false);
  expect(isOne({ options: "0102020000000099" })).toBe(false);
  expect(lifetimeOf(route(64, ""))).toBe(0);
  expect(lifetimeOf(route(129, "20010db80007000020010db800070000"))).toBe(0);
  expect(routerAdvertisementIn(routerSolicitation())).toBeNull();
});

test("a solicitation is one that routers answer to all hosts of the link", () => {
  expect(Buffer.from(routerSolicitation()).toString("hex")).toBe(
    `6000000000083aff${"00".repeat(16)}ff02000000000000000000000000000285007bb800000000`,
  );
});

const WHOLE = advertisementPacket({ options: `${route(3, "2000000000000000")}1903000000000258${RESOLVER}` });

test("an advertisement with one wrong bit is none: its checksum is checked", () => {
  // Class and flow label are not in the checksum, and neither is what is behind the message.
  for (let bit = 8 * 8; bit < 8 * WHOLE.length; bit += 1) {
    const copy = Uint8Array.from(WHOLE);
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(routerAdvertisementIn(copy)).toBeNull();
  }
  expect(routerAdvertisementIn(Buffer.concat([WHOLE, Buffer.from("padding")]))).not.toBeNull();
});

test("whatever bytes arrive, the parser ends and does not throw", () => {
  const short = fc.nat(WHOLE.length).map((length) => WHOLE.subarray(0, length));
  const options = fc
    .uint8Array({ maxLength: 512 })
    .map((bytes) => advertisementPacket({ options: Buffer.from(bytes).toString("hex") }));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 600 }), short, options), (bytes) => {
      const found = routerAdvertisementIn(bytes);
      for (const address of found === null ? [] : [found.router, ...found.resolvers])
        expect(address).toMatch(/^[0-9a-f:.]+$/);
    }),
    { numRuns: 5_000 },
  );
});
