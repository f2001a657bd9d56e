import { expect, test } from "bun:test";
import fc from "fast-check";
import { answeringLinks, chosenServerIn, discoverFrom, offersOn, replyIn } from "../../src/network/dhcp.ts";
import { FakeHost } from "../fake/host.ts";
import { OWN_MAC } from "../fake/listening.ts";
import { offerPacket, requestPacket } from "./offer.ts";

const ROUTER_MAC = "02:00:00:00:00:fe";
const PLAIN = {
  server: "192.168.7.254",
  address: "192.168.7.30",
  options: { 3: "c0a807fe", 6: "c0a807fec0a807fd" },
};

test("the offers to a DISCOVER are those of all servers of the link, each once", async () => {
  const host = new FakeHost();
  host.listening.onSent = (link, packet) => {
    const id = Buffer.from(packet).readUInt32BE(28 + 4);
    const hear = (from: string, other: Uint8Array) =>
      host.listening.hear(link, "dhcp replies", { from, packet: other });
    hear(ROUTER_MAC, offerPacket({ ...PLAIN, id }));
    hear(ROUTER_MAC, offerPacket({ ...PLAIN, id: (id ^ 1) >>> 0, server: "192.168.7.253" }));
    hear("02:00:00:00:00:fd", offerPacket({ ...PLAIN, id, options: {} }));
    hear(ROUTER_MAC, Uint8Array.of(0x45));
  };
  const offers = await offersOn(host, "lan0");
  const offer = {
    interface: "lan0",
    server: "192.168.7.254",
    mac: ROUTER_MAC,
    routers: ["192.168.7.254"],
    resolvers: ["192.168.7.254", "192.168.7.253"],
    address: "192.168.7.30",
  };
  expect(offers as unknown).toEqual([
    offer,
    { ...offer, mac: "02:00:00:00:00:fd", routers: [], resolvers: [] },
  ]);
  expect(host.listening.sent.map(({ link, to }) => ({ link, to }))).toEqual([
    { link: "lan0", to: "ff:ff:ff:ff:ff:ff" },
  ]);
  expect(host.listening.count).toBe(0);
});

test("a link without a server has no offers after five seconds", async () => {
  const host = new FakeHost();
  const start = host.monotonic();
  expect(await offersOn(host, "lan0")).toEqual([]);
  expect(host.monotonic() - start).toBe(5_000);
  expect(host.listening.sent).toHaveLength(2);
  host.listening.closed.add("lan0");
  expect(offersOn(host, "lan0")).rejects.toThrow("there is no interface lan0");
});

test("a link on one cable with one that has a server counts as having it, and this machine's own server does not", async () => {
  const host = new FakeHost();
  const server = { lan0: PLAIN.server, lan3: "192.168.7.1" } as Record<string, string>;
  host.listening.onSent = (link, packet) => {
    const id = Buffer.from(packet).readUInt32BE(28 + 4);
    const offer = offerPacket({ ...PLAIN, id, server: server[link] ?? "" });
    if (server[link]) host.listening.hear(link, "dhcp replies", { from: ROUTER_MAC, packet: offer });
    // A switch to which both lead.
    if (link === "lan0") host.listening.hear("lan1", "dhcp requests", { from: OWN_MAC, packet });
    host.listening.hear("lan2", "dhcp requests", { from: ROUTER_MAC, packet });
  };
  const links = ["lan0", "lan1", "lan2", "lan3"];
  expect(await answeringLinks(host, links, ["192.168.7.1"])).toEqual(["lan0", "lan1"]);
  expect(host.listening.count).toBe(0);
  host.listening.closed.add("lan3");
  expect(answeringLinks(host, links, [])).rejects.toThrow("there is no interface lan3");
  await new Promise(setImmediate);
  expect(host.listening.count).toBe(0);
});

test("of a hundred servers, sixteen are enough", async () => {
  const host = new FakeHost();
  host.listening.onSent = (link, packet) => {
    const id = Buffer.from(packet).readUInt32BE(28 + 4);
    for (let number = 1; number <= 100; number += 1) {
      const offer = offerPacket({ ...PLAIN, id, server: `192.168.7.${number}` });
      host.listening.hear(link, "dhcp replies", { from: ROUTER_MAC, packet: offer });
    }
  };
  expect(await offersOn(host, "lan0")).toHaveLength(16);
});

/** What a hostile host sends before the server answers. */
const FLOOD = Array.from({ length: 300 }, () => offerPacket({ ...PLAIN, id: 0, options: {} }));

test("an offer among hundreds of other replies is found", async () => {
  const host = new FakeHost();
  host.listening.onSent = (link, packet) => {
    const id = Buffer.from(packet).readUInt32BE(28 + 4);
    for (const each of [...FLOOD, offerPacket({ ...PLAIN, id })])
      host.listening.hear(link, "dhcp replies", { from: ROUTER_MAC, packet: each });
  };
  expect((await offersOn(host, "lan0")).map(({ server }) => server as string)).toEqual(["192.168.7.254"]);
});

