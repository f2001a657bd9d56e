import { expect, test } from "bun:test";
import type { Answer as Record } from "dns-packet";
import { HEADER_BYTES, Malformed, viewOf } from "../../src/base/dns-message.ts";
import {
  type Answer,
  answerIn,
  answerTo,
  fitted,
  ownAnswer,
  questionEndOf,
  RCODE,
} from "../../src/dns/answer.ts";
import { KnownQuestions } from "../../src/dns/known-questions.ts";
import { noSuchName } from "../../src/dns/negative.ts";
import { type Question, queryFor, questionIn } from "../../src/dns/question.ts";
import { ip } from "../fake/address.ts";
import { a, decoded, httpsReply, OPT, query, reply } from "./messages.ts";

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

test("an answer follows CNAME, has short TTLs raised, and loses what is additional or of other names", () => {
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
  expect(told.answers?.map((each) => "ttl" in each && each.ttl)).toEqual([40, 40, 70]);
  expect(told.additionals).toMatchObject([{ type: "OPT", udpPayloadSize: 1_232 }]);
});

test("aliases are followed in any order, and nothing else gets through", () => {
  const own = queryFor(asked);
  const alias = (name: string, data: string, type: "CNAME" | "DNAME" = "CNAME") => ({
    type,
    name,
    ttl: 300,
    data,
  });
  const aliases = [alias("b.example", "c.example"), alias("www.example.com", "b.example")];
  const answers = [a("c.example", "192.0.2.1"), ...aliases, a("else.example", "192.168.77.66")];
  const authorities = [a("www.example.com", "192.168.77.67")];
  const answer = answerIn(reply(own, answers, { authorities }), own) as Answer;
  expect([answer.names, answer.addresses]).toEqual([
    ["www.example.com", "b.example", "c.example"],
    [ip("192.0.2.1")],
  ]);
  expect(toldBy(answer)).toEqual([["A", "192.0.2.1"], ...aliases.map(({ data }) => ["CNAME", data])]);
  // The names of a circle are all led to.
  const circle = [alias("b.example", "www.example.com"), alias("www.example.com", "b.example")];
  expect(answerIn(reply(own, circle), own)?.names).toEqual(["www.example.com", "b.example"]);
  // What an alias was made from is above the name.
  const above = [alias("example.com", "example.net", "DNAME"), alias("www.example.com", "www.example.net")];
  const made = reply(own, [...above, a("www.example.net", "192.0.2.1"), a("example.com", "192.168.77.66")]);
  expect(toldBy(answerIn(made, own) as Answer)).toEqual([
    ...above.map(({ type, data }) => [type, data]),
    ["A", "192.0.2.1"],
  ]);
});

test("names that are compressed into what is left out are written in full", () => {
  const own = queryFor(asked);
  const question = reply(own, []);
  const name = [...Buffer.from("\x03cdn\x07example\x03net\0", "latin1")];
  const stray = [1, 122, 0, 0, 5, 0, 1, 0, 0, 1, 44, 0, name.length, ...name];
  const at = question.length + stray.length - name.length;
  const pointer = [0xc0 | (at >> 8), at & 0xff];
  const alias = [0xc0, 12, 0, 5, 0, 1, 0, 0, 1, 44, 0, 2, ...pointer];
  const address = [...pointer, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, 1];
  const message = Uint8Array.from([...question, ...stray, ...alias, ...address]);
  message[7] = 3;
  expect(toldBy(answerIn(message, own) as Answer)).toEqual([
    ["CNAME", "cdn.example.net"],
    ["A", "192.0.2.1"],
  ]);
});

/** The records that a device gets. */
function toldBy(answer: Answer) {
  const { answers = [], authorities = [] } = decoded(answerTo(asked, answer, 0));
  return [...answers, ...authorities].map((each) => [each.type, "data" in each && each.data]);
}

