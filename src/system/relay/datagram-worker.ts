import { ptr } from "bun:ffi";
import { messageOf } from "../../base/errors.ts";
import type { Disguise } from "../../transports/disguises/disguise.ts";
import { RELAYS, type RelaySpec } from "../../transports/list.ts";
import type { RelayPlace } from "../host.ts";
import { libc } from "../libc.ts";
import { Batch } from "./batch.ts";
import { DatagramRelay } from "./datagram-relay.ts";
import type { FromWorker, ToWorker } from "./relay-thread.ts";

declare const self: Worker;

/** `struct pollfd`: the descriptor, then the events that are waited for; POLLIN, from the kernel's headers. */
const POLLED = { bytes: 8, events: 4 };
const POLLIN = 1;
const FOR_EVER = -1;

const batch = new Batch();
const relays = new Map<number, DatagramRelay>();
let polled = new DataView(new ArrayBuffer(0));
let bell = -1;
/** How many messages are still to be handled: each rings the bell, and either may arrive first. */
let owed = 0;
/** To open a relay takes several turns of the event loop, and the order of messages stays. */
let done = Promise.resolve();

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  done = done.then(() => take(data));
};

async function take(data: ToWorker): Promise<void> {
  if (data.type === "bell") {
    bell = data.bell;
    return;
  }
  if (data.type === "end") return end();
  if (data.type === "close") close(data.id);
  else await open(data.id, data.place);
  owed -= 1;
  polled = pollfds([bell, ...[...relays.values()].flatMap(({ wireguard, server }) => [wireguard, server])]);
  if (owed <= 0) setImmediate(carry);
}

async function open(id: number, place: RelayPlace): Promise<void> {
  try {
    const relay = DatagramRelay.open(place, await disguiseFor(place.way));
    relays.set(id, relay);
    tell({ type: "open", id, port: relay.port, wireguardPort: relay.wireguardPort });
  } catch (error) {
    tell({ type: "failed", id, message: messageOf(error) });
  }
}

/** Throws for a way of streams. */
async function disguiseFor(way: RelaySpec): Promise<Disguise> {
  const { carriage } = RELAYS[way.by];
  switch (carriage.kind) {
    case "datagrams":
      return carriage.disguise(way);
    case "stream":
      throw new TypeError(`${way.by} carries no datagrams`);
  }
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
