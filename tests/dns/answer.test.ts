import { expect, test } from "bun:test";
import { type Answer, answerIn, answerTo, fitted, ownAnswer, RCODE } from "../../src/dns/answer.ts";
import { noSuchName } from "../../src/dns/negative.ts";
import { type Question, queryFor, questionIn } from "../../src/dns/question.ts";
import { Malformed } from "../../src/dns/wire.ts";
import { a, decoded, OPT, query, reply } from "./messages.ts";

const asked = questionIn(query("www.Example.com", "A", true)) as Question;

test("a query has the client's question in random case, and none of its options", () => {
  const sent = Array.from({ length: 20 }, () => decoded(queryFor(asked)));
  const names = new Set(sent.map(({ questions }) => questions?.[0]?.name));
  expect(names.size).toBeGreaterThan(10);
  expect([...names].map((name) => name?.toLowerCase())).toEqual(
    Array.from({ length: names.size }, () => "www.example.com"),
  );
  expect(new Set(sent.map(({ id }) => id)).size).toBeGreaterThan(10);
  expect(sent[0]?.additionals).toMatchObject([{ type: "OPT", udpPayloadSize: 1_232, options: [] }]);
});

test("an answer follows CNAME, has its hints counted and short TTLs raised, and loses what is additional", () => {
  const own = queryFor(asked);
  const answers = [
    { type: "CNAME", name: "www.example.com", ttl: 1, data: "cdn.example.net" } as const,
    a("cdn.example.net", "192.0.2.1", 1),
    a("other.example", "192.0.2.9"),
    { type: "AAAA", name: "cdn.example.net", ttl: 90, data: "2001:db8::1" } as const,
  ];
  const answer = answerIn(reply(own, answers, { additionals: [a("ns.example", "192.0.2.53"), OPT] }), own);
  expect(answer).toMatchObject({
    rcode: RCODE.ok,
    ttlSeconds: 60,
    names: ["www.example.com", "cdn.example.net"],
    addresses: ["192.0.2.1", "2001:db8::1"],
  });
  const told = decoded(answerTo(asked, answer as Answer, 20));
  expect(told.id).toBe(7);
  expect(told.questions).toMatchObject([{ name: "www.Example.com", type: "A" }]);
  expect(told.answers?.map((each) => "ttl" in each && each.ttl)).toEqual([40, 40, 280, 70]);
  expect(told.additionals).toMatchObject([{ type: "OPT", udpPayloadSize: 1_232 }]);
});

test("the addresses in HTTPS records count", () => {
  const own = queryFor(asked);
  const alpn = [0, 1, 0, 3, 2, 0x68, 0x32];
  const hints = [
    0,
    4,
    0,
    8,
    192,
    0,
    2,
    1,
    192,
    0,
    2,
    2,
    0,
    6,
    0,
    16,
    0x20,
    1,
    0xd,
    0xb8,
    ...Array(11).fill(0),
    7,
  ];
  const data = Buffer.from([0, 1, 0, ...alpn, ...hints]);
  const record = { type: "UNKNOWN_65", name: "www.example.com", ttl: 300, data };
  const message = reply(own, [record as never]);
  // dns-packet writes an unknown type as 0.
  const at = message.length - data.length - 10;
  message[at + 1] = 65;
  expect(answerIn(message, own)?.addresses.map(String)).toEqual(["192.0.2.1", "192.0.2.2", "2001:db8::7"]);
});

test("an answer with another id, question, case or direction is none", () => {
  const own = queryFor(asked);
  const good = reply(own, [a("www.example.com", "192.0.2.1")]);
  expect(answerIn(good, own)).not.toBeNull();
  const flipped = (at: number, bit: number) => {
    const copy = Uint8Array.from(good);
    copy[at] = (copy[at] ?? 0) ^ bit;
    return copy;
  };
  // The id, the flag of a response, the opcode, a letter's case, and the type.
  for (const [at, bit] of [
    [0, 1],
    [2, 0x80],
    [2, 0x08],
    [13, 0x20],
    [30, 1],
  ] as const)
    expect(() => answerIn(flipped(at, bit), own)).toThrow(Malformed);
  expect(answerIn(flipped(2, 0x02), own)).toBeNull();
});

test("what does not fit into the client's UDP is cut off whole", () => {
  const plain = questionIn(query("www.example.com")) as Question;
  const own = queryFor(plain);
  const many = Array.from({ length: 40 }, (_, index) => a("www.example.com", `192.0.2.${index}`));
  const long = answerTo(plain, answerIn(reply(own, many), own) as Answer, 0);
  expect(long.length).toBeGreaterThan(512);
  const short = decoded(fitted(long, plain));
  expect(short.flag_tc).toBe(true);
  expect(short.answers).toEqual([]);
  expect(fitted(long, { ...plain, udpBytes: long.length })).toBe(long);
});

test("the gateway's own answers have a SOA, for a short time", () => {
  const told = decoded(noSuchName(asked));
  expect(told).toMatchObject({ id: 7, rcode: "NXDOMAIN", questions: [{ name: "www.Example.com" }] });
  expect(told.authorities).toMatchObject([{ type: "SOA", ttl: 10, data: { minimum: 10 } }]);
  expect(decoded(ownAnswer(asked, RCODE.refused))).toMatchObject({ rcode: "REFUSED" });
});

/** `FUZZ_MESSAGES=1000000 bun test tests/dns/answer.test.ts` takes a minute. */
const MESSAGES = Number(process.env.FUZZ_MESSAGES ?? 20_000);

test("whatever the bytes of a message are, it is read or it is malformed", () => {
  const own = queryFor(asked);
  const seeds = [
    query("www.example.com", "A", true),
    reply(own, [
      { type: "CNAME", name: "www.example.com", ttl: 1, data: "cdn.example.net" },
      a("cdn.example.net", "192.0.2.1", 1),
    ]),
    // A pointer to itself, and two that lead to each other.
    Uint8Array.from([...own.slice(0, 12), 0xc0, 0x0c, 0, 1, 0, 1]),
    Uint8Array.from([...own.slice(0, 12), 0xc0, 0x0e, 0xc0, 0x0c, 0, 1, 0, 1]),
  ];
  let state = 37;
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const outcomes = { read: 0, malformed: 0 };
  for (let count = 0; count < MESSAGES; count++) {
    const seed = seeds[random(seeds.length)] as Uint8Array;
    const message = Uint8Array.from(seed.subarray(0, random(8) === 0 ? random(seed.length) : seed.length));
    // What is behind the question too: the question must be ours for an answer to be read further.
    for (let left = random(6); left > 0; left--)
      message[random(4) === 0 ? random(message.length) : 32 + random(message.length)] = random(256);
    for (const read of [() => questionIn(message), () => answerIn(message, own)])
      try {
        read();
        outcomes.read += 1;
      } catch (error) {
        expect(error).toBeInstanceOf(Malformed);
        outcomes.malformed += 1;
      }
  }
  expect(outcomes.read).toBeGreaterThan(MESSAGES / 20);
  expect(outcomes.malformed).toBeGreaterThan(MESSAGES / 20);
}, 600_000);