test("the hosts and the addresses in HTTPS records count", () => {
  const own = queryFor(asked);
  expect(answerIn(httpsReply(own, "www.example.com", "cdn.example.net", "192.0.2.1"), own)).toMatchObject({
    targets: ["cdn.example.net"],
    addresses: ["192.0.2.1"],
  });
  expect(answerIn(httpsReply(own, "www.example.com", "."), own)?.targets).toEqual(["www.example.com"]);
  const both = httpsReply(own, "www.example.com", ".", "192.0.2.1");
  const hint6 = [0, 6, 0, 16, 0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 7];
  const message = Uint8Array.from([...both, ...hint6]);
  message[both.length - 19] = 18 + hint6.length;
  expect(answerIn(message, own)?.addresses.map(String)).toEqual(["192.0.2.1", "2001:db8::7"]);
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

test("what does not fit into the client's UDP is cut off after whole records, which some clients make do with", () => {
  const plain = questionIn(query("www.example.com")) as Question;
  const own = queryFor(plain);
  const many = Array.from({ length: 40 }, (_, index) => a("www.example.com", `192.0.2.${index}`));
  const long = answerTo(plain, answerIn(reply(own, many), own) as Answer, 0);
  expect(long.length).toBeGreaterThan(512);
  const short = decoded(fitted(long, plain));
  expect(short.flag_tc).toBe(true);
  // Of 512 bytes, 33 are those of header and question, and each record has 31.
  expect(short.answers?.map((each) => "data" in each && each.data)).toEqual(
    many.slice(0, 15).map((each) => "data" in each && each.data),
  );
  const edns = { ...plain, hasEdns: true, udpBytes: 100 };
  const shorter = decoded(fitted(answerTo(edns, answerIn(reply(own, many), own) as Answer, 0), edns));
  expect([shorter.answers?.length, shorter.additionals?.map(({ type }) => type)]).toEqual([1, ["OPT"]]);
  expect(fitted(long, { ...plain, udpBytes: long.length })).toBe(long);
});

test("an answer of as many records as are read is cut to the client's UDP, with EDNS and without it", () => {
  const own = queryFor(asked);
  const empty = reply(own, []);
  const record = [0xc0, HEADER_BYTES, 0, 16, 0, 1, 0, 0, 0, 60, 0, 2, 1, 0x61];
  const withRecords = (count: number) => {
    const message = Uint8Array.from([...empty, ...Array.from({ length: count }, () => record).flat()]);
    viewOf(message).setUint16(6, count);
    return message;
  };
  const answer = answerIn(withRecords(256), own) as Answer;
  for (const hasEdns of [false, true]) {
    const client = { ...asked, hasEdns };
    const whole = answerTo(client, answer, 0);
    expect(whole.length).toBeGreaterThan(256 * record.length);
    const short = decoded(fitted(whole, client));
    expect([short.flag_tc, short.answers?.length, short.additionals?.length]).toEqual([
      ...[true, hasEdns ? 84 : 85],
      hasEdns ? 1 : 0,
    ]);
  }
  expect(() => answerIn(withRecords(257), own)).toThrow(Malformed);
});

test("cutting an answer costs a few microseconds, however many labels its records' names have", () => {
  const client = questionIn(query(`${"a.".repeat(110)}example.com`, "TXT", true)) as Question;
  const own = queryFor(client);
  const record = [0xc0, HEADER_BYTES, 0, 16, 0, 1, 0, 0, 0, 60, 0, 2, 1, 0x61];
  const message = Uint8Array.from([...reply(own, []), ...Array(256).fill(record).flat()]);
  viewOf(message).setUint16(6, 256);
  const whole = answerTo(client, answerIn(message, own) as Answer, 0);
  const took = Array.from({ length: 500 }, () => {
    const start = performance.now();
    fitted(whole, client);
    return performance.now() - start;
  });
  expect(decoded(fitted(whole, client)).flag_tc).toBe(true);
  expect(Math.min(...took)).toBeLessThan(0.05);
});

test("a query with more records than there are kinds of is malformed", () => {
  const bare = query("www.example.com");
  const withRecords = (count: number) => {
    const message = Uint8Array.from([
      ...bare,
      ...Array.from({ length: count }, () => [0, 0, 16, 0, 1, ...Array(6).fill(0)]).flat(),
    ]);
    viewOf(message).setUint16(10, count);
    return message;
  };
  expect(questionIn(withRecords(4))).toMatchObject({ name: "www.example.com", hasEdns: false });
  expect(() => questionIn(withRecords(5))).toThrow(Malformed);
});

test("an IPv4 address in an AAAA record counts as that IPv4 address", () => {
  const own = queryFor(asked);
  const record = { type: "AAAA", name: "www.example.com", ttl: 90, data: "::ffff:192.168.7.9" } as const;
  expect(answerIn(reply(own, [record]), own)).toMatchObject({
    addresses: ["192.168.7.9"],
    locals: ["192.168.7.9"],
  });
});

test("a question that was asked before is read as any other, but for its id", () => {
  const questions = new KnownQuestions();
  const asks = ["www.example.com", "WWW.example.com", "example.com"].flatMap((name) => [
    query(name),
    query(name, "A", true),
    query(name, "AAAA"),
  ]);
  for (let round = 0; round < 2; round++)
    for (const [at, message] of asks.entries()) {
      viewOf(message).setUint16(0, 0xff00 + 16 * round + at);
      const { id: _, ...question } = questionIn(message) as Question;
      expect(questions.read(message)?.question).toMatchObject(question);
      // Those who ask later must not get what the socket's buffer has then.
      const again = Uint8Array.from(message);
      const known = questions.read(again);
      again.fill(0);
      expect(known?.question.bytes).toEqual((questionIn(message) as Question).bytes);
    }
  expect(() => questions.read(asks[0]?.subarray(0, 14) as Uint8Array)).toThrow(Malformed);
  expect(questions.read((asks[0] as Uint8Array).with(2, 0x81))).toBeNull();
});

test("of many questions the first are read again, and nothing grows", () => {
  const questions = new KnownQuestions();
  for (let count = 0; count < 5_000; count++) questions.read(query(`${count}.example.com`));
  expect(questions.size).toBe(1_024);
  expect(questions.read(query("0.example.com"))?.question.name).toBe("0.example.com");
  const long = query(`${"a".repeat(60)}.${"b".repeat(60)}.example.com`);
  expect(new KnownQuestions().read(long)?.question.name).toBe(questionIn(long)?.name as string);
});

test("the gateway's own answers have a SOA, for a short time", () => {
  const told = decoded(noSuchName(asked));
  expect(told).toMatchObject({ id: 7, rcode: "NXDOMAIN", questions: [{ name: "www.Example.com" }] });
  expect(told.authorities).toMatchObject([{ type: "SOA", ttl: 10, data: { minimum: 10 } }]);
  expect(decoded(ownAnswer(asked, RCODE.refused))).toMatchObject({ rcode: "REFUSED" });
});

/** `FUZZ_MESSAGES=1000000 bun test tests/dns/answer.test.ts` takes a minute. */
const MESSAGES = Number(process.env.FUZZ_MESSAGES ?? 20_000);

test("a name that leads through more pointers than a name has labels is malformed", () => {
  const own = queryFor(asked);
  const empty = reply(own, []);
  const start = empty.length + 12;
  const pointer = (to: number) => [0xc0 | (to >> 8), to & 0xff];
  const withChain = (length: number) => {
    const chain = Array.from({ length }, (_, at) => pointer(at === 0 ? 12 : start + 2 * (at - 1))).flat();
    const data = [chain.length >> 8, chain.length & 0xff, ...chain];
    const last = [...pointer(start + 2 * (length - 1)), 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, 1];
    const message = Uint8Array.from([...empty, 0xc0, 12, 0, 10, 0, 1, 0, 0, 1, 44, ...data, ...last]);
    message[7] = 2;
    return () => answerIn(message, own)?.addresses;
  };
  expect(withChain(126)()).toEqual([ip("192.0.2.1")]);
  expect(withChain(128)).toThrow(Malformed);
});

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

test("an answer has a bound in addresses, in aliases and in hosts, whatever its bytes hold", () => {
  const own = queryFor(asked);
  const addresses = (count: number) =>
    Array.from({ length: count }, (_, at) => a("www.example.com", `192.0.2.${at}`));
  const aliases = (count: number): Record[] =>
    Array.from({ length: count }, (_, at) => ({
      ...{ type: "CNAME", name: at === 0 ? "www.example.com" : `n${at}.example`, ttl: 300 },
      data: `n${at + 1}.example`,
    }));
  const hints = (count: number) => {
    const message = httpsReply(
      own,
      "www.example.com",
      ".",
      Array(4 * count)
        .fill("1")
        .join("."),
    );
    // The length of the parameter, and that of the record.
    const at = message.length - 4 * count - 2;
    viewOf(message).setUint16(at, 4 * count);
    return message;
  };
  const hosts = (count: number) => {
    const each = httpsReply(own, "www.example.com", "host-00.example");
    const start = questionEndOf(own);
    const records = Array.from({ length: count }, (_, at) => {
      const record = Uint8Array.from(each.subarray(start));
      const digits = Buffer.from(String(at).padStart(2, "0"));
      record.set(digits, Buffer.from(record).indexOf("host-") + 5);
      return record;
    });
    const message = Uint8Array.from(Buffer.concat([each.subarray(0, start), ...records]));
    viewOf(message).setUint16(6, count);
    return message;
  };
  for (const [within, beyond] of [
    [reply(own, addresses(128)), reply(own, addresses(129))],
    [hints(128), hints(129)],
    [reply(own, aliases(63)), reply(own, aliases(64))],
    [hosts(16), hosts(17)],
  ] as const) {
    expect(answerIn(within, own)).not.toBeNull();
    expect(() => answerIn(beyond, own)).toThrow(Malformed);
  }
});
