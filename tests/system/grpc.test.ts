import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { call } from "../../src/system/grpc.ts";
import type { ProcedureCall } from "../../src/system/host.ts";
import { ephemeralKeys } from "../../src/tunnel/ephemeral-peer.ts";
import { generateKeyPair, publicKeyOf } from "../../src/wireguard/key.ts";
import { needsRoot } from "../fast.ts";
import { type Behaviour, EphemeralService } from "../rig/peers/ephemeral-service.ts";

const own = generateKeyPair();
/** For what is not answered. */
const SOON_MS = 300;
const LONG_MS = 8_000;

/** What a service does, and what is told of it. */
const FAILURES: [does: string, Behaviour, code: string, text: string][] = [
  ["refuses", "refuse", "unable", "refused the request"],
  ["gives a ciphertext that is too short", "short", "unable", "gave an answer that is not understood"],
  ["sends too much", "flood", "unable", "sends too much"],
  ["is silent", "silent", "timed_out", "did not answer within 0.3 s"],
  ["loses its answer", "lost", "timed_out", "did not answer within 0.3 s"],
];

// To bind a socket to an interface, and to mark it.
needsRoot.describe("an agreement on keys, with another implementation of HTTP/2 and ML-KEM", () => {
  let service: EphemeralService;
  beforeAll(async () => {
    service = await EphemeralService.start("127.0.0.1", 0);
  });
  beforeEach(() => service.behave("answer"));
  afterAll(() => service.stop());

  /** On the loopback interface. */
  function agreed(
    withinMs = LONG_MS,
    more: Partial<ProcedureCall> = {},
    signal = new AbortController().signal,
  ) {
    const to = () => ({ address: "127.0.0.1", port: service.port, ...more });
    const host = { call: (asked: ProcedureCall) => call({ ...asked, ...to() }, signal) };
    return ephemeralKeys(host, { link: "lo", mark: 0, own: own.privateKey }, withinMs, signal);
  }

  test("comes to the same secret at both ends, each time to a new one", async () => {
    const [one, other] = [await agreed(), await agreed()];
    expect(service.said("psk").slice(-2)).toEqual([one.presharedKey, other.presharedKey]);
    const pairs = [one, other].map(({ privateKey }) => `${publicKeyOf(privateKey)} for ${own.publicKey}`);
    expect(service.said("registered").slice(-2)).toEqual(pairs);
    expect(one.presharedKey).not.toBe(other.presharedKey);
  });

  for (const [does, behaviour, code, text] of FAILURES)
    test(`says so if the service ${does}, and the next one succeeds`, async () => {
      await service.behave(behaviour);
      const within = code === "timed_out" ? SOON_MS : LONG_MS;
      await expect(agreed(within)).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
      await service.behave("answer");
      await agreed();
    });

  test("says so where nothing listens, or something else", async () => {
    await expect(agreed(LONG_MS, { port: 9 })).rejects.toMatchObject({
      code: "unable",
      message: "127.0.0.1:9 takes no connections",
    });
    const page = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("Log in") });
    await expect(agreed(LONG_MS, { port: page.port ?? 0 })).rejects.toMatchObject({ code: "unable" });
    await page.stop(true);
    await expect(agreed(LONG_MS, { path: "/another.Service/Method" })).rejects.toThrow("refused the request");
    await expect(agreed(LONG_MS, { link: "no-such-link" })).rejects.toMatchObject({ code: "unable" });
  });

  test("reads an answer in whatever frames and pieces it comes, and answers what HTTP/2 asks", async () => {
    const frame = (type: number, flags: number, stream: number, ...payload: number[]) => [
      ...[0, 0, payload.length, type, flags, 0, 0, 0, stream],
      ...payload,
    ];
    const script = [
      ...frame(4, 0, 0, 0, 3, 0, 0, 0, 100),
      ...frame(6, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8),
      ...frame(8, 0, 0, 0, 0, 255, 255),
      ...frame(1, 4, 1, 0x88),
      // Two bytes of padding after the first half of the message.
      ...frame(0, 8, 1, 2, 0, 0, 0, 0, 4, 10, 20, 0, 0),
      ...frame(99, 255, 1, 7),
      ...frame(0, 0, 3, 9, 9),
      ...frame(0, 0, 1, 30, 40),
      ...frame(1, 5, 1, 0x88),
    ];
    const heard: Uint8Array[] = [];
    const server = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: async (socket) => {
          for (const byte of script) {
            socket.write(Uint8Array.of(byte));
            socket.flush();
            await Bun.sleep(0);
          }
        },
        data: (_, bytes) => void heard.push(bytes),
      },
    });
    const place = { link: "lo", mark: 0, address: "127.0.0.1", port: server.port, path: "/a.B/C" };
    const answer = await call({ ...place, message: new Uint8Array(3), withinMs: LONG_MS });
    expect([...answer]).toEqual([10, 20, 30, 40]);
    const end = Buffer.from([...frame(4, 1, 0), ...frame(6, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8)]);
    while (!Buffer.concat(heard).includes(end)) await Bun.sleep(1);
    server.stop(true);
  });

  test("ends with the reason of an abort", async () => {
    await service.behave("silent");
    const aborted = new AbortController();
    const outcome = agreed(LONG_MS, {}, aborted.signal).catch((error: Error) => error.message);
    const asked = service.said("asked").length;
    while (service.said("asked").length === asked) await Bun.sleep(1);
    aborted.abort(new Error("interrupted by a disconnect"));
    expect(await outcome).toBe("interrupted by a disconnect");
  });

  test("ends with the reason of an abort that comes while the socket is made", async () => {
    await service.behave("silent");
    const aborted = new AbortController();
    const place = { link: "lo", mark: 0, address: "127.0.0.1", port: service.port, path: "/a.B/C" };
    const asked = { ...place, message: new Uint8Array(3), withinMs: SOON_MS };
    const outcome = call(asked, aborted.signal).catch((error: Error) => error.message);
    aborted.abort(new Error("interrupted by a disconnect"));
    expect(await outcome).toBe("interrupted by a disconnect");
  });
});
