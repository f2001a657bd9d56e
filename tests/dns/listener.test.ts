import { afterEach, expect, test } from "bun:test";
import { connect } from "node:net";
import { mustParseAddress } from "../../src/base/address.ts";
import { ownAnswer, RCODE } from "../../src/dns/answer.ts";
import { Listener } from "../../src/dns/listener.ts";
import { questionIn } from "../../src/dns/question.ts";
import { query } from "./messages.ts";

const HOME = "127.0.0.1";
/** Long enough for the client to be gone. */
const LATER_MS = 20;

let listener: Listener | null = null;
afterEach(() => listener?.stop());

function freePort(): number {
  const free = Bun.listen({ hostname: HOME, port: 0, socket: { data() {} } });
  const { port } = free;
  free.stop(true);
  return port;
}

test("a client that has said over TCP that it asks nothing more hears all answers, and then the end", async () => {
  const port = freePort();
  listener = await Listener.open([mustParseAddress(HOME)], port, {
    answer: async (message) => {
      await Bun.sleep(LATER_MS);
      return { question: null, answer: message.subarray(0, 12) };
    },
    enter: () => true,
    leave: () => {},
    failed: () => {},
  });
  for (const questions of [2, 0]) {
    const { promise, resolve } = Promise.withResolvers<number>();
    let bytes = 0;
    const client = connect({ host: HOME, port, allowHalfOpen: true });
    client.on("data", (more) => {
      bytes += more.length;
    });
    client.on("end", () => resolve(bytes));
    for (let count = 0; count < questions; count += 1) {
      const message = query("here.example");
      client.write(Uint8Array.from([0, message.length, ...message]));
    }
    client.end();
    expect(await promise).toBe(14 * questions);
  }
});

test("clients that close their ports before the answer comes do not keep others from theirs, or end the service", async () => {
  const port = freePort();
  listener = await Listener.open([mustParseAddress(HOME)], port, {
    answer: async (message) => {
      const question = questionIn(message);
      if (question === null) return null;
      if (question.name === "gone.example") await Bun.sleep(LATER_MS);
      return { question, answer: ownAnswer(question, RCODE.noName) };
    },
    enter: () => true,
    leave: () => {},
    failed: () => {},
  });
  for (let round = 0; round < 5; round += 1) {
    for (let count = 0; count < 3; count += 1) {
      const gone = await Bun.udpSocket({ hostname: HOME });
      gone.send(query("gone.example"), port, HOME);
      gone.close();
    }
    await Bun.sleep(2 * LATER_MS);
    const { promise, resolve } = Promise.withResolvers<number>();
    const client = await Bun.udpSocket({
      hostname: HOME,
      socket: { data: (_, bytes) => resolve(bytes.length) },
    });
    client.send(query("here.example"), port, HOME);
    expect(await promise).toBeGreaterThan(0);
    client.close();
  }
});

test("a question that makes the gateway throw gets no answer over UDP or TCP, and those after it do", async () => {
  const port = freePort();
  const failures: unknown[] = [];
  listener = await Listener.open([mustParseAddress(HOME)], port, {
    answer: async (message) => {
      const question = questionIn(message);
      if (question?.name !== "here.example") throw new Error("a fault of ours");
      return { question, answer: ownAnswer(question, RCODE.noName) };
    },
    enter: () => true,
    leave: () => {},
    failed: (error) => failures.push(error),
  });
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  const udp = await Bun.udpSocket({
    hostname: HOME,
    socket: { data: (_, bytes) => resolve(new Uint8Array(bytes)) },
  });
  udp.send(query("gone.example"), port, HOME);
  udp.send(query("here.example"), port, HOME);
  expect(questionIn((await promise).with(2, 1))?.name).toBe("here.example");
  udp.close();
  const tcp = Promise.withResolvers<number>();
  const client = connect({ host: HOME, port });
  client.on("data", (bytes) => tcp.resolve(bytes.length));
  for (const name of ["gone.example", "here.example"]) {
    const message = query(name);
    client.write(Uint8Array.from([0, message.length, ...message]));
  }
  expect(await tcp.promise).toBeGreaterThan(2);
  client.destroy();
  expect(failures).toHaveLength(2);
});

test("questions that come together over TCP get answers of their own, also if all are written into the same bytes", async () => {
  const port = freePort();
  const same = query("here.example");
  listener = await Listener.open([mustParseAddress(HOME)], port, {
    answer: (message) => {
      same.set(message.subarray(0, 2));
      return { question: null, answer: same };
    },
    enter: () => true,
    leave: () => {},
    failed: () => {},
  });
  const { promise, resolve } = Promise.withResolvers<number[]>();
  let received = Buffer.alloc(0);
  const framed = (id: number) => [0, same.length, 0, id, ...same.subarray(2)];
  const client = connect({ host: HOME, port }, () =>
    client.write(Uint8Array.from([1, 2, 3].flatMap(framed))),
  );
  client.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    const all = 3 * (2 + same.length);
    if (received.length === all) resolve([0, 1, 2].map((at) => received.readUInt16BE((at * all) / 3 + 2)));
  });
  expect(await promise).toEqual([1, 2, 3]);
  client.destroy();
});
