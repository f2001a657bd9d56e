import { afterEach, beforeEach, expect, spyOn } from "bun:test";
import type { GatewayEvent } from "../../src/http/event.ts";
import { MAX_SPEED_RESULTS } from "../../src/shared/bounds.ts";
import { slow } from "../fast.ts";
import { BODY } from "../servers/example.ts";
import { Home } from "./home.ts";

const { test } = slow;

const URL_ASKED = "https://192.0.2.80/100MB.bin?key=secret";

let home: Home;
let told: Extract<GatewayEvent, { type: "speed_update" }>["payload"]["running"][];
beforeEach(async () => {
  home = await Home.start();
  await home.connect();
  told = [];
  home.parts.events.subscribe("speed_update", ({ payload }) => told.push(payload.running));
  home.host.download = async (_, onBytes) => {
    onBytes(1_000_000, 100);
    return { bytes: 12_500_000, ms: 1_000 };
  };
});
afterEach(() => home.stop());

const measure = (body: object) => home.send("POST", "/api/speed-tests", body);
const list = async () => (await home.send("GET", "/api/speed-tests")).json;

test("a test is bound to the tunnel's interface, and its result is kept without what may be secret", async () => {
  const { status, json } = await measure({ url: URL_ASKED, seconds: 5, megabytes: 20 });
  expect({ status, json }).toEqual({
    status: 200,
    json: {
      ...{ at: expect.any(String), tunnel: "main", server: "se-1", url: "https://192.0.2.80/100MB.bin" },
      ...{ bytes: 12_500_000, seconds: 1, mbit_per_second: 100 },
    },
  });
  expect(home.host.downloads).toEqual([
    {
      ...{ link: "wg0", mark: expect.any(Number), addresses: ["192.0.2.80"], url: URL_ASKED },
      ...{ mostBytes: 20_000_000, mostMs: 5_000 },
    } as never,
  ]);
  expect(await list()).toEqual({ running: null, results: [json] });
  expect(told).toEqual([expect.objectContaining({ tunnel: "main", bytes: 0, mbit_per_second: null }), null]);
});

test("the last results are kept, the latest first", async () => {
  for (let time = 0; time < MAX_SPEED_RESULTS + 2; time++) await measure({ url: URL_ASKED });
  const { results } = await list();
  expect(results).toHaveLength(MAX_SPEED_RESULTS);
  const times = results.map(({ at }: { at: string }) => at);
  expect(times).toEqual(times.toSorted().reverse());
});

test("only https is asked, without a name and a password, and only what the tunnel leads to", async () => {
  const error = async (body: object) => (await measure(body)).json.error;
  expect(await error({ url: "http://192.0.2.80/" })).toStartWith("url: must be an https address");
  expect(await error({ url: "file:///etc/passwd" })).toStartWith("url: must be an https address");
  expect(await error({ url: "https://me:secret@192.0.2.80/" })).toBe(
    "url: must have no name and no password",
  );
  expect(await error({ url: `https://${"a".repeat(64)}.test/` })).toBe("url: must have the name of a server");
  expect(await error({ url: "https://[2001:db8::1]/" })).toBe(
    "url: the tunnel does not lead to [2001:db8::1]",
  );
  expect(await error({ url: "https://speed.example.com/" })).toStartWith("url: the tunnel has no resolver");
  expect(await error({ url: URL_ASKED, tunnel: "tv" })).toBe("tunnel: there is no tunnel of this name");
  expect((await measure({ url: URL_ASKED, seconds: 31 })).status).toBe(400);
  expect((await measure({ url: URL_ASKED, megabytes: 0 })).status).toBe(400);
  expect(await error({ url: "me@192.0.2.80" })).toBe("url: must have no name and no password");
  expect(home.host.downloads).toEqual([]);
  await home.send("POST", "/api/disconnect");
  expect(await error({ url: URL_ASKED })).toBe("tunnel: main is not connected; connect it first");
});

test("an address without its scheme may hold another one", async () => {
  const url = "192.0.2.80/x?u=http://y";
  expect((await measure({ url })).status).toBe(200);
  expect(home.host.downloads.map((each) => each.url)).toEqual([`https://${url}`]);
});

test("the kill switch permits another tunnel than main the server, as long as a test runs", async () => {
  home.parts.catalogue.addCustom({ ...BODY, private_key: new Uint8Array(32).fill(8).toBase64() });
  const made = { server: BODY.name, provider: "custom" };
  expect((await home.send("PUT", "/api/tunnels/tv", made)).status).toBe(200);
  const rules = () => (home.host.table ?? "").split("\n").filter((line) => line.includes("or a speed test"));
  const seen: string[][] = [];
  home.host.download = async () => {
    seen.push(rules());
    return { bytes: 12_500_000, ms: 1_000 };
  };
  await measure({ url: URL_ASKED });
  await measure({ url: URL_ASKED, tunnel: "tv" });
  expect(seen).toEqual([[], [expect.stringContaining('oifname "wg2" ip daddr 192.0.2.80 tcp dport 443 ')]]);
  expect(rules()).toEqual([]);
});

test("of a name with many addresses, a few are tried", async () => {
  const many = Array.from({ length: 100 }, (_, at) => `192.0.2.${at}`);
  Reflect.get(home.parts.speedTests, "deps").lookUp = async () => many;
  await measure({ url: "https://speed.example.com/100MB.bin" });
  expect(home.host.downloads.map(({ addresses }) => addresses)).toEqual([many.slice(0, 4) as never]);
});

test("a disconnect ends a test, and there is one at a time", async () => {
  home.host.download = () => new Promise(() => {});
  const first = measure({ url: URL_ASKED });
  while (home.host.downloads.length === 0) await Bun.sleep(1);
  expect((await measure({ url: URL_ASKED })).json.error).toBe(
    "another speed test is under way; wait for its end",
  );
  expect((await list()).running).toMatchObject({ tunnel: "main", bytes: 0 });
  await home.send("POST", "/api/disconnect");
  expect((await first).json.error).toBe("the tunnel has changed, so the speed test has ended");
  expect(await list()).toEqual({ running: null, results: [] });
  expect(told.at(-1)).toBeNull();
});

test("a disconnect ends a test whose name nobody answers for", async () => {
  const asked = Promise.withResolvers<void>();
  Reflect.get(home.parts.speedTests, "deps").lookUp = () => {
    asked.resolve();
    return new Promise(() => {});
  };
  const first = measure({ url: "https://speed.example.com/100MB.bin" });
  await asked.promise;
  await home.send("POST", "/api/disconnect");
  expect((await first).json.error).toBe("the tunnel has changed, so the speed test has ended");
  expect((await list()).running).toBeNull();
});

test("a test may be silent for longer than other requests", async () => {
  const server = home.app.servers.http;
  if (server === null) throw new Error("it does not listen");
  const timeout = spyOn(server, "timeout");
  await measure({ url: URL_ASKED });
  expect(timeout.mock.calls.map(([, seconds]) => seconds)).toEqual([120]);
});

test("a result that cannot be kept is answered all the same", async () => {
  home.host.download = async () => ({ bytes: 12_500_000, ms: 1_000 });
  home.parts.store.write = () => {
    throw new Error("full");
  };
  expect((await measure({ url: URL_ASKED })).status).toBe(200);
  expect((await list()).running).toBeNull();
});
