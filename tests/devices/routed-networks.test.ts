import { expect, test } from "bun:test";
import { mustParseAddress, type Prefix } from "../../src/base/address.ts";
import type { DeviceId } from "../../src/devices/id.ts";
import { RoutedNetworks } from "../../src/devices/routed-networks.ts";

const OFFICE = "10.8.0.0/16" as Prefix;
const LAB = "10.8.3.0/24" as Prefix;
const NOW_MS = 1_000_000;

/** Both networks behind a router on lan0; addresses were heard so many milliseconds ago. */
function networks(heard: Record<string, number> = {}, interfaces = ["lan0"], overlap: string | null = null) {
  const decided: DeviceId[] = [OFFICE, LAB, "02:00:00:00:00:20" as DeviceId];
  const addresses = Object.entries(heard).map(([address, ago]) => ({
    address: mustParseAddress(address),
    heardAt: NOW_MS - ago,
  }));
  return new RoutedNetworks({
    host: { monotonic: () => NOW_MS },
    decided: () => decided,
    wayTo: () => ({ interfaces, overlap }),
    heardIn: () => addresses,
  });
}

test("an address is of the most specific network that people have declared", () => {
  expect(networks().prefixes).toEqual([OFFICE, LAB]);
  const owners = ["10.8.3.7", "10.8.4.7", "10.9.0.7"].map((each) => networks().of(mustParseAddress(each)));
  expect(owners).toEqual([LAB, OFFICE, null]);
});

test("a network is online while one of its addresses was heard lately and a route leads to it", () => {
  const heard = { "10.8.3.7": 1_000, "10.8.3.8": 900_000 };
  const addresses = Object.keys(heard).map(mustParseAddress);
  const presence = { addresses, heardAt: NOW_MS - 1_000 };
  expect(networks(heard).presence(LAB)).toEqual({ ...presence, interface: "lan0", isOnline: true });
  expect(networks(heard, []).presence(LAB)).toEqual({ ...presence, interface: null, isOnline: false });
  expect(networks({ "10.8.3.8": 900_000 }).presence(LAB).isOnline).toBe(false);
  expect(networks().presence(LAB)).toEqual({
    ...{ interface: "lan0", addresses: [], heardAt: null, isOnline: false },
  });
});

test("a network whose addresses something else has is refused by name", () => {
  expect(() => networks({}, ["lan0"], "the uplink's network 10.8.0.0/24").refuseOverlap(LAB)).toThrow(
    "id: 10.8.3.0/24 overlaps the uplink's network 10.8.0.0/24; a prefix is for what is behind another router of the LAN",
  );
  expect(() => networks().refuseOverlap(LAB)).not.toThrow();
});
