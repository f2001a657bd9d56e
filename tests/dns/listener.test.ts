import { afterEach, expect, test } from "bun:test";
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
