import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(120_000);

const PAGE = `http://${INTERNET.host4}/`;
describe("a tunnel that takes care of itself", () => {
  let lab: Lab;
  let gateway: Gateway;

  beforeAll(async () => {
    lab = await createLab({ cards: 2 });
    gateway = await lab.startGateway();
    await gateway.keep();
  });
  beforeEach(async () => {
    await cableOf("up");
    // What another program has set in a test goes as well.
    await gateway.expose();
    await gateway.reset();
  });
  afterAll(() => lab.close());

  const client = () => lab.fetchFrom(lab.namespaces.client, PAGE);
  const status = async () => (await gateway.api("GET", "/api/status")).body;
  const is = (state: string) => async () => (await status()).state === state;
  const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);
  const cableOf = (way: "up" | "down") =>
    lab.exec(lab.namespaces.internet, ["ip", "link", "set", "vpn1", way]);
  async function connected(server = "box-vpn-1"): Promise<void> {
    await until(async () => (await gateway.api("POST", "/api/connect", { server })).status === 200);
  }
  test("a switch loses no packet of a 5 ms stream, and none leaks", async () => {
    await connected();
    const sniffer = await lab.sniff();
    const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
    for (const server of ["box-vpn-2", "box-vpn-1", "box-vpn-2"]) {
      await connected(server);
      await traffic.sends(100);
    }
    const { udp } = await traffic.stop();
    expect(udp?.sent).toBeGreaterThan(200);
    expect(udp?.lost).toEqual([]);
    expect((await sniffer.stop()).leaks).toEqual([]);
  });

  test("with traffic, a dead server is noticed within seconds, tried again, and back by itself", async () => {
    await connected();
    const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
    await cableOf("down");
    await until(is("reconnecting"));
    const { connected: still, error } = await status();
    expect({ still, error }).toEqual({ still: false, error: "box-vpn-1 no longer answers" });
    // A device sees an error at once, and no time-out.
    expect(await lab.isRefused(lab.namespaces.client, PAGE)).toBe(true);
    await cableOf("up");
    await until(is("connected"));
    expect(await status()).toMatchObject({ server: "box-vpn-1", error: null });
    expect(await client()).toContain(VPN.vpn1.v4);
    await traffic.stop();
  });

  test("a server that answers handshakes and drops what is inside is told within 30 s, until data comes back", async () => {
    await connected();
    const drop = "table inet hollow { chain forward { type filter hook forward priority -10; drop; }; }";
    const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
    expect(await lab.exec(lab.namespaces.vpn1, ["nft", "-f", "-"], drop)).toMatchObject({ code: 0 });
    try {
      await until(async () => (await status()).unanswered === true);
      const error = "box-vpn-1 answers handshakes, but nothing else comes back through it";
      expect(await status()).toMatchObject({ connected: true, state: "connected", unanswered: true, error });
      const { events } = (await gateway.api("GET", "/api/events")).body as { events: { state?: string }[] };
      expect(events.at(-1)).toMatchObject({
        type: "tunnel_state",
        state: "connected",
        unanswered: true,
        error,
      });
      const metrics = await (await fetch(`http://127.0.0.1:${gateway.port}/metrics`)).text();
      expect(metrics).toContain('portcullis_tunnel_unanswered{tunnel="main"} 1');
    } finally {
      await lab.exec(lab.namespaces.vpn1, ["nft", "delete", "table", "inet", "hollow"]);
    }
    await until(async () => (await status()).unanswered === false);
    expect(await status()).toMatchObject({ connected: true, server: "box-vpn-1", error: null });
    await traffic.stop();
  });

  test("after a crash that took the tunnel with it the gateway goes back to its server; after a disconnect it does not", async () => {
    await connected();
    await gateway.kill("SIGKILL");
    for (const slot of [0, 1]) await inside("ip", "link", "del", "dev", `${lab.sandbox.interface}${slot}`);
    expect(await client()).toBeNull();
    await gateway.start();
    await until(is("connected"));
    expect(await client()).toContain(VPN.vpn1.v4);
    await gateway.api("POST", "/api/disconnect");
    const told = gateway.log().length;
    await gateway.restart();
    expect(gateway.log().slice(told)).not.toContain(", as before the restart");
    expect(await status()).toMatchObject({ state: "disconnected" });
    expect(await client()).toBeNull();
  });

  test("a rule ahead of the gateway's and a firewall that drops are told while they last, and the LAN is served again after them", async () => {
    await connected();
    const health = async () => (await gateway.api("GET", "/health")).body;
    await inside("ip", "rule", "add", "not", "fwmark", "0xca6c", "lookup", "main");
    await until(async () => String(await health()).includes(": 9 not fwmark 0xca6c lookup main; "));
    expect((await status()).error).toBe(await health());
    await inside("ip", "rule", "del", "priority", "9");
    await until(async () => (await health()) === "healthy");
    const chain = "chain FORWARD { type filter hook forward priority 0; policy drop; }";
    await lab.exec(lab.namespaces.gateway, ["nft", "-f", "-"], `table ip filter {\n${chain}\n}\n`);
    await until(async () => String((await status()).error).includes("(ip filter FORWARD)"));
    expect(await client()).toBeNull();
    expect(await health()).toBe("healthy");
    for (const way of ["iifname", "oifname"]) {
      const name = `"${lab.sandbox.interface}*"`;
      await inside("nft", "insert", "rule", "ip", "filter", "FORWARD", way, name, "accept");
    }
    await until(async () => (await status()).error === null);
    expect(await client()).toContain(VPN.vpn1.v4);
  }, 180_000);
});
