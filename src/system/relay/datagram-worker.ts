import { ptr } from "bun:ffi";
import { messageOf } from "../../base/errors.ts";
import type { RelayPlace, RelayWay } from "../host.ts";
import { libc } from "../libc.ts";
import { Amnezia } from "./amnezia.ts";
import { Batch } from "./batch.ts";
import { DatagramRelay } from "./datagram-relay.ts";
import type { Disguise } from "./disguise.ts";
import { Lwo } from "./lwo.ts";
import type { FromWorker, ToWorker } from "./relay-thread.ts";
import { Shadowsocks } from "./shadowsocks.ts";

declare const self: Worker;

/** `struct pollfd`: the descriptor, then the events that are waited for; POLLIN, from the kernel's headers. */
const POLLED = { bytes: 8, events: 4 };
const POLLIN = 1;
const FOR_EVER = -1;

const batch = new Batch();
const relays = new Map<number, DatagramRelay>();
let polled = new DataView(new ArrayBuffer(0));
let bell = -1;
/** How many messages are still to come: each has a ring of the bell, and either may be noticed first. */
let owed = 0;

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.type === "bell") {
    bell = data.bell;
    return;
  }
  owed -= 1;
  if (data.type === "end") return end();
  if (data.type === "close") close(data.id);
  else open(data.id, data.place);
  polled = pollfds([bell, ...[...relays.values()].flatMap(({ wireguard, server }) => [wireguard, server])]);
  if (owed <= 0) setImmediate(carry);
};

function open(id: number, place: RelayPlace): void {
  try {
    const relay = DatagramRelay.open(place, disguiseFor(place.way));
    relays.set(id, relay);
    tell({ type: "open", id, port: relay.port, wireguardPort: relay.wireguardPort });
  } catch (error) {
    tell({ type: "failed", id, message: messageOf(error) });
  }
}

/** Throws for a way that is not by UDP. */
function disguiseFor(way: RelayWay): Disguise {
  if (way.by === "shadowsocks") return new Shadowsocks();
  if (way.by === "udp2tcp") throw new TypeError(`${way.by} is not by UDP`);
  const keys = [Uint8Array.fromBase64(way.serverKey), Uint8Array.fromBase64(way.ownKey)] as const;
  return way.by === "lwo" ? new Lwo(...keys) : new Amnezia(way.form, ...keys);
}

function close(id: number): void {
  relays.get(id)?.close();
  relays.delete(id);
}

/** Nothing rings after this message. */
function end(): void {
  libc().close(bell);
  process.exit();
}

/**
 * Waits in the kernel and not in the event loop, which has no way to take many packets at once. The bell ends the wait;
 * then the event loop has its turn, until the message has come.
 */
function carry(): void {
  while (owed <= 0) {
    libc().poll(ptr(polled), BigInt(polled.byteLength / POLLED.bytes), FOR_EVER);
    for (const relay of relays.values()) relay.carry(batch);
    owed += rings();
  }
}

function rings(): number {
  const count = new BigUint64Array(1);
  return Number(libc().read(bell, ptr(count), count.byteLength)) < 0 ? 0 : Number(count[0]);
}

function pollfds(descriptors: readonly number[]): DataView<ArrayBuffer> {
  const list = new DataView(new ArrayBuffer(descriptors.length * POLLED.bytes));
  for (const [index, descriptor] of descriptors.entries()) {
    list.setInt32(index * POLLED.bytes, descriptor, true);
    list.setInt16(index * POLLED.bytes + POLLED.events, POLLIN, true);
  }
  return list;
}

function tell(message: FromWorker): void {
  postMessage(message);
}
