import { afterAll, beforeAll, expect, test } from "bun:test";
import type { LinkSocket } from "../../src/system/host.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { advertisementPacket } from "../network/advertisement.ts";
import { inject } from "../rig/tools/injector.ts";
import { ICMPV6, packetFrame, UDP, udpBytes } from "../rig/tools/packet.ts";
import { until } from "../rig/tools/until.ts";

const [HERE, THERE] = [`pc${process.pid}-here`, `pc${process.pid}-there`];
const MAC = "0200000000aa";
const host = new NamespaceHost(HERE);
const machine = new LinuxHost();

beforeAll(async () => {
  await machine.run(["ip", "netns", "add", HERE]);
  await machine.run(["ip", "netns", "add", THERE]);
  await plug();
});
afterAll(async () => {
  for (const name of [HERE, THERE]) await machine.run(["ip", "netns", "delete", name]);
});

/** IPv6 is off here, as on a gateway whose operator does not want it. */
async function plug(): Promise<void> {
  await machine.run(`ip link add lan0 netns ${HERE} type veth peer lan0 netns ${THERE}`.split(" "));
  await host.run(["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"]);
  for (const name of [HERE, THERE]) await machine.run(["ip", "-n", name, "link", "set", "dev", "lan0", "up"]);
}

const ipv4 = { fromMac: MAC, toMac: "ffffffffffff", from: "192.168.1.1", to: "255.255.255.255" };
const ipv6 = { fromMac: MAC, toMac: "333300000001", from: "fe80::aa", to: "ff02::1" };

function datagram(sourcePort: number, targetPort: number, payload = "x") {
  const ports = { ...ipv4, sourcePort, targetPort, payload };
  return { protocol: UDP, bytes: udpBytes(ports) };
}

/** All that the socket receives until the last one of these has come in. */
async function received(socket: LinkSocket, frames: readonly Uint8Array[]): Promise<Uint8Array[]> {
  await inject(THERE, "lan0", frames);
  const all: Uint8Array[] = [];
  const last = Buffer.from(frames.at(-1) ?? []).subarray(14);
  await until(() => {
    for (const { from, packet } of socket.received() ?? []) {
      expect(from).toBe("02:00:00:00:00:aa");
      all.push(packet);
    }
    return all.some((packet) => last.equals(packet));
  });
  return all;
}

test("of IPv4, only what DHCP servers send to clients is heard, from any address and behind any header", async () => {
  const socket = await host.listenOn("lan0", "dhcp replies");
  const offer = packetFrame(ipv4, datagram(67, 68, "an offer"));
  const withOptions = Uint8Array.from(offer);
  // A header of 24 bytes: what follows is 4 bytes further on.
  const long = Buffer.concat([withOptions.subarray(0, 34), Buffer.alloc(4), withOptions.subarray(34)]);
  long[14] = 0x46;
  const heard = await received(socket, [
    packetFrame(ipv4, datagram(68, 67)),
    packetFrame(ipv4, datagram(67, 67)),
    packetFrame(ipv4, datagram(53, 68)),
    packetFrame(ipv4, { ...datagram(67, 68), protocol: 6 }),
    packetFrame(ipv4, { ...datagram(67, 68), fragment: { offset: 0, more: true } }),
    packetFrame(ipv4, { ...datagram(67, 68), fragment: { offset: 64, more: false } }),
    packetFrame(ipv6, { ...datagram(67, 68) }),
    long,
    offer,
  ]);
  expect(heard.map((packet) => packet.toHex())).toEqual(
    [long, offer].map((frame) => frame.subarray(14).toHex()),
  );
  socket.close();
});

test("what DHCP clients broadcast to servers is heard apart from that", async () => {
  const socket = await host.listenOn("lan0", "dhcp requests");
  const request = packetFrame(ipv4, datagram(68, 67, "a request"));
  const heard = await received(socket, [packetFrame(ipv4, datagram(67, 68)), request]);
  expect(heard.map((packet) => packet.toHex())).toEqual([request.subarray(14).toHex()]);
  socket.close();
});

test("of IPv6, only router advertisements of this link are heard, although IPv6 is off", async () => {
  const socket = await host.listenOn("lan0", "router advertisements");
  const frame = (given: Parameters<typeof advertisementPacket>[0]) =>
    Buffer.concat([Buffer.from(`${ipv6.toMac}${MAC}86dd`, "hex"), advertisementPacket(given)]);
  const good = frame({ from: "fe80::aa" });
  const heard = await received(socket, [
    frame({ hopLimit: 254 }),
    frame({ from: "2001:db8::aa" }),
    frame({ type: 133 }),
    frame({ type: 136 }),
    packetFrame(ipv6, { ...datagram(134, 134), hopLimit: 255 }),
    packetFrame(ipv6, { protocol: ICMPV6, bytes: new Uint8Array(0), hopLimit: 255 }),
    good,
  ]);
  expect(heard.map((packet) => packet.toHex())).toEqual([good.subarray(14).toHex()]);
  socket.close();
});

test("what this machine sends itself is not heard, and one that is too much for one call comes with the next", async () => {
  const socket = await host.listenOn("lan0", "dhcp replies");
  const packet = packetFrame(ipv4, datagram(67, 68)).subarray(14);
  socket.send("ff:ff:ff:ff:ff:ff", packet);
  expect(socket.mac).toMatch(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/);
  await inject(THERE, "lan0", Array(150).fill(packetFrame(ipv4, datagram(67, 68))));
  const counts: number[] = [];
  await until(() => {
    counts.push(socket.received()?.length ?? 0);
    return counts.reduce((sum, count) => sum + count) === 150;
  });
  expect(Math.max(...counts)).toBeLessThanOrEqual(128);
  socket.close();
});

test("a link that is down stays open; one that is deleted is gone, and another of its name can be opened", async () => {
  const socket = await host.listenOn("lan0", "router advertisements");
  await host.run(["ip", "link", "set", "dev", "lan0", "down"]);
  expect(socket.received()).toEqual([]);
  await host.run(["ip", "link", "delete", "dev", "lan0"]);
  await until(() => socket.received() === null);
  socket.close();
  expect(host.listenOn("lan0", "dhcp replies")).rejects.toThrow("there is no interface lan0");
  await plug();
  const again = await host.listenOn("lan0", "dhcp replies");
  expect(await received(again, [packetFrame(ipv4, datagram(67, 68))])).toHaveLength(1);
  again.close();
});
