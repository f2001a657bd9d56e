import { expect, test } from "bun:test";
import { type Question, questionIn } from "../../src/dns/question.ts";
import { type ExitResolvers, type Sockets, Upstream } from "../../src/dns/upstream.ts";
import type { BoundTo } from "../../src/system/bound-socket.ts";
import { ips } from "../fake/address.ts";
import { a, query, reply } from "./messages.ts";

const EXIT: ExitResolvers = { link: "wg2", mark: 0x114e, resolvers: ips("10.64.0.1", "10.64.0.2") };
const asked = questionIn(query("www.example.com")) as Question;

/** Resolvers that answer each query with these messages, over UDP and TCP. */
function resolversThat(answer: (sent: Uint8Array, over: "udp" | "tcp", way: BoundTo) => Uint8Array[]) {
  const ways: string[] = [];
  const openFor =
    (over: "udp" | "tcp"): Sockets["udp"] =>
    async (way, { onData }) => {
      ways.push(`${over} ${way.link} ${way.mark} ${way.peer.address}:${way.peer.port}`);
      return {
        send: (bytes) => {
          for (const each of answer(over === "tcp" ? bytes.subarray(2) : bytes, over, way))
            queueMicrotask(() => onData(over === "tcp" ? framed(each) : each));
          return true;
        },
        close: () => {},
      };
    };
  return { ways, upstream: new Upstream({ udp: openFor("udp"), tcp: openFor("tcp") }) };
}

function framed(message: Uint8Array): Uint8Array {
  return Uint8Array.from([message.length >> 8, message.length & 0xff, ...message]);
}

test("a query leaves by its exit only, from a socket that is used again", async () => {
  const { ways, upstream } = resolversThat((sent) => [reply(sent, [a("www.example.com", "192.0.2.1")])]);
  for (let count = 0; count < 3; count++)
    expect((await upstream.ask(asked, EXIT))?.addresses.map(String)).toEqual(["192.0.2.1"]);
  expect(ways).toEqual(["udp wg2 4430 10.64.0.1:53"]);
  upstream.close();
});

test("forged answers are as good as none, and the true one after them counts", async () => {
  const { upstream } = resolversThat((sent) => {
    const forged = reply(sent, [a("www.example.com", "192.0.2.66")]);
    const otherId = Uint8Array.from(forged);
    otherId[1] = (otherId[1] ?? 0) ^ 1;
    const otherCase = Uint8Array.from(forged);
    for (let at = 13; at < 16; at++) otherCase[at] = (otherCase[at] ?? 0) ^ 0x20;
    const otherName = reply(sent, [a("x", "192.0.2.66")], {
      questions: [{ type: "A", name: "evil.example" }],
    });
    return [
      otherId,
      otherCase,
      otherName,
      new Uint8Array(3),
      reply(sent, [a("www.example.com", "192.0.2.1")]),
    ];
  });
  expect((await upstream.ask(asked, EXIT))?.addresses.map(String)).toEqual(["192.0.2.1"]);
  upstream.close();
});

test("a resolver that says the same again and again is asked no more often, and read no further", async () => {
  let queries = 0;
  const isFull = (sent: Uint8Array) => sent[11] === 1;
  const { ways, upstream } = resolversThat((sent) => {
    queries += 1;
    const refusals = Array.from({ length: 300 }, () => reply(sent, [], { flags: 0x8185 }));
    return isFull(sent) ? refusals : [reply(sent, [a("www.example.com", "192.0.2.1")])];
  });
  expect((await upstream.ask(asked, EXIT))?.addresses.map(String)).toEqual(["192.0.2.1"]);
  expect([queries, ways.length]).toEqual([2, 1]);
  upstream.close();
});

test("what is cut off is asked again over TCP, by the same exit", async () => {
  const { ways, upstream } = resolversThat((sent, over) => [
    over === "udp" ? reply(sent, [], { flags: 0x8380 }) : reply(sent, [a("www.example.com", "192.0.2.1")]),
  ]);
  expect((await upstream.ask(asked, EXIT))?.addresses.map(String)).toEqual(["192.0.2.1"]);
  expect(ways).toEqual(["udp wg2 4430 10.64.0.1:53", "tcp wg2 4430 10.64.0.1:53"]);
  upstream.close();
});

test("if a resolver does not answer, the next one is asked", async () => {
  const { upstream } = resolversThat((sent, _, way) =>
    way.peer.address === "10.64.0.2" ? [reply(sent, [a("www.example.com", "192.0.2.1")])] : [],
  );
  expect((await upstream.ask(asked, EXIT))?.addresses.map(String)).toEqual(["192.0.2.1"]);
  upstream.close();
});

test("an exit to which the kernel does not send gives no answer, and ends nothing", async () => {
  const refusing = async () => ({
    send: () => {
      throw new Error("network is unreachable");
    },
    close: () => {},
  });
  const upstream = new Upstream({ udp: refusing, tcp: refusing });
  expect(await upstream.ask(asked, EXIT)).toBeNull();
  upstream.close();
});

test("an exit that cannot be used gives no answer", async () => {
  const upstream = new Upstream({
    udp: () => Promise.reject(new Error("no such device")),
    tcp: () => Promise.reject(new Error("no such device")),
  });
  expect(await upstream.ask(asked, EXIT)).toBeNull();
});
