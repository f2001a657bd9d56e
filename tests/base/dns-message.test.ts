import { describe, expect, test } from "bun:test";
import { type Answer, type DecodedPacket, decode, encode } from "dns-packet";
import fc from "fast-check";
import {
  answersIn,
  FLAG,
  HEADER_BYTES,
  Malformed,
  nameBytes,
  nameIn,
  queryAbout,
  type Record,
  recordsIn,
  TYPE,
} from "../../src/base/dns-message.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { answerFor } from "../../src/sandbox/dns.ts";
import { HOST_NAMES } from "../../src/sandbox/topology.ts";
import { addressesIn, lookup } from "../../src/system/lookup.ts";
import { slow } from "../fast.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-_";
const LABEL = fc.string({ unit: fc.constantFrom(...LETTERS), minLength: 1, maxLength: 63 });
/** What DNS can have: 255 bytes at most, with the length of each label and of the root. */
const NAME = fc
  .array(LABEL, { minLength: 1, maxLength: 8 })
  .map((labels) => labels.join("."))
  .filter((name) => name.length + 2 <= 255);
const ID = fc.nat(0xffff);
const ANSWER = fc.oneof(
  fc.record({ type: fc.constant("A" as const), name: NAME, data: fc.ipV4() }),
  fc.record({ type: fc.constant("AAAA" as const), name: NAME, data: fc.constant("fd00:7::20") }),
  fc.record({ type: fc.constant("CNAME" as const), name: NAME, data: NAME }),
);

/** Null where it throws. */
function decoded(message: Uint8Array): DecodedPacket | null {
  try {
    return decode(Buffer.from(message));
  } catch {
    return null;
  }
}

function isAsLongAsItsType(message: Uint8Array, { type, dataAt, dataEnd }: Record): boolean {
  if (type === TYPE.a) return dataEnd - dataAt === 4;
  try {
    return type === TYPE.cname && nameIn(message, dataAt).end === dataEnd;
  } catch {
    return false;
  }
}

function addressesOf(packet: DecodedPacket | null): string[] {
  return (packet?.answers ?? []).flatMap((answer) => (answer.type === "A" ? [answer.data] : []));
}

test("a query is what dns-packet reads, and makes", () => {
  fc.assert(
    fc.property(
      ID,
      NAME,
      fc.constantFrom("A" as const, "AAAA" as const, "PTR" as const),
      (id, name, type) => {
        const own = queryAbout(id, name, { A: TYPE.a, AAAA: TYPE.aaaa, PTR: TYPE.ptr }[type], FLAG.recursion);
        const other = encode({ type: "query", id, flags: FLAG.recursion, questions: [{ type, name }] });
        expect([...own]).toEqual([...other]);
        expect(nameIn(own, HEADER_BYTES)).toEqual({ name, end: own.length - 4 });
      },
    ),
  );
});

test("a name is written without the dot at its end, as it may be in the address of a list", () => {
  for (const name of ["example.com.", "."])
    expect([...queryAbout(7, name, TYPE.a, 0)]).toEqual([
      ...encode({ type: "query", id: 7, questions: [{ type: "A", name }] }),
    ]);
});

test("a name that DNS cannot have does not resolve, and nobody is asked for it", async () => {
  const asking = lookup("a..b", ["192.0.2.53"], 0);
  await expect(asking).rejects.toThrow(new GatewayError("unable", "the name a..b does not resolve"));
});

test("a response of dns-packet is read as it was meant, and only by the id of its query", () => {
  fc.assert(
    fc.property(ID, NAME, fc.array(ANSWER, { maxLength: 8 }), fc.boolean(), (id, name, answers, asks) => {
      const questions = asks ? [{ type: "A" as const, name }] : [];
      const message = encode({ type: "response", id, questions, answers: answers as Answer[] });
      expect(answersIn(message, id)?.map((each) => each.name)).toEqual(answers.map((each) => each.name));
      for (const type of ["A", "AAAA"] as const)
        expect(addressesIn(message, id, type === "A" ? TYPE.a : TYPE.aaaa)).toEqual(
          answers.flatMap((each) => (each.type === type ? [each.data] : [])),
        );
      expect(answersIn(message, (id + 1) & 0xffff)).toBeNull();
      expect(answersIn(encode({ type: "query", id, questions }), id)).toBeNull();
    }),
  );
});

slow.test("of a damaged response, what both readers accept is the same", () => {
  let accepted = 0;
  const name = "www.example.com";
  const whole = encode({
    ...{ type: "response", id: 7, questions: [{ type: "A", name }] },
    answers: [
      { type: "CNAME", name, data: "example.com" },
      { type: "A", name: "example.com", data: "192.0.2.7" },
    ],
  });
  const damage = fc.tuple(fc.nat(whole.length - 1), fc.nat(0xff));
  fc.assert(
    fc.property(fc.array(damage, { maxLength: 3 }), fc.nat(whole.length), (damages, length) => {
      const message = Uint8Array.from(whole);
      for (const [at, byte] of damages) message[at] = byte;
      const cut = damages.length < 2 ? message.subarray(0, length) : message;
      const [own, other] = [answersIn(cut, 7), decoded(cut)];
      // dns-packet trusts the type of a record, not its length.
      const isSound = own?.every((each) => isAsLongAsItsType(cut, each));
      if (!isSound || other === null) return;
      accepted += 1;
      expect(addressesIn(cut, 7, TYPE.a)).toEqual(addressesOf(other));
    }),
    { numRuns: 2_000 },
  );
  expect(accepted).toBeGreaterThan(100);
});

