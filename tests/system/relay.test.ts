import { afterEach, expect } from "bun:test";
import { mustParseAddress } from "../../src/base/address.ts";
import { RELAY_MARK } from "../../src/network/slot.ts";
import type { OpenRelay } from "../../src/system/host.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { needsRoot } from "../fast.ts";
import { until } from "../rig/tools/until.ts";

const LOOPBACK = mustParseAddress("127.0.0.1");
const opened: { close(): unknown }[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

/** A message of WireGuard's, told from others by its last byte. */
function message(number: number, bytes = 64): Uint8Array {
  const all = new Uint8Array(bytes);
  all.set([4]);
  all[bytes - 1] = number;
  return all;
}

function framed(datagram: Uint8Array): Uint8Array {
  return Uint8Array.of(datagram.length >> 8, datagram.length & 255, ...datagram);
}

/** A server that keeps what comes, by connection. */
function listen(port = 0) {
  const connections: { bytes: number[]; socket: Bun.Socket<undefined> }[] = [];
  const listener = Bun.listen({
    hostname: LOOPBACK,
    port,
    socket: {
      open: (socket) => void connections.push({ bytes: [], socket }),
      data: (socket, bytes) => void connections.find((each) => each.socket === socket)?.bytes.push(...bytes),
    },
  });
  const server = {
    connections,
    port: listener.port,
    close: () => {
      for (const { socket } of connections) socket.terminate();
      listener.stop(true);
    },
  };
  opened.push(server);
  return server;
}

async function wireguardAt(port: number) {
  const received: number[] = [];
  const socket = await Bun.udpSocket({
    hostname: LOOPBACK,
    port,
    // A stranger is refused.
    socket: { data: (_, bytes) => void received.push(bytes.at(-1) ?? 0), error: () => {} },
  });
  opened.push(socket);
  return { received, send: (bytes: Uint8Array, to: number) => socket.send(bytes, to, LOOPBACK) };
}

async function relayTo(port: number): Promise<OpenRelay> {
  const relay = await new LinuxHost().openRelay({
    mark: RELAY_MARK,
    address: LOOPBACK,
    port,
    way: { by: "udp2tcp" },
  });
  opened.push(relay);
  return relay;
}

needsRoot.test(
  "a relay carries WireGuard's messages both ways, and nothing from or for anybody else",
  async () => {
    const server = listen();
    const relay = await relayTo(server.port);
    const wireguard = await wireguardAt(relay.wireguardPort);
    const stranger = await wireguardAt(0);
    stranger.send(message(66), relay.port);
    wireguard.send(new TextEncoder().encode("not a message of WireGuard's, but long enough"), relay.port);
    wireguard.send(message(1), relay.port);
    await until(() => (server.connections[0]?.bytes.length ?? 0) >= 66);
    expect(server.connections.map(({ bytes }) => bytes.join())).toEqual([framed(message(1)).join()]);
    expect(relay.fault()).toBeNull();
    // In pieces, as a stream may come.
    for (const byte of framed(message(2))) {
      server.connections[0]?.socket.write(Uint8Array.of(byte));
      server.connections[0]?.socket.flush();
    }
    await until(() => wireguard.received.length > 0);
    expect([wireguard.received, stranger.received]).toEqual([[2], []]);
  },
);

needsRoot.test(
  "what waits for a server that does not read is bounded, and what it gets then is whole",
  async () => {
    const server = listen();
    const relay = await relayTo(server.port);
    const wireguard = await wireguardAt(relay.wireguardPort);
    wireguard.send(message(0), relay.port);
    await until(() => server.connections.length > 0);
    server.connections[0]?.socket.pause();
    // More than the kernel of both ends and the relay may hold.
    for (let sent = 0; sent < 40_000; sent++) {
      wireguard.send(message(7, 1_452), relay.port);
      if (sent % 50 === 0) await Bun.sleep(0);
    }
    server.connections[0]?.socket.resume();
    const bytes = () => server.connections[0]?.bytes ?? [];
    wireguard.send(message(9, 32), relay.port);
    await until(async () => {
      wireguard.send(message(9, 32), relay.port);
      await Bun.sleep(20);
      return bytes().at(-1) === 9;
    });
    const lengths: Record<number, number> = {};
    const all = bytes();
    for (let at = 0; at < all.length; ) {
      const length = ((all[at] ?? 0) << 8) | (all[at + 1] ?? 0);
      lengths[length] = (lengths[length] ?? 0) + 1;
      at += 2 + length;
    }
    expect(Object.keys(lengths)).toEqual(["32", "64", "1452"]);
    expect(lengths[1452]).toBeLessThan(40_000);
  },
  180_000,
);

needsRoot.test("a connection that is lost is made again, and begins with a whole message", async () => {
  const server = listen();
  const relay = await relayTo(server.port);
  const wireguard = await wireguardAt(relay.wireguardPort);
  wireguard.send(message(1), relay.port);
  await until(() => server.connections[0]?.bytes.length === 66);
  server.close();
  await until(() => relay.fault() === "refused");
  wireguard.send(message(2), relay.port);
  const again = listen(server.port);
  await until(() => again.connections.length > 0 && relay.fault() === null);
  wireguard.send(message(3), relay.port);
  const both = [...framed(message(2)), ...framed(message(3))];
  await until(() => (again.connections[0]?.bytes.length ?? 0) >= both.length);
  expect(again.connections[0]?.bytes.join()).toBe(both.join());
});

needsRoot.test("a login page in the server's place is told, and WireGuard gets nothing of it", async () => {
  const portal = Bun.serve({ hostname: LOOPBACK, port: 0, fetch: () => new Response("log in first") });
  opened.push({ close: () => portal.stop(true) });
  const relay = await relayTo(portal.port ?? 0);
  const wireguard = await wireguardAt(relay.wireguardPort);
  await until(async () => {
    wireguard.send(message(1), relay.port);
    await Bun.sleep(10);
    return relay.fault() === "foreign";
  });
  expect(wireguard.received).toEqual([]);
});
