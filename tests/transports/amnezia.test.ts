import { expect, test } from "bun:test";
import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { blake2s } from "@noble/hashes/blake2.js";
import { Amnezia } from "../../src/transports/disguises/amnezia.ts";
import { cookieIn } from "../../src/transports/disguises/cookie.ts";
import type { AmneziaForm } from "../../src/wireguard/amnezia.ts";

const SERVER = Uint8Array.from({ length: 32 }, (_, at) => 0x10 + at);
const OWN = Uint8Array.from({ length: 32 }, (_, at) => 0xc0 + at);
const PLAIN: AmneziaForm = {
  junk: { count: 0, least: 0, most: 0 },
  padding: [0, 0, 0, 0],
  headers: [
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
  ],
  packets: [],
};
const FORM: AmneziaForm = {
  junk: { count: 5, least: 40, most: 42 },
  padding: [15, 72, 8, 3],
  headers: [
    [100, 200],
    [4_000_000_000, 4_294_967_295],
    [7, 7],
    [2_000_000_000, 2_000_000_009],
  ],
  packets: [
    [{ kind: "bytes", hex: "c0ffee" }, { kind: "time" }],
    [
      { kind: "letters", count: 300 },
      { kind: "digits", count: 300 },
      { kind: "random", count: 300 },
    ],
  ],
};
const NOW = 1_700_000_000_123;
const made = (form = FORM, server = SERVER, own = OWN) =>
  new Amnezia(form, server, own, { now: () => NOW, monotonic: () => 0 });
/** The same, after a handshake has begun, which the server may answer. */
function begun(form = FORM): Amnezia {
  const amnezia = made(form);
  amnezia.hide(message(1, 148, SERVER), 148);
  return amnezia;
}
/** What the server has: its own key is the other one's. */
const atServer = () => made(FORM, OWN, SERVER);

/** A code of the white paper, 5.4.4. */
function code(bytes: Uint8Array, key: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(blake2s(bytes, { key, dkLen: 16 }));
}
const hashed = (label: string, key: Uint8Array) => blake2s(Buffer.concat([Buffer.from(label), key]));

/** A message as WireGuard makes it, for whom has that key, in a buffer with room. */
function message(type: number, length: number, key: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(2_000).fill(7, 0, length);
  bytes.set([type, 0, 0, 0]);
  if (type > 2) return bytes;
  bytes.set(code(bytes.subarray(0, length - 32), hashed("mac1----", key)), length - 32);
  bytes.fill(0, length - 16, length);
  return bytes;
}

/** Type, length, its padding, and the numbers in place of the type. */
const MESSAGES = [
  [1, 148, 15, 100, 200],
  [2, 92, 72, 4_000_000_000, 4_294_967_295],
  [4, 32, 3, 2_000_000_000, 2_000_000_009],
  [4, 1_452, 3, 2_000_000_000, 2_000_000_009],
] as const;

test.each(MESSAGES)(
  "a message of type %i with %i bytes comes after %i others and with another type, and what covers the type is right",
  (type, length, padding, from, to) => {
    const bytes = message(type, length, SERVER);
    expect(made().hide(bytes, length)).toBe(padding + length);
    const inner = bytes.slice(padding, padding + length);
    const number = new DataView(inner.buffer).getUint32(0, true);
    expect(number >= from && number <= to).toBeTrue();
    const end = type > 2 ? length : length - 32;
    expect(inner.slice(4, end)).toEqual(message(type, length, SERVER).slice(4, end));
    if (type > 2) return;
    expect(inner.slice(end, end + 16)).toEqual(code(inner.subarray(0, end), hashed("mac1----", SERVER)));
    expect(inner.slice(end + 16)).toEqual(new Uint8Array(16));
  },
);

test.each(MESSAGES)(
  "a message of type %i with %i bytes from the server is as it was",
  (type, length, padding) => {
    const bytes = message(type, length, OWN);
    atServer().hide(bytes, length);
    expect(begun().show(bytes, padding + length)).toBe(length);
    expect(bytes.slice(0, length)).toEqual(message(type, length, OWN).slice(0, length));
  },
);