describe("a hostile name", () => {
  const at = (...bytes: number[]) => Uint8Array.from([...Array(HEADER_BYTES).fill(0), ...bytes]);
  const label = (length: number) => [length, ...Array(length).fill(0x61)];
  test.each([
    ["that points to itself", at(0xc0, 12)],
    ["that points in a circle", at(0xc0, 14, 0xc0, 12)],
    ["that points in a circle behind a label", at(1, 0x61, 0xc0, 12)],
    ["that points ahead", at(0xc0, 14, 0)],
    ["whose pointer is cut off", at(0xc0)],
    ["whose label is cut off", at(5, 0x61)],
    ["without an end", at(1, 0x61)],
    ["with a label of a kind that there is not", at(0x40, 0)],
    ["of 256 bytes", at(...[63, 63, 63, 62].flatMap(label), 0)],
  ])("%s is refused", (_, message) => {
    expect(() => nameIn(message, HEADER_BYTES)).toThrow(Malformed);
    expect(() => recordsIn(message, HEADER_BYTES)).not.toThrow();
  });

  test("of 255 bytes is read", () => {
    const longest = at(...[63, 63, 63, 61].flatMap(label), 0);
    expect(nameIn(longest, HEADER_BYTES).name).toHaveLength(253);
    expect(nameBytes(nameIn(longest, HEADER_BYTES).name)).toEqual([...longest.subarray(HEADER_BYTES)]);
  });

  test.each(["a".repeat(64), "a..b", ".a", "a..", "..", `${"a.".repeat(127)}a`])(
    "%j is not written",
    (name) => {
      expect(() => nameBytes(name)).toThrow(RangeError);
    },
  );

  test("at each of 256 records, with as many pointers as can be, costs some milliseconds", () => {
    const chain = Array.from({ length: 126 }, (_, index) => [
      1,
      0x61,
      0xc0,
      index === 0 ? 11 : 12 + 4 * (index - 1),
    ]);
    const bytes = chain.flatMap((each, index) => {
      const to = index === 0 ? 0 : HEADER_BYTES + 4 * (index - 1);
      return index === 0 ? [1, 0x61, 0, 0] : [...each.slice(0, 2), 0xc0 | (to >> 8), to & 0xff];
    });
    const last = HEADER_BYTES + 4 * 125;
    const record = [0xc0 | (last >> 8), last & 0xff, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0];
    const message = at(...bytes, ...Array.from({ length: 256 }, () => record).flat());
    message.set([1, 0], 6);
    const start = process.cpuUsage();
    expect(recordsIn(message, HEADER_BYTES + bytes.length)).toHaveLength(256);
    // A turn of the event loop, before the reader is machine code.
    expect(process.cpuUsage(start).user).toBeLessThan(200_000);
  });
});

test("whatever bytes arrive, a reader of responses ends and does not throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      const own = answersIn(bytes, 7);
      expect(own === null || Array.isArray(own)).toBe(true);
      expect(answerFor(bytes, "192.0.2.9") ?? null).not.toBeUndefined();
    }),
  );
});

test("dns-packet reads each answer of the sandbox's resolver, aliases too", () => {
  const asked = (name: string, type: "A" | "AAAA" | "TXT", asker = "192.0.2.9") => {
    const query = encode({ type: "query", id: 9, flags: FLAG.recursion, questions: [{ type, name }] });
    const packet = decode(Buffer.from(answerFor(query, asker) ?? []));
    expect([packet.id, packet.type, packet.questions]).toEqual([
      9,
      "response",
      [{ type, name, class: "IN" }],
    ]);
    return [
      Reflect.get(packet, "rcode"),
      ...(packet.answers ?? []).map((each) => `${each.name} ${each.type} ${"data" in each ? each.data : ""}`),
    ];
  };
  const { v4 = "", v6 = "" } = HOST_NAMES["internet.test"] ?? {};
  expect(asked("internet.test", "A")).toEqual(["NOERROR", `internet.test A ${v4}`]);
  expect(asked("www.Internet.test", "AAAA")).toEqual([
    "NOERROR",
    "www.Internet.test CNAME Internet.test",
    `Internet.test AAAA ${v6}`,
  ]);
  expect(asked("whoami.test", "TXT")).toEqual(["NOERROR", "whoami.test TXT 192.0.2.9"]);
  expect(asked("a.whoami.test", "A")).toEqual(["NOERROR", "a.whoami.test A 192.0.2.9"]);
  expect(asked("whoami.test", "A", "fd00::9")).toEqual(["NOERROR"]);
  expect(asked("nowhere.test", "A")).toEqual(["NXDOMAIN"]);
});
