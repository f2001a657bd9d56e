import { expect } from "bun:test";
import fc from "fast-check";
import { generate } from "mqtt-packet";
import { Frames } from "../../src/mqtt/frames.ts";
import { slow } from "../fast.ts";

const { test } = slow;

const publish = (bytes: number) =>
  generate({ cmd: "publish", topic: "t", payload: Buffer.alloc(bytes), qos: 0, retain: false, dup: false });

/** What comes out if the bytes arrive in pieces of these sizes. */
function taken(bytes: Uint8Array, sizes: readonly number[]): number[] {
  const frames = new Frames();
  const found: number[] = [];
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    found.push(...frames.take(bytes.subarray(at, at + size)).map(({ length }) => length));
    at += size;
  }
  return found;
}

test("packets come out whole, however the bytes arrive; those over 16 KiB are left out", () => {
  const length = fc.constantFrom(0, 1, 120, 127, 128, 16_000, 16_384, 20_000, 70_000);
  fc.assert(
    fc.property(
      fc.array(length, { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 5 }),
      (lengths, sizes) => {
        const packets = lengths.map(publish);
        const short = packets.map((each) => each.length).filter((size) => size <= 16 * 1024);
        expect(taken(Buffer.concat(packets), sizes)).toEqual(short);
      },
    ),
  );
});

test("a packet of 256 MB takes no memory: what comes of it is dropped", () => {
  const frames = new Frames();
  frames.take(Uint8Array.of(0x30, 0xff, 0xff, 0xff, 0x7f));
  const chunk = new Uint8Array(64 * 1024);
  for (let sent = 0; sent < 0xfffffff - chunk.length; sent += chunk.length)
    expect(frames.take(chunk)).toEqual([]);
  expect(JSON.stringify(frames).length).toBeLessThan(100);
});

test("a length of five bytes is malformed", () => {
  expect(() => new Frames().take(Uint8Array.of(0x30, 0xff, 0xff, 0xff, 0xff, 1))).toThrow(
    "does not speak MQTT",
  );
});