test("nothing but such messages passes, in both directions", () => {
  const amnezia = begun();
  expect(amnezia.hide(message(5, 200, SERVER), 200)).toBe(0);
  expect(amnezia.hide(message(1, 200, SERVER), 200)).toBe(0);
  expect(amnezia.hide(message(4, 31, SERVER), 31)).toBe(0);
  expect(amnezia.hide(message(4, 1_999, SERVER), 1_999)).toBe(0);
  expect(amnezia.hide(message(3, 64, SERVER), 64)).toBe(0);
  for (const [type, length] of MESSAGES) {
    // Plain WireGuard, and what is too short.
    expect(amnezia.show(message(type, length, OWN), length)).toBe(0);
    const bytes = message(type, length, OWN);
    const whole = atServer().hide(bytes, length);
    if (length < 1_452) expect(amnezia.show(bytes, whole - 1)).toBe(0);
  }
  const forged = message(2, 92, OWN);
  const whole = atServer().hide(forged, 92);
  forged[whole - 20] = (forged[whole - 20] ?? 0) ^ 1;
  expect(amnezia.show(forged, whole)).toBe(0);
});

test("whatever a stranger sends in the server's name, nothing of a handshake comes of it, and nothing breaks", () => {
  const amnezia = begun();
  const lengths = [0, 1, 3, 4, 35, 72, 163, 164, 1_500, ...Array.from({ length: 200 }, (_, at) => at)];
  for (const length of lengths)
    for (const kind of [1, 2, 3, 4] as const) {
      const bytes = new Uint8Array(2_000);
      crypto.getRandomValues(bytes.subarray(0, length));
      const at = FORM.padding[kind - 1] ?? 0;
      if (at + 4 <= length) new DataView(bytes.buffer).setUint32(at, FORM.headers[kind - 1]?.[0] ?? 0, true);
      const shown = amnezia.show(bytes, length);
      if (shown > 0) expect([...bytes.subarray(0, 4), length - shown]).toEqual([4, 0, 0, 0, 3]);
    }
  const next = message(1, 148, SERVER);
  amnezia.hide(next, 148);
  expect(next.slice(15 + 132, 15 + 148)).toEqual(new Uint8Array(16));
});

test("data of the length of a handshake is data, whatever its padding looks like", () => {
  const [first, response, cookie] = FORM.headers;
  const headers = [first, response, cookie, [0x7735_94f0, 0x7735_94ff]] as const;
  const form: AmneziaForm = { ...FORM, padding: [0, 0, 0, 3], headers };
  const bytes = message(4, 89, OWN);
  expect(made(form, OWN, SERVER).hide(bytes, 89)).toBe(92);
  // Three random bytes and the first one of the type are a number of a response.
  const [from, to] = response;
  const number = new DataView(bytes.buffer).getUint32(0, true);
  expect(number >= from && number <= to).toBeTrue();
  expect(begun(form).show(bytes, 92)).toBe(89);
});

test("before an initiation come the packets, and then junk of these lengths", () => {
  const amnezia = made();
  const initiation = message(1, 148, SERVER);
  const [first, second, ...junk] = amnezia.ahead(initiation, 148);
  expect(Buffer.from(first ?? []).toString("hex")).toBe("c0ffee6553f100");
  expect(Buffer.from(second ?? []).toString("latin1")).toMatch(/^[A-Za-z]{300}[0-9]{300}/);
  expect(junk.length).toBe(5);
  for (const { length } of junk) expect(length >= 40 && length <= 42).toBeTrue();
  for (const [type, length] of MESSAGES.slice(1))
    expect(amnezia.ahead(message(type, length, SERVER), length)).toEqual([]);
  expect(made(PLAIN).ahead(initiation, 148)).toEqual([]);
});

test("the counter begins at a random number before each initiation, and counts its packets", () => {
  const packets = Array.from({ length: 5 }, () => [{ kind: "counter" }] as const);
  const amnezia = made({ ...FORM, packets });
  const firsts = Array.from({ length: 8 }, () => {
    const ahead = amnezia.ahead(message(1, 148, SERVER), 148).slice(0, 5);
    const [first = 0, ...others] = ahead.map((bytes) => new DataView(bytes.buffer).getUint32(0));
    expect(others).toEqual([1, 2, 3, 4].map((at) => (first + at) % 2 ** 32));
    return first;
  });
  expect(new Set(firsts).size).toBe(8);
  // Eight numbers below this are less likely than one in 10^19.
  expect(Math.max(...firsts)).toBeGreaterThan(2 ** 24);
});

