import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { INTERNET, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Clock } from "../rig/tools/clock.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(240_000);

/** The service looks at its clock every 18 s. */
const DONE_WITHIN_MS = 120_000;
const MINUTE_S = 60;
/** So many datagrams are enough for a loss to show. */
const ENOUGH = 100;
const PAGE = `http://${INTERNET.host4}/ip`;

let lab: Lab;
let clock: Clock;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  clock = await Clock.build(lab);
  gateway = await lab.startGateway({ ...clock.options, flags: ["--managed-list", listOf(lab)] });
  expect((await gateway.api("POST", "/api/connect", { server: "Sweden" })).status).toBe(200);
  await gateway.keep();
});
beforeEach(() => gateway.reset());
afterAll(() => lab.close());

const status = async () => (await gateway.api("GET", "/api/status")).body;
const schedules = async () => (await gateway.api("GET", "/api/schedules")).body;

async function put(name: string, body: object): Promise<void> {
  const answer = await gateway.api("PUT", `/api/schedules/${name}`, body);
  expect(answer).toEqual({ status: 200, body: { success: true } });
}

/** So many minutes from now on the gateway's clock. */
async function timeIn(minutes: number): Promise<string> {
  const { time_zone } = await schedules();
  const now = Temporal.Instant.fromEpochMilliseconds(clock.now()).toZonedDateTimeISO(time_zone);
  const time = now.add({ minutes }).toPlainTime();
  return time.toString({ smallestUnit: "minute" });
}

test("a tunnel moves within its country at the time of a schedule: nothing is lost or leaks", async () => {
  const { server: before } = await status();
  const sniffer = await lab.sniff();
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp", "web", "ping"] });
  await traffic.sends(ENOUGH);
  await put("move", { tunnel: "main", at: await timeIn(1) });
  clock.advance(MINUTE_S);
  await until(async () => (await status()).server !== before, DONE_WITHIN_MS);
  await until(async () => (await status()).connected);
  await traffic.sends(ENOUGH);
  const { udp, web, ping } = await traffic.stop();
  // A page that is being loaded at that moment may have to be asked for again, as after any change of address.
  expect([udp?.lost, ping?.lost]).toEqual([[], []]);
  expect(Object.keys(web?.seenAs ?? {}).toSorted()).toEqual([VPN.vpn1.v4, VPN.vpn2.v4]);
  expect((await gateway.api("GET", "/api/tunnels")).body.tunnels[0].wanted).toBe("Sweden");
  expect((await schedules()).schedules).toMatchObject([{ name: "move", error: null }]);
  expect((await sniffer.stop()).leaks).toEqual([]);
});

test("a device is blocked by a schedule whose time is now, over a kill of the service too, until its end", async () => {
  const { client } = lab.namespaces;
  await until(async () => (await lab.fetchFrom(client, PAGE)) !== null);
  await gateway.hears(1);
  const { devices } = (await gateway.api("GET", "/api/devices")).body;
  const sniffer = await lab.sniff();
  await put("bedtime", {
    ...{ device: devices[0].id, exit: "blocked" },
    ...{ at: await timeIn(-1), until: await timeIn(2) },
  });
  expect(await lab.isRefused(client, PAGE)).toBe(true);
  await gateway.kill("SIGKILL");
  expect(await lab.isRefused(client, PAGE)).toBe(true);
  await gateway.start();
  expect(await lab.isRefused(client, PAGE)).toBe(true);
  expect((await schedules()).schedules).toMatchObject([{ name: "bedtime", active: true }]);
  clock.advance(2 * MINUTE_S);
  await until(async () => (await lab.fetchFrom(client, PAGE)) !== null, DONE_WITHIN_MS);
  expect((await sniffer.stop()).leaks).toEqual([]);
});

/** Both of the sandbox's servers in one country. */
function listOf({ sandbox }: Lab): string {
  const servers = sandbox.servers.map(({ hostname, ipv4, port, publicKey }, index) => ({
    ...{ hostname, ipv4, port, public_key: publicKey },
    ...{ country: "Sweden", city: index === 0 ? "Gothenburg" : "Stockholm" },
  }));
  const path = join(sandbox.directory, "sweden.json");
  writeFileSync(path, JSON.stringify({ servers }));
  return path;
}
