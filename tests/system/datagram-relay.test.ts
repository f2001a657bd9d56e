import { afterEach, expect, test } from "bun:test";
import { mustParseAddress } from "../../src/base/address.ts";
import { RELAY_MARK } from "../../src/network/slot.ts";
import type { OpenRelay, RelayPlace } from "../../src/system/host.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { RelayThread } from "../../src/system/relay/relay-thread.ts";
import { Lwo } from "../../src/transports/disguises/lwo.ts";
import { needsRoot } from "../fast.ts";
import { until } from "../rig/tools/until.ts";

const LOOPBACK = mustParseAddress("127.0.0.1");
const [SERVER_KEY, OWN_KEY] = [new Uint8Array(32).fill(0x21), new Uint8Array(32).fill(0x9c)];
/** Where nothing leads. */
const NOWHERE: RelayPlace = {
  mark: RELAY_MARK,
  address: mustParseAddress("255.255.255.255"),
  port: 1,
  way: { by: "lwo", serverKey: SERVER_KEY.toBase64(), ownKey: OWN_KEY.toBase64() },
};
const atServer = new Lwo(OWN_KEY, SERVER_KEY);
const host = new LinuxHost();
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

interface End {
  received: number[];
  from: number | null;
  send(bytes: Uint8Array, to: number): void;
  port: number;
}

async function end(
  port: number,
  show: (bytes: Uint8Array) => number = (bytes) => bytes.length,
): Promise<End> {
  const received: number[] = [];
  const made: End = {
    received,
    from: null,
    port: 0,
    send: (bytes, to) => void socket.send(bytes, to, LOOPBACK),
  };
  const socket = await Bun.udpSocket({
    hostname: LOOPBACK,
    port,
    socket: {
      data: (_, bytes, from) => {
        made.from = from;
        received.push(show(bytes) > 0 ? (bytes.at(-1) ?? 0) : -1);
      },
      // A stranger is refused.
      error: () => {},
    },
  });
  opened.push(socket);
  made.port = socket.port;
  return made;
}

const server = () => end(0, (bytes) => atServer.show(bytes, bytes.length));

async function relayTo(port: number): Promise<OpenRelay> {
  const relay = await host.openRelay({ ...NOWHERE, address: LOOPBACK, port });
  opened.push(relay);
  return relay;
}

/** 200 packets, as many at once as a socket of the kernel's keeps for its program. */
async function bursts(to: End, send: (sent: number) => void): Promise<void> {
  for (let sent = 0; sent < 200; sent++) {
    send(sent);
    if (sent % 50 === 49) await until(() => to.received.length === sent + 1);
  }
}

function hidden(bytes: Uint8Array): Uint8Array {
  atServer.hide(bytes, bytes.length);
  return bytes;
}

needsRoot.test(
  "a relay by UDP carries WireGuard's messages both ways in disguise, and nothing from or for anybody else",
  async () => {
    const far = await server();
    const relay = await relayTo(far.port);
    const wireguard = await end(relay.wireguardPort);
    const stranger = await end(0);
    stranger.send(message(66), relay.port);
    wireguard.send(new TextEncoder().encode("not a message of WireGuard's, but long enough"), relay.port);
    await bursts(far, (sent) => wireguard.send(message(sent), relay.port));
    expect(far.received).toEqual(Array.from({ length: 200 }, (_, sent) => sent));
    const back = far.from ?? 0;
    stranger.send(hidden(message(66)), back);
    far.send(message(67), back);
    await bursts(wireguard, (sent) => far.send(hidden(message(sent, 1_452)), back));
    expect(wireguard.received).toEqual(Array.from({ length: 200 }, (_, sent) => sent));
    expect([stranger.received, relay.fault()]).toEqual([[], null]);
  },
);

needsRoot.test("relays come and go while others carry, and begin again after the last one", async () => {
  const far = await server();
  for (let round = 0; round < 3; round++) {
    const [first, second] = await Promise.all([relayTo(far.port), relayTo(far.port)]);
    first.close();
    const third = await relayTo(far.port);
    const before = far.received.length;
    for (const [number, relay] of [second, third].entries())
      (await end(relay.wireguardPort)).send(message(number), relay.port);
    await until(() => far.received.length === before + 2);
    expect(far.received.slice(before).toSorted()).toEqual([0, 1]);
    // What was closed has no socket any more: its port is free.
    await end(first.port);
    for (const each of opened.splice(1)) each.close();
  }
});

needsRoot.test("a relay opens while the only other one closes and a third is refused", async () => {
  const far = await server();
  const thread = new RelayThread(import.meta.resolve("../../src/system/relay/datagram-worker.ts"), true);
  const there = { ...NOWHERE, address: LOOPBACK, port: far.port };
  const first = await thread.open(there);
  const refused = thread.open(NOWHERE).catch((error) => error.code);
  first.close();
  const next = thread.open(there);
  expect(await refused).toBe("unable");
  const relay = await next;
  opened.push(relay);
  (await end(relay.wireguardPort)).send(message(4), relay.port);
  await until(() => far.received.length === 1);
});

test("a relay that is opened in a thread that ends is refused", async () => {
  const ending = URL.createObjectURL(new Blob(["self.onmessage = () => process.exit();"]));
  const thread = new RelayThread(ending, false);
  await expect(thread.open(NOWHERE)).rejects.toMatchObject({ code: "unable" });
  await expect(thread.open(NOWHERE)).rejects.toMatchObject({ code: "unable" });
});

needsRoot.test("without a free file descriptor a relay is refused, and the next one opens", async () => {
  const argv = ["prlimit", "--nofile=200", process.execPath, `${import.meta.dir}/without-descriptors.ts`];
  expect(await host.run(argv)).toBe(
    "unable: the kernel gives no eventfd for the relay to the server\nopen\n",
  );
});

needsRoot.test("a relay goes on after a server that did not listen for a time", async () => {
  const first = await server();
  const relay = await relayTo(first.port);
  const wireguard = await end(relay.wireguardPort);
  opened[0]?.close();
  for (let sent = 0; sent < 10; sent++) {
    wireguard.send(message(1), relay.port);
    await Bun.sleep(1);
  }
  const again = await end(first.port, (bytes) => atServer.show(bytes, bytes.length));
  await until(async () => {
    wireguard.send(message(2), relay.port);
    await Bun.sleep(10);
    return again.received.includes(2);
  });
});

needsRoot.test("a relay to where nothing leads is refused, and the next one opens", async () => {
  await expect(host.openRelay(NOWHERE)).rejects.toMatchObject({ code: "unable" });
  const far = await server();
  const relay = await relayTo(far.port);
  (await end(relay.wireguardPort)).send(message(3), relay.port);
  await until(() => far.received.length === 1);
});
