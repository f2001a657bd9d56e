import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { INTERNET } from "../../src/sandbox/topology.ts";
import type { RunningSpeedTest, SpeedResult } from "../../src/speed/schema.ts";
import { long } from "../fast.ts";
import { Website } from "../rig/peers/website.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(240_000);

const ENDLESS = "https://internet.test/endless";

let lab: Lab;
let server: Website;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  server = await Website.start(lab);
  gateway = await lab.startGateway({ environment: server.environment });
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
});
afterAll(async () => {
  await server?.stop();
  await lab?.close();
});

const measure = (body: object) => gateway.api("POST", "/api/speed-tests", body);
const list = async () => (await gateway.api("GET", "/api/speed-tests")).body;
const running = async (): Promise<RunningSpeedTest | null> => (await list()).running;
/** The bytes that tunnels have received. */
async function received(): Promise<Record<string, number>> {
  const { tunnels } = (await gateway.api("GET", "/api/tunnels")).body;
  return Object.fromEntries(tunnels.map(({ name, rx_bytes }: never) => [name, rx_bytes]));
}

test("a test goes through the tunnel that is named and no other, and nothing of it leaves in clear", async () => {
  const sniffer = await lab.sniff();
  const before = await received();
  const { status, body } = await measure({
    url: `${ENDLESS}?token=1`,
    tunnel: "second",
    megabytes: 5,
    seconds: 30,
  });
  expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
  const result: SpeedResult = body;
  expect(result).toMatchObject({ tunnel: "second", server: "box-vpn-2", url: ENDLESS });
  expect(result.bytes).toBeGreaterThan(1_000_000);
  expect(result.mbit_per_second).toBeGreaterThan(0);
  const after = await received();
  expect((after.second ?? 0) - (before.second ?? 0)).toBeGreaterThan(5_000_000);
  expect((after.main ?? 0) - (before.main ?? 0)).toBeLessThan(100_000);
  expect(await list()).toEqual({ running: null, results: [result] });
  const { leaks, wireguard } = await sniffer.stop();
  expect(leaks).toEqual([]);
  expect(wireguard).toBeGreaterThan(100);
});

test("the sniffer sees the same request if it leaves outside the tunnel (positive control)", async () => {
  await gateway.ask("POST", "/api/disconnect");
  expect((await gateway.operate("killswitch", "off")).code).toBe(0);
  const sniffer = await lab.sniff();
  const curl = ["curl", "-sk", "-m", "2", "-o", "/dev/null", `https://${INTERNET.host4}/small`];
  await lab.exec(lab.namespaces.gateway, curl);
  await until(() => sniffer.peek().leaks.length > 0);
  await sniffer.stop();
  // Even so, a test enters its tunnel or nothing.
  const bound = await lab.sniff();
  expect((await measure({ url: ENDLESS })).body.error).toBe(
    "tunnel: main is not connected; connect it first",
  );
  expect((await measure({ url: ENDLESS, tunnel: "second", megabytes: 1 })).status).toBe(200);
  expect((await bound.stop()).leaks).toEqual([]);
  expect((await gateway.operate("killswitch", "on")).code).toBe(0);
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
});

test("what cannot be measured is said in words, and nothing of it is kept", async () => {
  const before = (await list()).results;
  const said = async (url: string) => (await measure({ url })).body.error;
  expect(await said("https://internet.test/moved")).toBe(
    "internet.test: it answers 302 and points elsewhere, which is not followed; name that address",
  );
  expect(await said("https://internet.test/none")).toBe("internet.test: it answers 404");
  expect(await said("https://internet.test/small")).toBe(
    "internet.test: too little comes from there to tell a rate; name a larger file",
  );
  expect(await said("https://internet.test/silent")).toBe("internet.test: nothing has come for 5 s");
  expect(await said("https://nowhere.invalid/")).toBe("url: the name nowhere.invalid does not resolve");
  expect(await said("https://internet.test:444/")).toStartWith("internet.test:444: ");
  // The certificate is for the name.
  expect(await said(`https://${INTERNET.host4}/endless`)).toStartWith(
    `${INTERNET.host4}: its certificate is not accepted: `,
  );
  expect((await list()).results).toEqual(before);
});

test("one runs at a time; a disconnect, a move and who has asked end it", async () => {
  const long = { url: ENDLESS, megabytes: 1_000, seconds: 30, tunnel: "second" };
  const first = measure(long);
  await until(async () => ((await running())?.bytes ?? 0) > 0);
  expect((await measure(long)).body.error).toBe("another speed test is under way; wait for its end");
  // What happens to another tunnel does not end it.
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  expect(await running()).not.toBeNull();
  await gateway.ask("POST", "/api/tunnels/second/disconnect");
  expect((await first).body.error).toBe("the tunnel has changed, so the speed test has ended");
  expect(await running()).toBeNull();
  const left = new AbortController();
  const asked = fetch(`http://127.0.0.1:${gateway.port}/api/speed-tests`, {
    ...{ method: "POST", signal: left.signal, headers: { "content-type": "application/json" } },
    body: JSON.stringify({ ...long, tunnel: "main" }),
  }).catch(() => {});
  await until(async () => ((await running())?.bytes ?? 0) > 0);
  left.abort();
  await asked;
  await until(async () => (await running()) === null);
});
