import { describe, expect, test } from "bun:test";
import type { TunnelEnd } from "../../src/forwards/opener.ts";
import { PortRefusal } from "../../src/forwards/opener.ts";
import { slotOf } from "../../src/network/slot.ts";
import { RESULT } from "../../src/port-mapping/nat-pmp.ts";
import { NatPmpOpener } from "../../src/port-mapping/opener.ts";
import { sessionFor } from "../../src/tunnel/session.ts";
import { cidrs, ip, ips } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { server } from "../tunnel/gateway.ts";
import { ProviderNatPmp } from "./provider.ts";

const WANTED = { protocol: "tcp", inside: 6881, external: null } as const;
const OPEN = {
  protocol: "tcp",
  external: 50_326,
  inside: 6881,
  address: ip("203.0.113.7"),
  renewAfterMs: 45_000,
  expiresAfterMs: 60_000,
} as const;
const never = new AbortController().signal;

function wayTo({ addresses = ["10.2.0.2/32"], dns = ["10.2.0.1"], slot = 0 } = {}): TunnelEnd {
  const listed = server("one", 1);
  const own = { ...listed.config.interface, addresses: cidrs(...addresses), dns: ips(...dns) };
  const at = { ...listed, config: { ...listed.config, interface: own } };
  const session = sessionFor(slotOf(slot, "wg"), at, { address: ip("198.51.100.1"), port: 51820 }, null);
  return { tunnel: slot === 0 ? "main" : "other", session };
}

function begin(address: string | null = "203.0.113.7") {
  const host = new FakeHost();
  const provider = new ProviderNatPmp(() => host.monotonic() / 1000, address === null ? null : ip(address));
  host.datagrams.onSent = (bytes) => provider.answer(bytes);
  const lost: string[] = [];
  const opener = new NatPmpOpener({ host, events: { publish: ({ payload }) => lost.push(payload.tunnel) } });
  return { host, provider, opener, lost };
}

/** The requests that went out, each with the milliseconds since the first. */
function sendings(host: FakeHost) {
  const all: [number, string][] = [];
  const since = host.monotonic();
  const { onSent } = host.datagrams;
  host.datagrams.onSent = (...sent) => {
    all.push([host.monotonic() - since, sent[0].toHex()]);
    return onSent(...sent);
  };
  return all;
}

describe("a port", () => {
  test("is opened at the gateway inside the tunnel, from the tunnel's interface and with its mark", async () => {
    const { host, opener } = begin();
    expect(await opener.open(wayTo(), WANTED, never)).toEqual(OPEN);
    const place = { link: "wg0", mark: 0x104e, peer: { address: ip("10.2.0.1"), port: 5351 } };
    expect(host.datagrams.sent).toEqual([
      { place, to: "10.2.0.1:5351", hex: "000200001ae100000000003c" },
      { place, to: "10.2.0.1:5351", hex: "0000" },
    ]);
    expect(host.datagrams.places).toEqual([]);
  });

  test("of another tunnel is asked for with that tunnel's mark", async () => {
    const { host, opener } = begin();
    await opener.open(wayTo({ slot: 1 }), WANTED, never);
    expect(host.datagrams.sent[0]?.place).toMatchObject({ link: "wg2", mark: 0x114e });
  });

  test("is renewed with the number that it has, and the address is not asked for again", async () => {
    const { host, opener } = begin();
    const way = wayTo();
    const port = await opener.open(way, WANTED, never);
    host.datagrams.sent.splice(0);
    expect(await opener.renew(way, port, never)).toEqual(OPEN);
    expect(host.datagrams.sent.map(({ hex }) => hex)).toEqual(["000200001ae1c4960000003c"]);
  });

  test("that the server gives to another is a new number", async () => {
    const { host, provider, opener } = begin();
    const way = wayTo();
    const port = await opener.open(way, WANTED, never);
    host.setClock(0);
    provider.restart();
    provider.isObliging = false;
    expect(await opener.renew(way, port, never)).toEqual({ ...OPEN, external: 50_327 });
  });

  test("for less time than was asked is renewed earlier, and for more no later", async () => {
    const { provider, opener } = begin();
    provider.longest = 20;
    expect(await opener.open(wayTo(), WANTED, never)).toMatchObject({ renewAfterMs: 15_000 });
    provider.longest = 1;
    expect(await opener.open(wayTo(), WANTED, never)).toMatchObject({
      renewAfterMs: 5_000,
      expiresAfterMs: 1_000,
    });
    provider.longest = 7_200;
    expect(await opener.open(wayTo(), WANTED, never)).toMatchObject({ renewAfterMs: 45_000 });
  });

  test("that is closed is free at the server", async () => {
    const { provider, opener } = begin();
    const way = wayTo();
    await opener.close(way, await opener.open(way, WANTED, never), never);
    expect(provider.mappings).toEqual([]);
  });

  test("needs no public address", async () => {
    const { opener } = begin(null);
    expect(await opener.open(wayTo(), WANTED, never)).toEqual({ ...OPEN, address: null });
    const unknown = begin("0.0.0.0");
    expect(await unknown.opener.open(wayTo(), WANTED, never)).toEqual({ ...OPEN, address: null });
  });

  test("for both protocols has one number", async () => {
    const { opener } = begin();
    const way = wayTo();
    await opener.open(way, WANTED, never);
    expect(await opener.open(way, { ...WANTED, protocol: "udp" }, never)).toMatchObject({ external: 50_326 });
  });
});