test("without settings all is as WireGuard made it", () => {
  for (const [type, length] of MESSAGES) {
    const bytes = message(type, length, SERVER);
    expect(made(PLAIN).hide(bytes, length)).toBe(length);
    expect(bytes).toEqual(message(type, length, SERVER));
  }
});

/** What a server under load sends in place of an answer. */
function cookieMessage(cookie: Uint8Array, answered: Uint8Array): Uint8Array {
  const nonce = new Uint8Array(24).fill(0x5a);
  const sealed = xchacha20poly1305(hashed("cookie--", SERVER), nonce, answered).encrypt(cookie);
  return Buffer.concat([new Uint8Array(8), Uint8Array.of(7, 0, 0, 0, 7, 7, 7, 7), nonce, sealed]);
}

test("a cookie is used in the next initiation, until the server has another secret", () => {
  let now = 0;
  const amnezia = new Amnezia(FORM, SERVER, OWN, { now: Date.now, monotonic: () => now });
  const next = () => {
    const bytes = message(1, 148, SERVER);
    amnezia.hide(bytes, 148);
    return bytes.slice(15, 15 + 148);
  };
  const answered = next().slice(116, 132);
  const cookie = new Uint8Array(16).fill(0xc0);
  const reply = cookieMessage(cookie, answered);
  const foreign = cookieMessage(cookie, new Uint8Array(16));
  expect(cookieIn(foreign.subarray(16), hashed("cookie--", SERVER), answered)).toBeNull();
  expect(amnezia.show(Uint8Array.from(foreign), 72)).toBe(0);
  expect(next().slice(132)).toEqual(new Uint8Array(16));
  const last = next().slice(116, 132);
  expect(amnezia.show(Uint8Array.from(cookieMessage(cookie, last)), 72)).toBe(0);
  const with2 = next();
  expect(with2.slice(132)).toEqual(code(with2.subarray(0, 132), cookie));
  now += 120_000;
  expect(next().slice(132)).toEqual(new Uint8Array(16));
  expect(reply.length).toBe(72);
});

/** A message of the server's in disguise, with this number of whom it answers, or who sends it. */
function fromServer(type: 1 | 2, answered: number): [bytes: Uint8Array<ArrayBuffer>, length: number] {
  const length = type === 1 ? 148 : 92;
  const bytes = message(type, length, OWN);
  new DataView(bytes.buffer).setUint32(type === 1 ? 4 : 8, answered);
  return [bytes, atServer().hide(bytes, length)];
}

test("of what a stranger sends in the server's name 20 a second are examined, and the server's answer gets through", () => {
  let now = 0;
  const amnezia = new Amnezia(FORM, SERVER, OWN, { now: Date.now, monotonic: () => now });
  const passed = (type: 1 | 2, answered = 0x0707_0707) =>
    Array.from({ length: 30 }, () => amnezia.show(...fromServer(type, answered))).filter(
      (shown) => shown > 0,
    );
  // All of them are right, but the gateway has asked nothing yet.
  expect(passed(2)).toEqual([]);
  amnezia.hide(message(1, 148, SERVER), 148);
  expect(passed(1).length).toBe(20);
  expect(passed(2, 0x0707_0708)).toEqual([]);
  expect(amnezia.show(...fromServer(2, 0x0707_0707))).toBe(92);
  expect(passed(2).length).toBe(19);
  now += 1_000;
  expect([passed(1).length, passed(2).length]).toEqual([20, 20]);
});

test("each initiation has a number of its own, and only the last one is answered", () => {
  const amnezia = made();
  for (const number of [1, 2]) {
    const initiation = message(1, 148, SERVER);
    new DataView(initiation.buffer).setUint32(4, number);
    amnezia.hide(initiation, 148);
  }
  expect(amnezia.show(...fromServer(2, 1))).toBe(0);
  expect(amnezia.show(...fromServer(2, 2))).toBe(92);
});
