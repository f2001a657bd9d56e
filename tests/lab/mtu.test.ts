import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout } from "bun:test";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { INTERNET, TUNNEL, UPLINK, VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import { LEAST_MTU } from "../../src/tunnel/mtu.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("the same gateway with other cables and lines");

const TRANSFER_BYTES = 400_000;
/** It takes a moment; if large packets vanish it never comes to an end. */
const TRANSFER_SECONDS = "15";
const TEST_MS = 120_000;
setDefaultTimeout(TEST_MS);

const WHOLE_MTU = 1420;
/** Some seconds, and a busy machine. */
const MEASURED_WITHIN_MS = 60_000;
/** The IP header's and that of ICMP. */
const PING_HEADERS = 28;

/** Answers with so many bytes, or with how many it was sent. */
const WEBSITE = `
  Bun.serve({ hostname: "::", port: 8080, fetch: async (request) => request.method === "GET"
    ? new Response(new Uint8Array(${TRANSFER_BYTES}).fill(120))
    : new Response(String((await request.bytes()).length)) });
  console.log("ready");
`;

/** The home router's routes out and back, each with the metric of the kernel's own, which they replace. */
const ROUTES = {
  out: [
    ["203.0.113.0/24", "wan0", []],
    ["2001:db8:113::/64", "wan0", ["metric", "256"]],
  ],
  back: [
    [UPLINK.prefix4, "lan0", []],
    [UPLINK.prefix6, "lan0", ["metric", "256"]],
  ],
} as const;
/** Drops what the router says of packets that are too long. */
const SILENCE = `add table inet silence; delete table inet silence; table inet silence { chain output {
  type filter hook output priority 0
  icmp type destination-unreachable icmp code frag-needed drop
  icmpv6 type packet-too-big drop
}
}`;

interface Narrow {
  bytes: number;
  ways: "both ways" | "on the way back";
}
/** What the tunnel's routes should have in the end, with a server that is reached over IPv4, and over IPv6. */
type Way = Narrow & { mtu: { 4: number; 6: number } };
const BOTH_WAYS: Way[] = [
  { bytes: 1492, ways: "both ways", mtu: { 4: WHOLE_MTU, 6: 1408 } },
  { bytes: 1460, ways: "both ways", mtu: { 4: 1392, 6: 1376 } },
  { bytes: 1400, ways: "both ways", mtu: { 4: 1328, 6: 1312 } },
];
const SILENT: Way[] = [
  ...BOTH_WAYS,
  { bytes: 1500, ways: "both ways", mtu: { 4: WHOLE_MTU, 6: WHOLE_MTU } },
  { bytes: 1400, ways: "on the way back", mtu: { 4: 1328, 6: 1312 } },
];

describe.each([
  [4, `${VPN.vpn1.v4}:${VPN_PORT}`, TUNNEL.server4],
  [6, `[${VPN.vpn1.v6}]:${VPN_PORT}`, TUNNEL.server6],
] as const)("with a server and a resolver reached over IPv%i,", (family, endpoint, dns) => {
  let lab: Lab;
  let gateway: Gateway;
  let website: Bun.Subprocess<"ignore", "pipe">;

  beforeAll(async () => {
    lab = await createLab({ cards: 2 });
    website = Bun.spawn(commandIn(lab.namespaces.internet, [process.execPath, "-e", WEBSITE]), {
      stdout: "pipe",
    });
    await website.stdout.getReader().read();
    gateway = await lab.startGateway();
    const [server] = lab.sandbox.servers;
    const body = { ...server.customBody, name: "narrow", endpoint, dns };
    expect((await gateway.api("POST", "/api/custom/add", body)).status).toBe(200);
    expect((await gateway.api("POST", "/api/provider/custom")).status).toBe(200);
    await gateway.keep();
  });
  beforeEach(() => gateway.reset());
  afterAll(async () => {
    website.kill("SIGKILL");
    await lab.close();
  });

  const done = async (namespace: string, argv: readonly string[], stdin?: string) =>
    expect((await lab.exec(namespace, argv, stdin)).stderr).toBe("");

  /** Gives the router's routes this MTU; it refuses longer packets, unlike a link's own MTU, which drops them silently. */
  const narrow = async ({ bytes, ways }: Narrow) => {
    const { router, ...others } = lab.namespaces;
    for (const way of ["out", "back"] as const) {
      for (const [prefix, link, metric] of ROUTES[way]) {
        const mtu = way === "back" || ways === "both ways" ? bytes : 1500;
        const route = ["ip", "route", "replace", prefix, "dev", link, "proto", "kernel", ...metric];
        await done(router, [...route, "mtu", "lock", `${mtu}`]);
      }
    }
    // What the router said before.
    for (const namespace of Object.values(others))
      for (const version of ["-4", "-6"]) await done(namespace, ["ip", version, "route", "flush", "cache"]);
  };

  const curl = (url: string, ...words: string[]) =>
    lab.exec(
      lab.namespaces.client,
      ["curl", "-gsS", "-m", TRANSFER_SECONDS, ...words, url],
      "x".repeat(TRANSFER_BYTES),
    );

  const transfer = async (host: string) => {
    const sent = await curl(`http://${host}:8080/`, "--data-binary", "@-");
    expect(sent).toEqual({ code: 0, stdout: `${TRANSFER_BYTES}`, stderr: "" });
    expect((await curl(`http://${host}:8080/`)).stdout.length).toBe(TRANSFER_BYTES);
  };

  /** Whether one of three packets of that length is. */
  const isAnswered = async (bytes: number) => {
    const ping = ["ping", "-c", "3", "-W", "2", "-M", "do", "-s", `${bytes - PING_HEADERS}`, INTERNET.host4];
    return (await lab.exec(lab.namespaces.client, ping)).code === 0;
  };

  const reconnect = async () => {
    expect((await gateway.api("POST", "/api/disconnect")).status).toBe(200);
    expect((await gateway.api("POST", "/api/connect", { server: "narrow" })).status).toBe(200);
    return performance.now();
  };

  const mtu = async () => (await gateway.api("GET", "/api/status")).body.mtu as number;

  const passes = async (way: Way) => {
    await narrow(way);
    const connected = await reconnect();
    const told = await until(async () => (await mtu()) === way.mtu[family], MEASURED_WITHIN_MS);
    await transfer(INTERNET.host4);
    await transfer(`[${INTERNET.host6}]`);
    const passed = performance.now() - connected;
    console.log(
      `IPv${family}, ${way.bytes} bytes ${way.ways}: MTU ${await mtu()} after ${told.toFixed()} ms, all transfers after ${passed.toFixed()} ms`,
    );
  };

  test.each(BOTH_WAYS)("large transfers pass a router of $bytes bytes that says so", passes, TEST_MS);

  describe("behind a router that says nothing,", () => {
    const router = (text: string) => done(lab.namespaces.router, ["nft", "-f", "-"], text);
    beforeEach(() => router(SILENCE));
    afterEach(() => router("delete table inet silence"));

    test("long packets get no answer if the gateway may not measure (positive control)", async () => {
      const forbid = (groups: string) =>
        done(lab.namespaces.gateway, ["tee", "/proc/sys/net/ipv4/ping_group_range"], groups);
      await forbid("100 200");
      try {
        await narrow({ bytes: 1400, ways: "both ways" });
        await reconnect();
        // Not a transfer: over IPv4, Linux sends several packets that a program gives it as one without DF, and the
        // router may fragment them.
        expect([await isAnswered(LEAST_MTU), await isAnswered(WHOLE_MTU)]).toEqual([true, false]);
        expect(await mtu()).toBe(WHOLE_MTU);
      } finally {
        await forbid("1 0");
      }
    });

    test.each(SILENT)("large transfers pass if it carries $bytes bytes $ways", passes, TEST_MS);

    test("the next connect uses what was measured from the first packet on", async () => {
      const wanted = { 4: 1328, 6: 1312 }[family];
      await narrow({ bytes: 1400, ways: "both ways" });
      await reconnect();
      await until(async () => (await mtu()) === wanted, MEASURED_WITHIN_MS);
      await reconnect();
      const routes = await lab.exec(lab.namespaces.gateway, ["ip", "route", "show", "table", "20556"]);
      expect(routes.stdout).toContain(`mtu lock ${wanted}`);
      await transfer(INTERNET.host4);
    });
  });
});
