import { expect, test } from "bun:test";
import type { Address } from "../../src/base/address.ts";
import type { Server } from "../../src/servers/schema.ts";
import { reachedBy, reachedLike, wishIn } from "../../src/servers/transport.ts";
import { blockedBefore, offersRelay, type ServerPath, waysToTry } from "../../src/servers/ways.ts";
import { ips } from "../fake/address.ts";
import { ONE, placeOf, TWO } from "../tunnel/gateway.ts";

const OFFERS: Server = { ...ONE, ports: [[443, 443]], offers: { udp2tcp: [443, 80] } };
const PLAIN = [{ port: 51_820 }, { port: 443 }];
const cutOff = (...ways: ServerPath[]) => ways.map((way) => ({ ...way, afterCutOff: true as const }));
const TCP = [443, 80].map((port) => ({ port, transport: "udp2tcp" as const }));

test("plain WireGuard is tried first, then what the list offers, and what has worked before all", () => {
  expect(waysToTry(OFFERS, null)).toEqual([...PLAIN, ...TCP]);
  expect(waysToTry(OFFERS, { port: 443 })).toEqual([...PLAIN.toReversed(), ...TCP]);
  expect(waysToTry(OFFERS, { port: 80, transport: "udp2tcp" })).toEqual([
    { port: 80, transport: "udp2tcp" },
    ...PLAIN,
    { port: 443, transport: "udp2tcp" },
  ]);
  // It was another server's.
  expect(waysToTry(OFFERS, { port: 5001, transport: "udp2tcp" })).toEqual([...PLAIN, ...TCP]);
  expect(waysToTry(ONE, { port: 443, transport: "udp2tcp" })).toEqual([{ port: 51_820 }]);
});

test("where plain WireGuard was cut off it comes last, and what was asked for comes alone", () => {
  expect(waysToTry(OFFERS, null, true)).toEqual(cutOff(...TCP, ...PLAIN));
  expect(waysToTry({ ...OFFERS, transport: "plain" }, { port: 80, transport: "udp2tcp" }, true)).toEqual(
    PLAIN,
  );
  expect(waysToTry({ ...OFFERS, transport: "udp2tcp" }, { port: 80, transport: "udp2tcp" })).toEqual(
    TCP.toReversed(),
  );
});

const HIDES: Server = { ...ONE, ports: [[53, 60_000]], offers: { lwo: true, udp2tcp: [443] } };
const HIDDEN = [51_820, 443].map((port) => ({ port, transport: "lwo" as const }));

test("a hidden header comes after plain WireGuard, at few ports, and before TCP", () => {
  const plain = [51_820, 443, 53, 30_026].map((port) => ({ port }));
  const [tcp = { port: 0 }] = TCP;
  expect(waysToTry(HIDES, null)).toEqual([...plain, ...HIDDEN, tcp]);
  expect(waysToTry(HIDES, { port: 443, transport: "lwo" })).toEqual([
    { port: 443, transport: "lwo" },
    ...plain,
    { port: 51_820, transport: "lwo" },
    tcp,
  ]);
  expect(waysToTry({ ...HIDES, transport: "lwo" }, null)).toEqual(HIDDEN);
  // A flow of UDP was cut off here: TCP is no such flow, also if LWO has worked before.
  expect(waysToTry(HIDES, null, true)).toEqual(cutOff(tcp, ...HIDDEN, ...plain));
  expect(waysToTry(HIDES, { port: 51_820, transport: "lwo" }, true)).toEqual(
    cutOff(tcp, ...HIDDEN, ...plain),
  );
  expect(offersRelay(HIDES)).toBe(true);
  expect(offersRelay({ offers: { udp2tcp: [80] } })).toBe(true);
  expect(offersRelay(ONE)).toBe(false);
});

test("Shadowsocks comes between them, at an address of its own and at the usual one in turn", () => {
  const by = "shadowsocks" as const;
  const ports = [[51_900, 51_949]] as const;
  const usual = { ...ONE, offers: { shadowsocks: { ports }, udp2tcp: [443] } };
  expect(waysToTry(usual, null)).toEqual([
    { port: 51_820 },
    { port: 51_924, transport: by },
    { port: 443, transport: "udp2tcp" },
  ]);
  const [address] = ips("192.0.2.77");
  const both = {
    ...usual,
    offers: { ...usual.offers, shadowsocks: { ports, addresses: [address as Address] }, lwo: true as const },
  };
  const first = { address, port: 443, transport: by };
  const second = { port: 51_924, transport: by };
  expect(waysToTry({ ...both, transport: by }, null)).toEqual([first, second] as ServerPath[]);
  expect(waysToTry(both, null).map(({ transport }) => transport)).toEqual([
    undefined,
    "lwo",
    by,
    by,
    "udp2tcp",
  ]);
  expect(waysToTry(both, second).slice(0, 2)).toEqual([{ ...second, address }, second] as ServerPath[]);
  expect(
    waysToTry(
      { ...both, offers: { shadowsocks: { ports: [], addresses: [address as Address] } }, transport: by },
      null,
    ),
  ).toEqual([first, { address, port: 53, transport: by }] as ServerPath[]);
});

