import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import dgram from "node:dgram";
import { viewOf } from "../../src/base/dns-message.ts";
import { type Question, questionIn } from "../../src/dns/question.ts";
import { Upstream } from "../../src/dns/upstream.ts";
import { needsRoot } from "../fast.ts";
import { a, query, reply } from "./messages.ts";
import { ADDRESS, good, type Manner, OddResolver, records, socketsTo } from "./odd-resolver.ts";

setDefaultTimeout(180_000);
const NAME = "www.shop.example";
/** As glibc waits for an answer. */
const PATIENCE_MS = 5_000;

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
});

const silent: Manner = () => null;
const code =
  (rcode: number, isBare = false): Manner =>
  ({ query: sent }) => {
    const message = reply(sent, []);
    viewOf(message).setUint16(2, 0x8180 | rcode);
    if (!isBare) return message;
    viewOf(message).setUint16(4, 0);
    return message.subarray(0, 12);
  };
const [FORMERR, SERVFAIL, NOTIMP, REFUSED, NOTAUTH] = [1, 2, 4, 5, 9];
const empty: Manner = ({ query: sent }) => reply(sent, []);
const withoutEdns =
  (otherwise: Manner): Manner =>
  (asked) =>
    asked.hasEdns ? otherwise(asked) : good(asked);