test("hundreds of other replies and no offer do not mean that there is no server", () => {
  const host = new FakeHost();
  host.listening.onSent = (link) => {
    for (const packet of FLOOD) host.listening.hear(link, "dhcp replies", { from: ROUTER_MAC, packet });
  };
  expect(offersOn(host, "lan0")).rejects.toThrow(
    "lan0 carries too many DHCP replies to tell whether another server answers; find the machine that sends them, and unplug it",
  );
});

test("a DISCOVER asks for a broadcast answer, in a packet of its exact length", () => {
  const packet = Buffer.from(discoverFrom(OWN_MAC, 0x01020304));
  expect(packet.toString("hex", 0, 28)).toBe("45100148000000004011799600000000ffffffff0044004301340000");
  let sum = 0;
  for (let at = 0; at < 20; at += 2) sum += packet.readUInt16BE(at);
  expect((sum & 0xffff) + (sum >>> 16)).toBe(0xffff);
  expect(packet.subarray(28, 28 + 44).toString("hex")).toBe(
    `010106000102030400008000${"00".repeat(16)}020000000001${"00".repeat(10)}`,
  );
  expect(packet.subarray(28 + 236, 28 + 251).toString("hex")).toBe("63825363350101370501030679f9ff");
  expect(packet.length).toBe(28 + 300);
});

test("classless routes lead past the gateway, too, except to private networks", () => {
  const routersFor = (options: Record<number, string>) =>
    replyIn(offerPacket({ ...PLAIN, id: 1, options }))?.routers as readonly string[] | undefined;
  const [a, b, c] = ["c0a80701", "c0a80702", "c0a80703"];
  expect(routersFor({ 3: a, 121: `0100${b}` })).toEqual(["192.168.7.1", "192.168.7.2"]);
  expect(routersFor({ 121: `00${a}080a${b}10c0a8${c}` })).toEqual(["192.168.7.1"]);
  expect(routersFor({ 121: `070a${b}` })).toEqual(["192.168.7.2"]);
  expect(routersFor({ 249: `00${a}` })).toEqual(["192.168.7.1"]);
  expect(routersFor({ 121: `0800000000${a}` })).toEqual([]);
  expect(routersFor({ 121: `20${a}c0a8` })).toEqual([]);
  expect(routersFor({ 121: `ff${a}${a}${a}${a}` })).toEqual([]);
});

test("only offers and acknowledgements of a server count", () => {
  expect(replyIn(offerPacket({ ...PLAIN, id: 1, options: { 53: "05" } }))?.id).toBe(1);
  expect(replyIn(offerPacket({ ...PLAIN, id: 1, options: { 53: "06" } }))).toBeNull();
  expect(replyIn(offerPacket({ ...PLAIN, id: 1, options: { 54: "" } }))).toBeNull();
  expect(replyIn(offerPacket({ ...PLAIN, id: 1, options: { 54: "ffffffff" } }))).toBeNull();
  expect(replyIn(offerPacket({ ...PLAIN, id: 1, address: "0.0.0.0" }))).toBeNull();
  expect(replyIn(discoverFrom(OWN_MAC, 1))).toBeNull();
});

test("a client that takes an offer names the server; nothing else does", () => {
  expect(chosenServerIn(requestPacket("192.168.7.254")) as string).toBe("192.168.7.254");
  expect(chosenServerIn(offerPacket({ ...PLAIN, id: 1, options: { 53: "03" } }))).toBeNull();
  expect(chosenServerIn(discoverFrom(OWN_MAC, 1))).toBeNull();
  expect(chosenServerIn(requestPacket("255.255.255.255"))).toBeNull();
});

test("whatever bytes arrive, the parser ends and does not throw", () => {
  const whole = offerPacket({ ...PLAIN, id: 1, options: { ...PLAIN.options, 121: "0100c0a80702" } });
  const damaged = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 })).map(([at, byte]) => {
    const copy = Uint8Array.from(whole);
    copy[at] = byte;
    return copy;
  });
  const short = fc.nat(whole.length).map((length) => whole.subarray(0, length));
  const options = fc
    .uint8Array({ maxLength: 300 })
    .map((bytes) => Buffer.concat([whole.subarray(0, 28 + 240), bytes]));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 600 }), damaged, short, options), (bytes) => {
      const reply = replyIn(bytes);
      expect(chosenServerIn(bytes) ?? "0.0.0.0").toMatch(/^\d+\.\d+\.\d+\.\d+$/);
      for (const address of reply === null ? [] : [reply.server, reply.address, ...reply.routers])
        expect(address).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    }),
    { numRuns: 5_000 },
  );
});