describe("the gateway inside the tunnel is", () => {
  const contact = (given: Parameters<typeof wayTo>[0]) =>
    begin().opener.contact(wayTo(given))?.address ?? null;

  test("its private resolver, or else the first address of its network", () => {
    expect(contact({ dns: ["fd00::1", "10.96.0.1"] })).toBe(ip("10.96.0.1"));
    expect(contact({ addresses: ["172.16.9.7/32"], dns: ["9.9.9.9"] })).toBe(ip("172.16.9.1"));
    expect(contact({ addresses: ["172.16.9.7/32"], dns: [] })).toBe(ip("172.16.9.1"));
  });

  test("none without IPv4, and never the tunnel's own address", async () => {
    expect(contact({ addresses: ["fd00::2/128"], dns: ["fd00::1"] })).toBeNull();
    expect(contact({ addresses: ["172.16.9.1/32"], dns: [] })).toBeNull();
    const way = wayTo({ addresses: ["fd00::2/128"], dns: [] });
    await expect(begin().opener.open(way, WANTED, never)).rejects.toThrow(PortRefusal);
  });
});

describe("requests", () => {
  test("are repeated as the RFC says, and a server that stays silent is given up after 7.75 s", async () => {
    const { host, opener } = begin();
    host.datagrams.onSent = () => null;
    const sent = sendings(host);
    const before = host.monotonic();
    await expect(opener.open(wayTo(), WANTED, never)).rejects.toThrow(
      "10.2.0.1 does not answer. With Proton, make the key with NAT-PMP on, for a P2P server; other providers may forward no ports",
    );
    expect(sent.map(([ms]) => ms)).toEqual([0, 250, 750, 1750, 3750]);
    expect(host.monotonic() - before).toBe(7_750);
    expect(host.datagrams.places).toEqual([]);
  });

  test("that get lost are answered at the next attempt", async () => {
    const { host, opener } = begin();
    const { onSent } = host.datagrams;
    let count = 0;
    host.datagrams.onSent = (...sent) => (++count < 3 ? null : onSent(...sent));
    expect(await opener.open(wayTo(), WANTED, never)).toEqual(OPEN);
  });

  test("are not repeated once nobody waits for the answer", async () => {
    const { host, opener } = begin();
    const giving = new AbortController();
    host.datagrams.onSent = () => {
      giving.abort(new Error("no longer wanted"));
      return null;
    };
    const sent = sendings(host);
    await expect(opener.open(wayTo(), WANTED, giving.signal)).rejects.toThrow("no longer wanted");
    expect(sent.length).toBe(1);
    expect(host.datagrams.places).toEqual([]);
  });

  test("take no answer to another request, and nothing malformed", async () => {
    const { host, provider, opener } = begin();
    const late = provider.answer(Uint8Array.fromHex("000200001ae200000000003c"));
    const garbage = [late, new Uint8Array([0, 130, 0]), Uint8Array.fromHex("008000000000000acb007107")];
    host.datagrams.onSent = (bytes) => garbage.shift() ?? provider.answer(bytes);
    expect(await opener.open(wayTo(), WANTED, never)).toMatchObject({ inside: 6881, external: 50_327 });
  });
});

