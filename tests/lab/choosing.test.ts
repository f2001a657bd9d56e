import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";
import { long } from "../fast.ts";
import { createLab, ENDPOINTS, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("the same gateway with another provider");

setDefaultTimeout(120_000);

/** Each way; far more than a busy machine takes for a handshake. */
const FAR_MS = 100;
/** A round trip through the server's tunnel takes the long cable four times, and the former tunnel stays for a second. */
const SOMEWHAT_FAR_MS = 40;
/** An address of the internet's where nobody is. */
const DEAD = "203.0.113.99";
/** So many datagrams are enough for a leak to show. */
const ENOUGH = 100;

describe("a connect to a country", () => {
  let lab: Lab;
  let gateway: Gateway;

  beforeAll(async () => {
    lab = await createLab({ cards: 2 });
    gateway = await lab.startGateway({ flags: ["--managed-list", listOf(lab)] });
    await gateway.keep();
  });
  /** Nothing is measured yet, and there is no tunnel. */
  beforeEach(async () => {
    await lab.delay(0);
    await gateway.reset();
  });
  afterAll(() => lab.close());

  const status = async () => (await gateway.api("GET", "/api/status")).body;
  const request = async (path: string, body?: object) => {
    const { status, body: answer } = await gateway.api("POST", path, body);
    expect({ status, error: answer.error }).toEqual({ status: 200, error: undefined });
  };
  const sniff = () =>
    Sniffer.start(lab.namespaces.router, "lan0", {
      endpoints: [...ENDPOINTS, { address: DEAD, port: VPN_PORT }],
      direction: "in",
    });
  const tap = (...addresses: string[]) =>
    Wiretap.start(
      lab.namespaces.router,
      "lan0",
      `udp and (${addresses.map((address) => `dst host ${address}`).join(" or ")})`,
    );

  test("takes the nearest server, three times of three", async () => {
    for (const [far, near] of [
      ["vpn1", "box-vpn-2"],
      ["vpn2", "box-vpn-1"],
      ["vpn1", "box-vpn-2"],
    ] as const) {
      await gateway.reset();
      await lab.delay(FAR_MS, far);
      await request("/api/connect", { server: "Sweden" });
      expect(await status()).toMatchObject({ connected: true, server: near });
      expect(gateway.log()).toMatch(/round trips: .*dead no answer/);
    }
  });

  test("asks nobody the second time", async () => {
    await lab.delay(FAR_MS, "vpn1");
    const first = await tap(VPN.vpn1.v4, DEAD);
    await request("/api/connect", { server: "Sweden" });
    const asked = await first.stop();
    for (const address of [VPN.vpn1.v4, DEAD]) {
      expect(asked.filter((line) => line.includes(`> ${address}.${VPN_PORT}:`)).length).toBeGreaterThan(0);
    }
    await request("/api/disconnect");
    const second = await tap(VPN.vpn1.v4, DEAD);
    await request("/api/connect", { server: "Sweden" });
    await request("/api/connect", { server: "Stockholm" });
    expect(await second.stop()).toEqual([]);
    expect(await status()).toMatchObject({ server: "box-vpn-2", location: "Stockholm, Sweden" });
  });

  test("from a tunnel elsewhere: it carries all until the nearest is reached, and nothing is lost or leaks", async () => {
    await lab.delay(SOMEWHAT_FAR_MS, "vpn1");
    await request("/api/provider/custom");
    await request("/api/custom/add", { ...lab.sandbox.servers[0].customBody, location: "" });
    await request("/api/connect", { server: "custom-1" });
    await request("/api/provider/managed");
    const sniffer = await sniff();
    const asked = await tap(DEAD);
    const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
    await request("/api/connect", { server: "Sweden" });
    await traffic.sends(ENOUGH);
    const { udp } = await traffic.stop();
    expect(await status()).toMatchObject({ connected: true, server: "box-vpn-2" });
    expect(udp?.sent).toBeGreaterThanOrEqual(ENOUGH);
    expect(udp?.lost).toEqual([]);
    expect((await asked.stop()).length).toBeGreaterThan(0);
    expect((await sniffer.stop()).leaks).toEqual([]);
  });

  test("of which nobody answers leaves the tunnel as it was, and a disconnect ends the asking", async () => {
    await request("/api/connect", { server: "box-vpn-1" });
    const start = performance.now();
    const answer = await gateway.api("POST", "/api/connect", { server: "Nowhere" });
    expect(answer).toMatchObject({
      status: 500,
      body: {
        success: false,
        error: "none of the 2 servers tried in Nowhere answered the WireGuard handshake",
      },
    });
    expect(performance.now() - start).toBeGreaterThan(2_900);
    expect(await status()).toMatchObject({ connected: true, server: "box-vpn-1" });
    const asking = gateway.api("POST", "/api/connect", { server: "Nowhere" });
    await until(async () => (await status()).state === "connecting");
    const links = async () => (await lab.exec(lab.namespaces.gateway, ["ip", "-o", "link", "show"])).stdout;
    // The one for the probes, in addition to the live tunnel's.
    await until(async () => (await links()).split(lab.sandbox.interface).length > 2);
    await request("/api/disconnect");
    expect((await asking).body.error).toBe("interrupted by a disconnect");
    expect(await status()).toMatchObject({ state: "disconnected", error: null });
    expect(await links()).not.toContain(lab.sandbox.interface);
  });
});

/** Both of the sandbox's servers in one country, with one that does not exist; and a country of such. */
function listOf({ sandbox }: Lab): string {
  const [one, two] = sandbox.servers;
  const real = [one, two].map(({ hostname, ipv4, port, publicKey }, index) => ({
    ...{ hostname, ipv4, port, public_key: publicKey },
    ...{ country: "Sweden", city: index === 0 ? "Gothenburg" : "Stockholm" },
  }));
  const dead = ["dead", "nowhere-1", "nowhere-2"].map((hostname) => ({
    ...{ hostname, ipv4: DEAD, port: VPN_PORT, public_key: generateKeyPair().publicKey },
    ...(hostname === "dead" ? { country: "Sweden", city: "Malmö" } : { country: "Nowhere", city: "Void" }),
  }));
  const path = join(sandbox.directory, "sweden.json");
  writeFileSync(path, JSON.stringify({ servers: [...real, ...dead] }));
  return path;
}
