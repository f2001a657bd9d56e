import { expect, test } from "bun:test";
import { mustParseAddress } from "../../src/base/address.ts";
import type { Mac } from "../../src/base/mac.ts";
import { MAX_UNNAMED_DEVICES, Neighbourhood, SILENT_MS } from "../../src/devices/neighbourhood.ts";
import type { Neighbour } from "../../src/network/neighbours.ts";

const TV = "02:00:00:00:00:20" as Mac;
const PHONE = "02:00:00:00:00:30" as Mac;

function heard(mac: Mac, address: string, more: Partial<Neighbour> = {}): Neighbour {
  return {
    interface: "lan0",
    address: mustParseAddress(address),
    mac,
    heardMsAgo: 0,
    isLost: false,
    ...more,
  };
}
const lost = (address: string): Neighbour => ({
  ...heard(TV, address),
  mac: null,
  heardMsAgo: null,
  isLost: true,
});

class World {
  now = 1_000_000;
  readonly kept = new Set<Mac>();
  readonly all = new Neighbourhood(
    () => this.now,
    (mac) => this.kept.has(mac),
  );
  get tv() {
    return this.all.presence(TV);
  }
}

test("a device has the addresses that it uses, IPv4 first, without link-local ones", () => {
  const world = new World();
  for (const address of ["fe80::20", "fd00:7::20", "2001:db8::20", "192.168.7.20"])
    expect(world.all.take(heard(TV, address))).toEqual([TV]);
  expect(world.tv).toEqual({
    interface: "lan0",
    addresses: ["192.168.7.20", "fd00:7::20", "2001:db8::20"],
    heardAt: 1_000_000,
    isOnline: true,
  });
  expect(world.all.presence(PHONE)).toBeNull();
});

test("an address that fails is not shown while the device has others; the device goes offline with its last", () => {
  const world = new World();
  world.all.take(heard(TV, "192.168.7.20"));
  world.all.take(heard(TV, "fd00:7::20"));
  expect(world.all.take(lost("fd00:7::20"))).toEqual([TV]);
  expect(world.tv).toMatchObject({ addresses: ["192.168.7.20"], isOnline: true });
  world.all.take(lost("192.168.7.20"));
  // Where it was last.
  expect(world.tv).toMatchObject({ addresses: ["192.168.7.20", "fd00:7::20"], isOnline: false });
  world.all.take(heard(TV, "192.168.7.20"));
  expect(world.tv?.isOnline).toBe(true);
  expect(world.all.take(lost("192.168.7.99"))).toEqual([]);
});

test("a device that is silent goes offline; a doubt of the kernel's is no sign of life", () => {
  const world = new World();
  world.all.take(heard(TV, "192.168.7.20"));
  world.now += SILENT_MS - 1;
  expect(world.tv?.isOnline).toBe(true);
  world.all.take(heard(TV, "192.168.7.20", { heardMsAgo: null }));
  world.now += 1;
  expect(world.tv).toMatchObject({ heardAt: 1_000_000, isOnline: false });
});

test("an address that moves to another device is that one's alone", () => {
  const world = new World();
  world.all.take(heard(TV, "192.168.7.20"));
  expect(world.all.take(heard(PHONE, "192.168.7.20"))).toEqual([TV, PHONE]);
  expect(world.tv).toMatchObject({ addresses: [], isOnline: false });
  expect(world.all.presence(PHONE)).toMatchObject({ addresses: ["192.168.7.20"], isOnline: true });
  // The same address on another cable is another host's.
  world.all.take(heard(TV, "192.168.7.20", { interface: "lan1" }));
  expect(world.tv).toMatchObject({ interface: "lan1", addresses: ["192.168.7.20"], isOnline: true });
  expect(world.all.presence(PHONE)?.isOnline).toBe(true);
});

test("after a gap, what is no longer in the table is lost, and what is says since when", () => {
  const world = new World();
  world.all.take(heard(TV, "192.168.7.20"));
  world.now += 60_000;
  world.all.takeAll([heard(PHONE, "192.168.7.30", { heardMsAgo: 5_000 })]);
  expect(world.tv).toMatchObject({ heardAt: 1_000_000, isOnline: false });
  expect(world.all.presence(PHONE)).toMatchObject({ heardAt: 1_055_000, isOnline: true });
  // An older entry of the same device does not make it older.
  world.all.takeAll([heard(PHONE, "192.168.7.30"), heard(PHONE, "fd00:7::30", { heardMsAgo: 90_000 })]);
  expect(world.all.presence(PHONE)?.heardAt).toBe(1_060_000);
});

const macOf = (number: number) =>
  `02:00:00:00:${(number >> 8).toString(16).padStart(2, "0")}:${(number & 255).toString(16).padStart(2, "0")}` as Mac;

test("invented devices push each other out, and never one that is named or assigned", () => {
  const world = new World();
  world.kept.add(macOf(0));
  for (let number = 0; number < 3 * MAX_UNNAMED_DEVICES; number++)
    world.all.take(heard(macOf(number), `10.0.${number >> 8}.${number & 255}`));
  expect(world.all.macs).toHaveLength(MAX_UNNAMED_DEVICES + 1);
  expect(world.all.presence(macOf(0))?.addresses).toEqual(["10.0.0.0"]);
  expect(world.all.presence(macOf(1))).toBeNull();
  // The one that was heard last stays the longest.
  world.all.take(heard(macOf(2 * MAX_UNNAMED_DEVICES), "10.0.4.0"));
  for (let number = 1; number < MAX_UNNAMED_DEVICES; number++)
    world.all.take(heard(macOf(number), `10.0.${number >> 8}.${number & 255}`));
  expect(world.all.presence(macOf(2 * MAX_UNNAMED_DEVICES))).not.toBeNull();
  expect(world.all.presence(macOf(2 * MAX_UNNAMED_DEVICES + 1))).toBeNull();
});

test("one more stranger costs the same, however many there are", () => {
  let questions = 0;
  const all = new Neighbourhood(
    () => 0,
    () => {
      questions += 1;
      return false;
    },
  );
  for (let number = 0; number < 4 * MAX_UNNAMED_DEVICES; number++)
    all.take(heard(macOf(number), `10.0.${number >> 8}.${number & 255}`));
  expect(all.macs).toHaveLength(MAX_UNNAMED_DEVICES);
  expect(questions).toBeLessThanOrEqual(2 * 4 * MAX_UNNAMED_DEVICES);
});

test("a device whose name was taken back while it was silent is a stranger like others", () => {
  const world = new World();
  for (let number = 0; number < 10; number++) {
    world.kept.add(macOf(number));
    world.all.take(heard(macOf(number), `10.1.0.${number}`));
  }
  world.kept.clear();
  world.all.takeAll([]);
  for (let number = 10; number < 10 + MAX_UNNAMED_DEVICES; number++)
    world.all.take(heard(macOf(number), `10.0.${number >> 8}.${number & 255}`));
  expect(world.all.macs).toHaveLength(MAX_UNNAMED_DEVICES);
  expect(world.all.presence(macOf(0))).toBeNull();
});

test("invented addresses of one device push out its oldest", () => {
  const world = new World();
  for (let number = 1; number <= 100; number++) world.all.take(heard(TV, `192.168.7.${number}`));
  expect(world.tv?.addresses).toHaveLength(16);
  expect(world.tv?.addresses[0]).toBe("192.168.7.85");
  // A lost entry of an address that was pushed out concerns no one.
  expect(world.all.take(lost("192.168.7.1"))).toEqual([]);
});