const badVersion: Manner = ({ query: sent }) =>
  reply(sent, [], {
    additionals: [
      {
        type: "OPT",
        name: ".",
        udpPayloadSize: 512,
        extendedRcode: 1,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  });
const lowerCase: Manner = ({ query: sent, name }) =>
  reply(sent, [a(name.toLowerCase(), ADDRESS)], { questions: [{ type: "A", name: name.toLowerCase() }] });
const truncated =
  (isPartial: boolean): Manner =>
  ({ query: sent, name }) =>
    reply(sent, isPartial ? [a(name, ADDRESS)] : [], { flags: 0x8380 });
const later =
  (ms: number, manner: Manner): Manner =>
  async (asked) => {
    await Bun.sleep(ms);
    return manner(asked);
  };
const chain = (length: number, isReversed = false): Manner =>
  records((name) => {
    const names = [name, ...Array.from({ length }, (_, index) => `c${index}.example`)];
    const all = names.map((each, index) => {
      const next = names[index + 1];
      return next === undefined
        ? a(each, ADDRESS)
        : ({ type: "CNAME", name: each, ttl: 300, data: next } as const);
    });
    return isReversed ? all.toReversed() : all;
  });
const noIpv6Name: Manner = (asked) => (asked.type === "AAAA" ? code(3)(asked) : good(asked));
const spoiltEnd: Manner = (asked) => {
  const message = Buffer.concat([good(asked) as Uint8Array, Buffer.from([3, 1, 2])]);
  message.writeUInt16BE(1, 10);
  return message;
};
const noCapitals: Manner = (asked) => (/[A-Z]/.test(asked.name) ? null : good(asked));

interface Odd {
  resolvers: readonly (readonly [Manner, Manner?])[];
  /** What a client hears of the first resolver, where its queries are redirected; null for nothing. */
  without: string | null;
  with: string;
}
const both = (outcome: string) => ({ without: outcome, with: outcome });

const ODD: Record<string, Odd> = {
  "as it should be": { resolvers: [[good, good]], ...both(ADDRESS) },
  "silent, and another one": { resolvers: [[silent], [good]], without: null, with: ADDRESS },
  "silent, silent, and another one without EDNS": {
    ...{ resolvers: [[silent], [silent], [withoutEdns(silent)]], without: null, with: ADDRESS },
  },
  "REFUSED, and another one": { resolvers: [[code(REFUSED)], [good]], without: "5", with: ADDRESS },
  "SERVFAIL, and another one": { resolvers: [[code(SERVFAIL)], [good]], without: "2", with: ADDRESS },
  "NOTIMP, and another one": { resolvers: [[code(NOTIMP)], [good]], without: "4", with: ADDRESS },
  "NOTAUTH, and another one": { resolvers: [[code(NOTAUTH)], [good]], without: "9", with: ADDRESS },
  "FORMERR without the question, and another one": {
    ...{ resolvers: [[code(FORMERR, true)], [good]], without: "1", with: ADDRESS },
  },
  "empty, and another one": { resolvers: [[empty], [good]], without: "0", with: ADDRESS },
  "REFUSED, and a slow one": {
    resolvers: [[code(REFUSED)], [later(2_500, good)]],
    without: "5",
    with: ADDRESS,
  },
  "REFUSED, and nobody else": { resolvers: [[code(REFUSED)]], ...both("5") },
  "REFUSED, and a silent one": { resolvers: [[code(REFUSED)], [silent]], ...both("5") },
  "empty, and nobody else": { resolvers: [[empty]], ...both("0") },
  "empty, and a silent one": { resolvers: [[empty], [silent]], ...both("0") },
  "no such name, and another one": { resolvers: [[code(3)], [good]], ...both("3") },
  "in another case, with TCP": { resolvers: [[lowerCase, good]], ...both(ADDRESS) },
  "in another case, also over TCP": { resolvers: [[lowerCase, lowerCase]], ...both(ADDRESS) },
  "in another case, without TCP": { resolvers: [[lowerCase]], ...both(ADDRESS) },
  "FORMERR to EDNS": { resolvers: [[withoutEdns(code(FORMERR))]], ...both(ADDRESS) },
  "FORMERR to EDNS, without the question": {
    resolvers: [[withoutEdns(code(FORMERR, true))]],
    ...both(ADDRESS),
  },
  "NOTIMP to EDNS": { resolvers: [[withoutEdns(code(NOTIMP))]], ...both(ADDRESS) },
  "SERVFAIL to EDNS": { resolvers: [[withoutEdns(code(SERVFAIL))]], ...both(ADDRESS) },
  "BADVERS to EDNS": { resolvers: [[withoutEdns(badVersion)]], ...both(ADDRESS) },
  "silent to EDNS": { resolvers: [[withoutEdns(silent)]], ...both(ADDRESS) },
  "no such name to capital letters": {
    ...{ resolvers: [[(asked) => noCapitals(asked) ?? code(3)(asked)]], ...both(ADDRESS) },
  },
  "empty to EDNS": { resolvers: [[withoutEdns(empty)]], ...both(ADDRESS) },
  "silent to capital letters": { resolvers: [[noCapitals]], ...both(ADDRESS) },
  "truncated, with TCP": { resolvers: [[truncated(false), good]], ...both(ADDRESS) },
  "truncated, without TCP": { resolvers: [[truncated(true)]], ...both(ADDRESS) },
  "truncated, silent over TCP": { resolvers: [[truncated(true), silent]], ...both(ADDRESS) },
  "truncated, without TCP, and another one": {
    resolvers: [[truncated(false)], [good]],
    without: "0",
    with: ADDRESS,
  },
  "truncated in another case, with TCP": {
    resolvers: [
      [
        ({ query: sent, name }) =>
          reply(sent, [], { flags: 0x8380, questions: [{ type: "A", name: name.toLowerCase() }] }),
        good,
      ],
    ],
    ...both(ADDRESS),
  },
  slow: { resolvers: [[later(4_500, good)]], ...both(ADDRESS) },
  "no such name for AAAA": { resolvers: [[noIpv6Name]], ...both(ADDRESS) },
  "many CNAMEs": { resolvers: [[chain(40)]], ...both(ADDRESS) },
  "records in the other order": { resolvers: [[chain(9, true)]], ...both(ADDRESS) },
  "spoilt additional records": { resolvers: [[spoiltEnd]], ...both(ADDRESS) },
};

async function started(resolvers: Odd["resolvers"]) {
  const all = await Promise.all(resolvers.map(([udp, tcp]) => OddResolver.start(udp, tcp)));
  const { addresses, sockets } = socketsTo(all);
  const upstream = new Upstream(sockets);
  stops.push(() => upstream.close(), ...all.map((each) => () => each.stop()));
  const ask = (name = NAME, type: "A" | "AAAA" = "A") =>
    upstream.ask(questionIn(query(name, type)) as Question, { link: "wg0", mark: 1, resolvers: addresses });
  return { all, ask };
}

needsRoot.describe("what works without a list works with one", () => {
  test.concurrent.each(Object.entries(ODD))("where a resolver is %s", async (_, odd) => {
    const { all, ask } = await started(odd.resolvers);
    const answer = ask().then((found) => found && (found.addresses[0]?.toString() ?? String(found.rcode)));
    const [without, withList] = await Promise.all([redirected(all[0]?.port ?? 0), answer]);
    expect({ without, with: withList }).toEqual({ without: odd.without, with: odd.with });
  });

  test.concurrent("what a resolver has shown of itself is remembered, so that only the first question is slow", async () => {
    for (const resolvers of [
      [[withoutEdns(silent)]],
      [[silent], [good]],
      [[code(REFUSED)], [good]],
      [[noCapitals]],
      [[(asked) => noCapitals(asked) ?? code(3)(asked)]],
      [[truncated(true), silent]],
    ] as Odd["resolvers"][]) {
      const { all, ask } = await started(resolvers);
      const sent = () => all.reduce((sum, { seen }) => sum + seen.length, 0);
      for (const name of ["one.shop.example", "two.shop.example", "three.shop.example"])
        expect((await ask(name))?.addresses.map(String)).toEqual([ADDRESS]);
      // A busy machine may lose time, and repeat a query.
      const counts: number[] = [];
      for (const name of ["four.shop.example", "five.shop.example", "six.shop.example"]) {
        const before = sent();
        expect((await ask(name))?.addresses.map(String)).toEqual([ADDRESS]);
        counts.push(sent() - before);
      }
      expect(Math.min(...counts)).toBe(1);
    }
  });

  test.concurrent("a resolver that becomes another one is asked as that one wants, and over TCP again after a while", async () => {
    for (const later of [withoutEdns(code(FORMERR)), withoutEdns(silent)]) {
      let manner = good;
      const { all, ask } = await started([[(asked) => manner(asked)]]);
      await ask();
      manner = later;
      const styles: (boolean | undefined)[] = [];
      for (let count = 0; count < 4; count++) {
        const before = all[0]?.seen.length;
        expect((await ask(`n${count}.shop.example`))?.addresses.map(String)).toEqual([ADDRESS]);
        styles.push(all[0]?.seen[before ?? 0]?.hasEdns);
      }
      expect(styles).toEqual([true, true, true, false]);
    }
    const upstream = await started([[truncated(false), silent], [silent]]);
    expect(await upstream.ask()).toBeNull();
    await upstream.ask("other.shop.example");
    // There was nothing in what was cut off, so each question tries.
    expect(upstream.all[0]?.seen.filter(({ over }) => over === "tcp")).toHaveLength(2);
  });

  test.concurrent("after answers in another case, they count; not from a resolver that repeats ours", async () => {
    const { all, ask } = await started([[lowerCase, good]]);
    for (let count = 0; count < 5; count++) await ask(`n${count}.shop.example`);
    expect(all[0]?.seen.filter(({ over }) => over === "tcp")).toHaveLength(2);
    let isHonest = true;
    const either = await started([[(asked) => (isHonest ? good : lowerCase)(asked), good]]);
    await either.ask("a.long.name.of.the.shop.example");
    isHonest = false;
    for (let count = 0; count < 5; count++) await either.ask(`n${count}.shop.example`);
    expect(either.all[0]?.seen.filter(({ over }) => over === "tcp")).toHaveLength(5);
  });

  test.concurrent("a name that has no AAAA, says the resolver, keeps its A; nothing at all is told after eight seconds", async () => {
    const { ask } = await started([[noIpv6Name]]);
    expect((await ask(NAME, "AAAA"))?.rcode).toBe(3);
    expect((await ask(NAME))?.addresses.map(String)).toEqual([ADDRESS]);
    const nobody = await started([[silent], [silent]]);
    const began = performance.now();
    expect(await nobody.ask()).toBeNull();
    expect(performance.now() - began).toBeGreaterThan(7_500);
  });
});

/** What a client hears that asks as most do, with nothing but a redirection between it and the resolver. */
async function redirected(port: number): Promise<string | null> {
  const socket = dgram.createSocket("udp4");
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const timer = setTimeout(() => resolve(null), PATIENCE_MS);
  const sent = query(NAME);
  socket.on("message", async (message, { port: from }) => {
    // Another test's resolver may answer, late, whoever had this port before.
    if (from !== port) return;
    const isCut = (message.readUInt16BE(2) & 0x0200) !== 0;
    resolve(saidIn((isCut && (await overTcp(sent, port))) || message));
  });
  socket.send(sent, port, "127.0.0.1");
  return promise.finally(() => {
    clearTimeout(timer);
    socket.close();
  });
}

async function overTcp(sent: Uint8Array, port: number): Promise<Buffer | null> {
  const { promise, resolve } = Promise.withResolvers<Buffer | null>();
  const timer = setTimeout(() => resolve(null), 1_000);
  const socket = await Bun.connect({
    ...{ hostname: "127.0.0.1", port },
    socket: { data: (_, bytes) => resolve(Buffer.from(bytes.subarray(2))), close: () => resolve(null) },
  }).catch(() => null);
  if (socket === null) return null;
  socket.write(Uint8Array.from([0, sent.length, ...sent]));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.terminate();
  });
}

/** The address, or else the code. */
function saidIn(message: Buffer): string {
  const hasAddress = message.includes(Buffer.from(ADDRESS.split(".").map(Number)));
  return hasAddress ? ADDRESS : String(message.readUInt16BE(2) & 0xf);
}
