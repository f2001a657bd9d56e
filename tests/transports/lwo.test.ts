import { describe, expect, test } from "bun:test";
import { Lwo } from "../../src/transports/disguises/lwo.ts";

const SERVER = Uint8Array.from({ length: 32 }, (_, at) => 0x10 + at);
const OWN = Uint8Array.from({ length: 32 }, (_, at) => 0xc0 + at);
const lwo = new Lwo(SERVER, OWN);
/** What the server has: its own key is the other one's. */
const server = new Lwo(OWN, SERVER);

/** A message of WireGuard's with that type and length; what it carries is all sevens. */
function message(type: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length).fill(7);
  bytes.set([type, 0, 0, 0]);
  return bytes;
}

/** Type, its header's length, and a usual length of the whole. */
const MESSAGES = [
  [1, 148, 148],
  [2, 92, 92],
  [3, 64, 64],
  [4, 32, 32],
  [4, 32, 1_452],
] as const;

describe.each(MESSAGES)(
  "a message of type %i with a header of %i bytes, %i in all",
  (type, header, length) => {
    test("has its header XORed with the server's key, but for the byte that says so", () => {
      const bytes = message(type, length);
      expect(lwo.hide(bytes, length)).toBe(length);
      expect((bytes[1] ?? 0) & 0x80).toBe(0x80);
      const expected = message(type, length).map((byte, at) =>
        at < header ? byte ^ (0x10 + (at % 32)) : byte,
      );
      expected[1] = bytes[1] ?? 0;
      expect(bytes).toEqual(expected);
    });

    test("comes from the server XORed with the own key, and is as it was", () => {
      const bytes = message(type, length);
      server.hide(bytes, length);
      expect(lwo.show(bytes, length)).toBe(length);
      expect(bytes).toEqual(message(type, length));
    });

    test("is dropped if its header is not whole", () => {
      expect(lwo.hide(message(type, length), header - 1)).toBe(0);
      const bytes = message(type, length);
      server.hide(bytes, length);
      expect(lwo.show(bytes, header - 1)).toBe(0);
    });
  },
);

test("nothing but WireGuard's messages passes, in both directions", () => {
  for (const type of [0, 5, 0x45, 255]) expect(lwo.hide(message(type, 200), 200)).toBe(0);
  const reserved = message(4, 200);
  reserved[3] = 1;
  expect(lwo.hide(reserved, 200)).toBe(0);
  const hidden = () => {
    const bytes = message(4, 200);
    server.hide(bytes, 200);
    return bytes;
  };
  expect(lwo.show(hidden(), 200)).toBe(200);
  for (const [at, byte] of [
    // Not marked as hidden, another reserved byte, and another type.
    [1, 0x7f],
    [2, 1],
    [0, 0xc5],
  ] as const) {
    const bytes = hidden();
    bytes[at] = byte;
    expect(lwo.show(bytes, 200)).toBe(0);
  }
  expect(lwo.show(message(4, 200), 200)).toBe(0);
});

test("two packets of the same content do not all look alike", () => {
  const seen = Array.from({ length: 64 }, () => {
    const bytes = message(1, 148);
    lwo.hide(bytes, 148);
    return bytes[1];
  });
  expect(new Set(seen).size).toBeGreaterThan(1);
});
