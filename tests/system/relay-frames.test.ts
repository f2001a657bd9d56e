import { expect, test } from "bun:test";
import { Outbox, Unframer } from "../../src/system/relay/frames.ts";
import { isWireGuard } from "../../src/wireguard/message.ts";
import { slow } from "../fast.ts";

/** A message of WireGuard's with that type, and a length from a keepalive's to the longest. */
function message(bytes: number, type = 4): Uint8Array {
  const all = Uint8Array.from({ length: bytes }, (_, at) => at % 251);
  all.set([type, 0, 0, 0]);
  return all;
}

function framed(messages: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    messages.flatMap((each) => [Uint8Array.of(each.length >> 8, each.length & 255), each]),
  );
}

function taken(chunks: readonly Uint8Array[]): { isStream: boolean; datagrams: Uint8Array[] } {
  const unframer = new Unframer();
  const datagrams: Uint8Array[] = [];
  const isStream = chunks.every((chunk) => unframer.take(chunk, (each) => datagrams.push(each.slice())));
  return { isStream, datagrams };
}

/** The same numbers each time: what fails can be played again. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield state / 2 ** 31;
  }
}

slow.test("datagrams come out of a stream as they went in, wherever it is cut", () => {
  const random = numbers(1);
  for (let round = 0; round < 200; round++) {
    const count = 1 + Math.floor(random.next().value * 20);
    const messages = Array.from({ length: count }, () =>
      message(
        random.next().value < 0.05 ? 65_535 : 32 + Math.floor(random.next().value * 1_500),
        1 + Math.floor(random.next().value * 4),
      ),
    );
    const stream = framed(messages);
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < stream.length; ) {
      const size = 1 + Math.floor(random.next().value ** 3 * 20_000);
      chunks.push(stream.subarray(at, at + size));
      at += size;
    }
    expect(taken(chunks)).toEqual({ isStream: true, datagrams: messages });
  }
});

test("what is no stream of WireGuard's messages is found out by its first bytes", () => {
  const others = [
    "HTTP/1.1 400 Bad Request\r\n\r\n",
    "<html>",
    "\x15\x03\x01\x00\x02\x02\x16",
    "SSH-2.0-OpenSSH_9.2\r\n",
    "\0\0\0\0\0\0",
  ].map((text) => Uint8Array.from(text, (each) => each.charCodeAt(0)));
  for (const other of others)
    for (const cut of [1, 3, other.length])
      expect(taken([other.subarray(0, cut), other.subarray(cut)])).toEqual({
        isStream: false,
        datagrams: [],
      });
  // Also in the middle of a stream.
  const good = message(92, 2);
  expect(taken([framed([good]), framed([message(64, 5)])])).toEqual({ isStream: false, datagrams: [good] });
});

test("whatever comes, a stream is taken or refused, and nothing but WireGuard's messages comes out", () => {
  const random = numbers(7);
  for (let round = 0; round < 2_000; round++) {
    const bytes = Uint8Array.from({ length: Math.floor(random.next().value * 300) }, () =>
      Math.floor(random.next().value ** 4 * 256),
    );
    const { datagrams } = taken([bytes]);
    expect(datagrams.every((each) => isWireGuard(each) && each.length >= 32)).toBe(true);
  }
});

test("an outbox sends what it has taken, in order and whole, and takes no more than it has room for", () => {
  const random = numbers(3);
  const outbox = new Outbox(10_000);
  const accepted: Uint8Array[] = [];
  const sent: Uint8Array[] = [];
  let dropped = 0;
  for (let step = 0; step < 5_000; step++) {
    if (random.next().value < 0.6) {
      const each = message(32 + Math.floor(random.next().value * 1_500));
      if (outbox.add(each)) accepted.push(each);
      else dropped += 1;
    } else {
      const count = Math.floor(random.next().value * (outbox.waiting.length + 1));
      sent.push(outbox.waiting.slice(0, count));
      outbox.taken(count);
    }
    expect(outbox.waiting.length).toBeLessThanOrEqual(10_000);
  }
  sent.push(outbox.waiting.slice());
  expect(dropped).toBeGreaterThan(0);
  expect(taken(sent)).toEqual({ isStream: true, datagrams: accepted });
});
