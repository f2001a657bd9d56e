import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, LAN, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Notified } from "../rig/peers/notified.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(480_000);

/** A notification waits ten seconds for others; the rest is a busy machine. */
const DELIVERED_WITHIN_MS = 90_000;
/** An outage is told after a minute, and a server that is back is found within another. */
const OUTAGE_TOLD_WITHIN_MS = 180_000;
const TEST = "This is a test. Notifications from this gateway arrive here.";
const NEAR = `gotify at ${LAN.client4}:8080`;
const FAR = "ntfy at internet.test";

let lab: Lab;
let notified: Notified;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  notified = await Notified.start(lab);
  gateway = await lab.startGateway({
    flags: ["--notify", Notified.lan, "--notify", Notified.internet],
    environment: notified.environment,
  });
  await gateway.keep();
});
beforeEach(async () => {
  await gateway.reset();
  for (const which of ["gotify", "ntfy"] as const) known[which] = notified.messages(which).length;
});
afterAll(async () => {
  notified?.stop();
  await lab?.close();
});

async function tried() {
  const { code, stdout } = await gateway.operate("notify", "test", "--json");
  return { code, ...JSON.parse(stdout) };
}

/** How many each service had when the test began. */
const known = { gotify: 0, ntfy: 0 };
const messages = (which: keyof typeof known) => notified.messages(which).slice(known[which]);
const taken = (which: keyof typeof known) => messages(which).map(({ message }) => message);

async function connect(): Promise<void> {
  expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
}

/** What left outside the tunnel meanwhile. */
async function leaksDuring(work: () => Promise<void>): Promise<readonly string[]> {
  const sniffer = await lab.sniff();
  await work();
  const { leaks, missed } = await sniffer.stop();
  expect(missed).toBe(0);
  return leaks;
}

test("without a tunnel the LAN is told, the rest waits, and nothing leaves", async () => {
  const leaks = await leaksDuring(async () => {
    expect(await tried()).toEqual({
      code: 1,
      success: false,
      targets: [
        { target: NEAR, sent: true, error: null },
        {
          ...{ target: FAR, sent: false, error: "there is no tunnel to send this through; connect first" },
          error_args: { what: "tunnel_missing" },
        },
      ],
    });
    expect((await gateway.operate("direct", "on")).code).toBe(0);
    await until(async () => taken("gotify").length === 2, DELIVERED_WITHIN_MS);
  });
  expect(leaks).toEqual([]);
  expect(taken("gotify")[0]).toBe(TEST);
  expect(taken("gotify")[1]).toContain("direct");
  expect(taken("ntfy")).toEqual([]);
});

test("after a restart, what waited is sent through the tunnel as soon as there is one", async () => {
  const leaks = await leaksDuring(async () => {
    expect((await gateway.operate("direct", "on")).code).toBe(0);
    await until(async () => taken("gotify").length === 1, DELIVERED_WITHIN_MS);
    expect(taken("ntfy")).toEqual([]);
    await gateway.restart();
    await connect();
    await until(async () => taken("ntfy").length === 1, DELIVERED_WITHIN_MS);
    expect((await tried()).success).toBe(true);
  });
  expect(leaks).toEqual([]);
  const [kept, last] = taken("ntfy");
  expect(kept).toEndWith(taken("gotify")[0] ?? "");
  expect(last).toBe(TEST);
  expect(new Set(messages("ntfy").map(({ from }) => from))).toEqual(new Set([VPN.vpn1.v4]));
});

test("an outage is told on the LAN while it lasts, and on the internet in one sentence afterwards", async () => {
  await connect();
  const [near, far] = [taken("gotify").length, taken("ntfy").length];
  const leaks = await leaksDuring(async () => {
    await lab.unplug();
    await until(async () => taken("gotify").length > near, OUTAGE_TOLD_WITHIN_MS);
    await lab.plug();
    await until(async () => taken("ntfy").length > far, OUTAGE_TOLD_WITHIN_MS);
  });
  expect(leaks).toEqual([]);
  expect(taken("gotify")[near]).toMatch(
    /^The main tunnel has been down since \d+:\d\d: nothing goes through it\./,
  );
  expect(taken("ntfy").slice(far)).toEqual([
    expect.stringMatching(/^The main tunnel was down from \d+:\d\d to \d+:\d\d\. Reason: [^\n]*\.$/),
  ]);
});

test("with the kill switch off, where other programs leave in the clear, notifications still do not", async () => {
  expect((await gateway.operate("killswitch", "off")).code).toBe(0);
  const before = taken("ntfy").length;
  const quiet = await leaksDuring(async () => {
    const { targets } = await tried();
    expect(targets.map(({ sent }: { sent: boolean }) => sent)).toEqual([true, false]);
  });
  expect(quiet).toEqual([]);
  expect(taken("ntfy").length).toBe(before);
  // The sniffer would have seen it: another program of the gateway reaches the service.
  const control = await leaksDuring(async () => {
    const url = `https://${INTERNET.host4}/`;
    const { code } = await lab.exec(lab.namespaces.gateway, ["curl", "-sk", "-m", "10", url]);
    expect(code).toBe(0);
  });
  expect(control.filter((frame) => frame.includes(`${INTERNET.host4} TCP`)).length).toBeGreaterThan(0);
  expect((await gateway.operate("killswitch", "on")).code).toBe(0);
});

test("neither the log nor the interface has what is secret in the addresses", async () => {
  await connect();
  expect((await tried()).success).toBe(true);
  const paths = ["status", "events", "checks", "network", "tunnels"];
  const answers = await Promise.all(paths.map((path) => gateway.api("GET", `/api/${path}`)));
  const text = gateway.log() + JSON.stringify(answers);
  expect(text).not.toMatch(/LanSecret|FarSecret|TopicSecret/);
  expect(text).toContain("box-vpn-1");
});