describe("a refusal says what to do:", () => {
  const NO_NAT_PMP =
    "With Proton, make the key with NAT-PMP on, for a P2P server; other providers may forward no ports";

  test.each([
    [2, "refused", `10.2.0.1 opens no ports for this key. ${NO_NAT_PMP}`],
    [4, "exhausted", "10.2.0.1 opens no more ports for this key; remove one that you do not need"],
    [9, "refused", "10.2.0.1 opens no port (NAT-PMP result 9)"],
  ] as const)("result %d", async (result, reason, message) => {
    const { provider, opener } = begin();
    provider.result = result;
    const refusal = await opener.open(wayTo(), WANTED, never).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(PortRefusal);
    expect(refusal).toMatchObject({ reason, message });
  });

  test("a closed port", async () => {
    const { host, opener } = begin();
    host.datagrams.onSent = () => "refused";
    const refusal = await opener.open(wayTo(), WANTED, never).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(PortRefusal);
    expect(refusal).toMatchObject({
      reason: "unsupported",
      message: `10.2.0.1 has no NAT-PMP. ${NO_NAT_PMP}`,
    });
  });

  test.each(["0000000100000009", "008200051ae100000000003c"])("another protocol: %s", async (hex) => {
    const { host, opener } = begin();
    host.datagrams.onSent = () => Uint8Array.fromHex(hex);
    await expect(opener.open(wayTo(), WANTED, never)).rejects.toMatchObject({ reason: "unsupported" });
  });

  test("a network that is down is no refusal, so that it is tried again", async () => {
    const { provider, opener } = begin();
    provider.result = RESULT.network;
    const error = await opener.open(wayTo(), WANTED, never).catch((thrown: unknown) => thrown);
    expect(error).not.toBeInstanceOf(PortRefusal);
    expect(error).toMatchObject({ message: "10.2.0.1 opens no ports now: its own network is down" });
  });

  test("a port without number is none", async () => {
    const { host, opener } = begin();
    host.datagrams.onSent = () => Uint8Array.fromHex("0082000000000001" + "1ae100000000003c");
    await expect(opener.open(wayTo(), WANTED, never)).rejects.toThrow(
      "10.2.0.1 opened no port, although it says so",
    );
  });
});

describe("a server that has restarted", () => {
  test("is noticed by its epoch, and the ports of that way are to be renewed", async () => {
    const { host, provider, opener, lost } = begin();
    const way = wayTo();
    const port = await opener.open(way, WANTED, never);
    await host.sleep(45_000);
    await opener.renew(way, port, never);
    expect(lost).toEqual([]);
    provider.restart();
    await host.sleep(45_000);
    expect(await opener.renew(way, port, never)).toEqual(OPEN);
    expect(lost).toEqual(["main"]);
    await host.sleep(45_000);
    await opener.renew(way, port, never);
    expect(lost).toEqual(["main"]);
  });

  test("may count backward with each answer: its ports are to be renewed once a lifetime", async () => {
    const { host, opener, lost } = begin();
    const way = wayTo();
    let seconds = 1_000_000;
    const backward = new ProviderNatPmp(() => (seconds -= 10), ip("203.0.113.7"));
    host.datagrams.onSent = (bytes) => backward.answer(bytes);
    const port = await opener.open(way, WANTED, never);
    lost.splice(0);
    for (let count = 0; count < 240; count++) {
      await host.sleep(1_000);
      await opener.renew(way, port, never);
    }
    expect(lost.length).toBeGreaterThan(2);
    expect(lost.length).toBeLessThan(6);
  });

  test("is not suspected because its clock is slow, or because the tunnel has another server now", async () => {
    const { host, provider, opener, lost } = begin();
    const way = wayTo();
    const port = await opener.open(way, WANTED, never);
    const slow = new ProviderNatPmp(() => 0.9 * (host.monotonic() / 1000), provider.address);
    host.datagrams.onSent = (bytes) => slow.answer(bytes);
    const other = wayTo();
    await opener.open(other, WANTED, never);
    for (let count = 0; count < 20; count++) {
      await host.sleep(45_000);
      await opener.renew(other, port, never);
    }
    expect(lost).toEqual([]);
  });
});
