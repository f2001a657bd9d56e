import { expect, test } from "bun:test";
import { encode, type StringAnswer } from "dns-packet";
import fc from "fast-check";
import { nameIn, reverseName } from "../../src/system/mdns.ts";

const QUESTION = "20.7.168.192.in-addr.arpa";

function answer(data: string, { id = 7, name = QUESTION, type = "PTR" as StringAnswer["type"] } = {}) {
  return encode({ type: "response", id, answers: [{ type, name, data }] });
}

test("the name is that of the pointer, without the domain of multicast DNS", () => {
  expect(nameIn(answer("living-room.local"), 7, QUESTION)).toBe("living-room");
  expect(nameIn(answer("TV.LOCAL", { name: QUESTION.toUpperCase() }), 7, QUESTION)).toBe("TV");
  expect(nameIn(answer("tv.home.arpa"), 7, QUESTION)).toBe("tv.home.arpa");
});

test("what answers another question has no name; what is no answer is not one", () => {
  expect(nameIn(answer("tv.local", { name: "21.7.168.192.in-addr.arpa" }), 7, QUESTION)).toBeNull();
  expect(nameIn(answer("tv.local", { type: "CNAME" }), 7, QUESTION)).toBeNull();
  expect(nameIn(answer("tv.local", { id: 8 }), 7, QUESTION)).toBeUndefined();
  const query = encode({ type: "query", id: 7, questions: [{ type: "PTR", name: QUESTION }] });
  expect(nameIn(query, 7, QUESTION)).toBeUndefined();
  expect(nameIn(new Uint8Array(9_001), 7, QUESTION)).toBeUndefined();
});

test("whatever bytes arrive, the parser ends and does not throw", () => {
  const whole = answer("living-room.local");
  const damaged = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 })).map(([at, byte]) => {
    const copy = Uint8Array.from(whole);
    copy[at] = byte;
    return copy;
  });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 600 }), damaged), (bytes) => {
      const name = nameIn(bytes, 7, QUESTION);
      expect(name === null || name === undefined || typeof name === "string").toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test("the reverse name of an address is that of the RFCs", () => {
  expect(reverseName("192.168.7.20")).toBe(QUESTION);
  expect(reverseName("fd00:7::20")).toBe(
    "0.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.0.0.0.0.0.d.f.ip6.arpa",
  );
});