test("what is blocked is told by the way that gets through, unless that was asked for or says nothing", () => {
  const both: Server = { ...ONE, offers: { lwo: true, udp2tcp: [443] } };
  expect(blockedBefore({}, both)).toBeNull();
  expect(blockedBefore({ transport: "lwo" }, both)).toBe("wireguard");
  expect(blockedBefore({ transport: "shadowsocks" }, both)).toBe("wireguard");
  expect(blockedBefore({ transport: "udp2tcp" }, both)).toBe("udp");
  expect(blockedBefore({ transport: "udp2tcp" }, OFFERS)).toBeNull();
  expect(blockedBefore({ transport: "udp2tcp", afterCutOff: true }, both)).toBe("flows");
  expect(blockedBefore({ transport: "lwo", afterCutOff: true }, both)).toBeNull();
  expect(blockedBefore({ transport: "udp2tcp" }, { ...both, transport: "udp2tcp" })).toBeNull();
});

test("a target is reached as was asked, or refused in words", () => {
  expect(reachedBy(OFFERS)).toBe(OFFERS);
  expect(reachedBy(OFFERS, "auto")).toBe(OFFERS);
  expect(wishIn(reachedBy(OFFERS, "udp2tcp"))).toBe("udp2tcp");
  expect(wishIn(reachedBy(ONE, "plain"))).toBe("plain");
  expect(wishIn(reachedBy(HIDES, "lwo"))).toBe("lwo");
  expect(() => reachedBy(OFFERS, "lwo")).toThrow("transport: one does not offer lwo");
  expect(() => reachedBy(ONE, "udp2tcp")).toThrow(
    "transport: one does not offer udp2tcp; choose another server, or auto",
  );
  const place = placeOf([OFFERS, TWO]);
  expect(reachedBy(place, "udp2tcp").servers.map(({ name }) => name)).toEqual(["one"]);
  expect(wishIn(reachedBy(place, "plain"))).toBe("plain");
  expect(() => reachedBy(placeOf([TWO]), "udp2tcp")).toThrow("offers udp2tcp; choose another place, or auto");
  const via = { name: "two", country: "", city: "" };
  expect(() => reachedBy({ ...OFFERS, via }, "udp2tcp")).toThrow(
    "two hops are reached by plain WireGuard only",
  );
  const hops = { name: "one", provider: ONE.provider, exit: ONE, entry: TWO };
  expect(() => reachedBy(hops, "udp2tcp")).toThrow("two hops");
  expect(wishIn(reachedBy(hops, "plain"))).toBeUndefined();
});

test("a server that takes another one's place is reached in the same way, or does not take it", () => {
  expect(reachedLike(OFFERS, { transport: "udp2tcp" })?.transport).toBe("udp2tcp");
  expect(reachedLike(TWO, { transport: "udp2tcp" })).toBeNull();
  expect(reachedLike(TWO, {})).toBe(TWO);
});

const OF_AMNEZIA: Server = {
  ...OFFERS,
  config: { ...ONE.config, interface: { ...ONE.config.interface, amnezia: { s1: 5 } } },
};

test("a server with settings of AmneziaWG is reached by that at its port, whatever else has worked or is offered", () => {
  const ways: ServerPath[] = [{ port: 51_820, transport: "amnezia" }];
  expect(waysToTry(OF_AMNEZIA, null)).toEqual(ways);
  expect(waysToTry(OF_AMNEZIA, { port: 443 }, true)).toEqual(ways);
  expect(waysToTry({ ...OF_AMNEZIA, transport: "amnezia" }, { port: 80, transport: "udp2tcp" })).toEqual(
    ways,
  );
  expect(blockedBefore({ transport: "amnezia" }, OF_AMNEZIA)).toBeNull();
});

test("such a server refuses other ways, and others refuse that one", () => {
  expect(reachedBy(OF_AMNEZIA, "amnezia")).toEqual({ ...OF_AMNEZIA, transport: "amnezia" });
  for (const wish of ["plain", "udp2tcp", "lwo"] as const)
    expect(() => reachedBy(OF_AMNEZIA, wish)).toThrow(
      `does not offer ${wish}; choose another server, or auto`,
    );
  expect(() => reachedBy(OFFERS, "amnezia")).toThrow(
    "does not offer amnezia; choose another server, or auto",
  );
});
