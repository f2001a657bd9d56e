import { expect, test } from "bun:test";
import { roundTripTo } from "../../src/system/round-trip.ts";
import { needsRoot } from "../fast.ts";

const LINK = "lo";
const RESOLVER = "127.99.53.1";
const STRANGER = "127.99.53.2";
const LATER_MS = 80;

type Responder = Awaited<ReturnType<typeof responder>>;

/** A resolver on loopback, which is given each query and where it came from. */
async function responder(answer: (query: Buffer, to: number) => void) {
  return Bun.udpSocket({
    hostname: RESOLVER,
    port: 53,
    socket: { data: (_, query, port) => answer(Buffer.from(query), port) },
  });
}

function answerTo(query: Buffer): Buffer {
  const answer = Buffer.from(query);
  answer[2] = 0x81;
  return answer;
}

const way = { link: LINK, mark: 0, address: RESOLVER };

needsRoot.test(
  "the time until the answer is measured, and each question has another port and number",
  async () => {
    const seen: [id: number, port: number][] = [];
    const resolver: Responder = await responder((query, port) => {
      seen.push([query.readUInt16BE(), port]);
      setTimeout(() => resolver.send(answerTo(query), port, "127.0.0.1"), LATER_MS);
    });
    try {
      expect(await roundTripTo(way)).toBeGreaterThanOrEqual(LATER_MS - 1);
      for (let question = 0; question < 5; question++) await roundTripTo(way);
      expect(new Set(seen.map(([id]) => id)).size).toBeGreaterThan(4);
      expect(new Set(seen.map(([, port]) => port)).size).toBeGreaterThan(4);
    } finally {
      resolver.close();
    }
  },
);

needsRoot.test("nothing but the resolver's answer to this very question counts", async () => {
  // It is told that nobody listens to it.
  let refused = 0;
  const stranger = await Bun.udpSocket({ hostname: STRANGER, socket: { error: () => void refused++ } });
  const resolver: Responder = await responder((query, port) => {
    const right = answerTo(query);
    const otherId = Buffer.from(right);
    otherId.writeUInt16BE(right.readUInt16BE() ^ 1);
    const otherQuestion = Buffer.from(right);
    otherQuestion[14] = "x".charCodeAt(0);
    stranger.send(right, port, "127.0.0.1");
    for (const wrong of [query, otherId, otherQuestion, right.subarray(0, 11)])
      resolver.send(wrong, port, "127.0.0.1");
    setTimeout(() => resolver.send(right, port, "127.0.0.1"), LATER_MS);
  });
  try {
    expect(await roundTripTo(way)).toBeGreaterThanOrEqual(LATER_MS - 1);
    expect(refused).toBeGreaterThan(0);
  } finally {
    resolver.close();
    stranger.close();
  }
});

needsRoot.test("a refusal without the question is an answer, too", async () => {
  const resolver: Responder = await responder((query, port) => {
    const refusal = answerTo(query).subarray(0, 12);
    refusal[3] = 5;
    refusal[5] = 0;
    resolver.send(refusal, port, "127.0.0.1");
  });
  try {
    expect(await roundTripTo(way)).toBeGreaterThanOrEqual(0);
  } finally {
    resolver.close();
  }
});

needsRoot.test("a resolver that is not there answers nothing", async () => {
  expect(await roundTripTo(way)).toBeNull();
});

test("a link that is not there is an error", async () => {
  await expect(roundTripTo({ ...way, link: "nolink0" })).rejects.toThrow(
    `no socket can send to ${RESOLVER} by nolink0`,
  );
});
