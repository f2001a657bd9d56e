import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { INTERNET, ROUTER, UPLINK, VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what the leaks show in passing");

/** Bytes of the longest packet that the home router passes on, in both directions. */
const NARROW_MTU = 1400;
const TRANSFER_BYTES = 400_000;
/** It takes a moment; where large packets vanish it never comes to an end. */
const TRANSFER_SECONDS = "15";
setDefaultTimeout(90_000);

/** Gives so many bytes, and tells how many it was given. */
const WEBSITE = `
  Bun.serve({ hostname: "::", port: 8080, fetch: async (request) => request.method === "GET"
    ? new Response(new Uint8Array(${TRANSFER_BYTES}).fill(120))
    : new Response(String((await request.bytes()).length)) });
  console.log("ready");
`;

/** Routes with a locked MTU: the router refuses what is longer, and says so; a link's own MTU would drop it silently. */
const NARROW_ROUTES = [
  ["203.0.113.0/24", "wan0", []],
  [UPLINK.prefix4, "lan0", []],
  // In the place of the kernel's own, which has this metric.
  ["2001:db8:113::/64", "wan0", ["metric", "256"]],
  [UPLINK.prefix6, "lan0", ["metric", "256"]],
] as const;

describe.each([
  ["IPv4", `${VPN.vpn1.v4}:${VPN_PORT}`, VPN.vpn1.v4, ROUTER.lan[2].v4, 1328],
  ["IPv6", `[${VPN.vpn1.v6}]:${VPN_PORT}`, VPN.vpn1.v6, ROUTER.lan[2].v6, 1312],
] as const)(
  "behind a router that carries 1400 bytes, with a server reached over %s,",
  (_, endpoint, address, router, mtu) => {
    let lab: Lab;
    let website: Bun.Subprocess<"ignore", "pipe">;

    beforeAll(async () => {
      lab = await createLab({ cards: 2 });
      const { internet } = lab.namespaces;
      website = Bun.spawn(commandIn(internet, [process.execPath, "-e", WEBSITE]), { stdout: "pipe" });
      await website.stdout.getReader().read();
      for (const [prefix, link, metric] of NARROW_ROUTES) {
        const route = ["ip", "route", "replace", prefix, "dev", link, "proto", "kernel", ...metric];
        const ran = await lab.exec(lab.namespaces.router, [...route, "mtu", "lock", `${NARROW_MTU}`]);
        expect(ran.stderr).toBe("");
      }
      const gateway = await lab.startGateway();
      const [server] = lab.sandbox.servers;
      const body = { ...server.customBody, name: "narrow", endpoint };
      expect((await gateway.api("POST", "/api/custom/add", body)).status).toBe(200);
      expect((await gateway.api("POST", "/api/provider/custom")).status).toBe(200);
      expect((await gateway.api("POST", "/api/connect", { server: "narrow" })).status).toBe(200);
      // A server whose WireGuard sends several packets as one cannot send fragments either.
      await until(async () => (await gateway.api("GET", "/api/status")).body.mtu === mtu);
    });
    afterAll(async () => {
      website.kill("SIGKILL");
      await lab.close();
    });

    test("a LAN client's large transfers come to their end, there and back", async () => {
      const curl = (url: string, ...words: string[]) =>
        lab.exec(
          lab.namespaces.client,
          ["curl", "-gsS", "-m", TRANSFER_SECONDS, ...words, url],
          "x".repeat(TRANSFER_BYTES),
        );
      for (const host of [INTERNET.host4, `[${INTERNET.host6}]`]) {
        const sent = await curl(`http://${host}:8080/`, "--data-binary", "@-");
        expect(sent).toEqual({ code: 0, stdout: `${TRANSFER_BYTES}`, stderr: "" });
        expect((await curl(`http://${host}:8080/`)).stdout.length).toBe(TRANSFER_BYTES);
      }
    });

    test("the gateway's kernel knows the narrow way, by which WireGuard's packets go", async () => {
      const get = ["ip", "route", "get", address, "mark", "0x104c"];
      const { stdout } = await lab.exec(lab.namespaces.gateway, get);
      expect(stdout).toContain(`via ${router} dev ${lab.sandbox.uplink}`);
      expect(stdout).toContain(`mtu ${NARROW_MTU}`);
    });
  },
);
