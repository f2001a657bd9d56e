import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { WIREGUARD } from "../../../src/killswitch/match.ts";
import { vpnTunnel } from "../../../src/sandbox/addresses.ts";
import {
  INTERNET,
  LAN,
  type NetworkCards,
  ROUTER,
  UPLINK,
  VPN,
  VPN_PORT,
} from "../../../src/sandbox/topology.ts";
import { inject } from "../../rig/tools/injector.ts";
import { place } from "../../rig/tools/intruder.ts";
import { createLab, type Gateway, type Lab } from "../../rig/tools/lab.ts";
import { Listener } from "../../rig/tools/listener.ts";
import { datagramFrame } from "../../rig/tools/packet.ts";
import type { Traffic } from "../../rig/tools/traffic.ts";
import { until } from "../../rig/tools/until.ts";

/** Network namespaces, and SIGKILL while traffic flows, on a busy machine. */
setDefaultTimeout(300_000);

const PAGE = `http://${INTERNET.host4}/`;
const PAGE6 = `http://[${INTERNET.host6}]/`;
/** So many questions of one sender are enough for a leak to show: more than a second has where nothing else runs. */
const ENOUGH = 100;

/** What a gateway with so many network cards does and never does; a file for each number. */
export function gatewayClaims(cards: NetworkCards): void {
  let lab: Lab;
  let gateway: Gateway;

  beforeAll(async () => {
    lab = await createLab({ cards });
    gateway = await lab.startGateway();
    await gateway.ask("POST", "/api/custom/add", lab.sandbox.servers[0].customBody);
    await gateway.keep();
  });
  beforeEach(() => gateway.reset());
  afterAll(() => lab.close());

  const client = () => lab.fetchFrom(lab.namespaces.client, PAGE);
  const own = () => lab.fetchFrom(lab.namespaces.gateway, PAGE);
  const api: Gateway["api"] = (...request) => gateway.api(...request);
  const connect = (server: string) => api("POST", "/api/connect", { server });
  async function connected(server: string, provider = "managed"): Promise<void> {
    expect((await api("POST", `/api/provider/${provider}`)).status).toBe(200);
    expect((await connect(server)).body).toEqual({ success: true });
  }
  const status = async () => (await api("GET", "/api/status")).body;
  /** Everything that can leak, from the client and from the gateway, during the work; the sniffer counts. */
  async function leaksDuring(work: (senders: Traffic[]) => Promise<unknown>): Promise<string[]> {
    const sniffer = await lab.sniff();
    const traffics = await Promise.all([
      lab.traffic(lab.namespaces.client),
      lab.traffic(lab.namespaces.gateway, { kinds: ["udp", "udp6", "web", "dns", "ping"] }),
    ]);
    await work(traffics);
    await Promise.all(traffics.map((traffic) => traffic.stop()));
    return (await sniffer.stop()).leaks;
  }

  /** Returns once each sender has asked so often that a leak would show. */
  const asked = (senders: Traffic[]) => Promise.all(senders.map((sender) => sender.sends(ENOUGH)));

  test("positive control: without the service the client's packets leave outside any tunnel, and the sniffer sees them", async () => {
    await gateway.expose();
    expect(await client()).toContain(ROUTER.public4);
    const leaks = await leaksDuring(asked);
    expect(leaks.length).toBeGreaterThan(50);
    // With one card the plain router has sent the client an ICMP redirect, and the client remembers it.
    for (const family of ["-4", "-6"]) {
      await lab.exec(lab.namespaces.client, ["ip", family, "route", "flush", "cache"]);
    }
  });

  test("from the first moment the client and the gateway are refused at once", async () => {
    await gateway.expose();
    await gateway.start();
    for (const namespace of [lab.namespaces.client, lab.namespaces.gateway]) {
      expect(await lab.isRefused(namespace, PAGE)).toBe(true);
    }
    expect(await status()).toMatchObject({
      connected: false,
      state: "disconnected",
      killswitch_active: true,
    });
  });

  test("connect to a managed server: its address is what the internet sees, over IPv4 and IPv6", async () => {
    expect(await connect("box-vpn-1")).toEqual({ status: 200, body: { success: true } });
    expect(await client()).toContain(VPN.vpn1.v4);
    expect(await own()).toContain(VPN.vpn1.v4);
    expect(await lab.fetchFrom(lab.namespaces.client, PAGE6)).toContain(VPN.vpn1.v6);
    expect(await lab.fetchFrom(lab.namespaces.gateway, PAGE6)).toContain(VPN.vpn1.v6);
    expect(await status()).toMatchObject({
      connected: true,
      server: "box-vpn-1",
      ip: VPN.vpn1.v4,
      location: "Gothenburg, Sweden",
      uptime: "0h 0m",
    });
  });

  test("the tunnel's resolver answers whichever resolver a client or the gateway asks", async () => {
    await connected("box-vpn-1");
    for (const resolver of [LAN.gateway4, "9.9.9.9", ROUTER.lan[cards].v4]) {
      // With one cable a client reaches the home router without passing the gateway.
      if (cards === 1 && resolver === ROUTER.lan[1].v4) continue;
      const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["dns"], resolver });
      await until(async () => ((await traffic.count()).dns?.answered ?? 0) > 0);
      expect(Object.keys((await traffic.stop()).dns?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
    }
    for (const resolver of ["9.9.9.9", ROUTER.lan[cards].v4]) {
      const traffic = await lab.traffic(lab.namespaces.gateway, { kinds: ["dns"], resolver });
      await until(async () => ((await traffic.count()).dns?.answered ?? 0) > 0);
      expect(Object.keys((await traffic.stop()).dns?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
    }
  });

  test("a resolver of the gateway's own on port 53 keeps answering", async () => {
    await connected("box-vpn-1");
    const script = `const s=require("dgram").createSocket("udp4");s.on("message",(m,r)=>{const a=Buffer.from(m);a[2]|=0x80;a[3]=5;s.send(a,r.port,r.address)});s.bind(53,"${LAN.gateway4}",()=>console.log("ready"))`;
    const child = Bun.spawn(["ip", "netns", "exec", lab.namespaces.gateway, process.execPath, "-e", script], {
      stdout: "pipe",
    });
    await child.stdout.getReader().read();
    const ask = `const d=require("dns").promises;const r=new d.Resolver({timeout:20000,tries:1});r.setServers(["${LAN.gateway4}"]);console.log(await r.resolve("whoami.test","TXT").then(String,e=>e.code));process.exit()`;
    const { stdout } = await lab.exec(lab.namespaces.client, [process.execPath, "-e", ask]);
    child.kill("SIGKILL");
    // This resolver answers REFUSED; the tunnel's would give an address.
    expect(stdout.trim()).toBe("EREFUSED");
  });

  test("a program on the gateway is reached from the LAN alone: not from inside the tunnel, not from the uplink", async () => {
    await connected("box-vpn-1");
    const script = `Bun.serve({ hostname: "::", port: 8080, fetch: () => new Response("reached") }); console.log("ready");`;
    const argv = ["ip", "netns", "exec", lab.namespaces.gateway, process.execPath, "-e", script];
    const child = Bun.spawn(argv, { stdout: "pipe" });
    await child.stdout.getReader().read();
    const from = (namespace: string, host: string) => lab.fetchFrom(namespace, `http://${host}:8080/`);
    try {
      expect(await from(lab.namespaces.client, LAN.gateway4)).toBe("reached");
      expect(await from(lab.namespaces.client, `[${LAN.gateway6}]`)).toBe("reached");
      const [v4 = "", v6 = ""] = lab.sandbox.managedAddress.split(",").map((prefix) => prefix.split("/")[0]);
      expect(await from(lab.namespaces.vpn1, v4)).toBeNull();
      expect(await from(lab.namespaces.vpn1, `[${v6}]`)).toBeNull();
      if (cards === 2) {
        expect(await from(lab.namespaces.router, UPLINK.gateway4)).toBeNull();
        expect(await from(lab.namespaces.router, `[${UPLINK.gateway6}]`)).toBeNull();
      }
    } finally {
      child.kill("SIGKILL");
    }
  });

  test("who sends with a server's address, or as a DHCP server over IPv6, reaches no program of the gateway", async () => {
    await connected("box-vpn-1");
    const { gateway: toMac, own: fromMac, namespace } = await place(lab, "uplink");
    const { gateway4, gateway6 } = cards === 2 ? UPLINK : LAN;
    const payload = "\u0004\0\0\0 forged";
    const forged = [
      { from: VPN.vpn1.v4, to: gateway4, sourcePort: VPN_PORT, targetPort: 8080 },
      { from: INTERNET.host6, to: gateway6, sourcePort: 67, targetPort: 68 },
    ].map((each) => datagramFrame({ ...each, toMac, fromMac, payload }));
    const heard = async () => {
      const listeners = await Promise.all(
        [8080, 68].map((port) => Listener.start(lab.namespaces.gateway, port)),
      );
      await inject(namespace, "lan0", [...forged, ...forged, ...forged]);
      return Promise.all(listeners.map((listener) => listener.stop()));
    };
    expect(await heard()).toEqual([[], []]);
    // Positive control: with rules that ask neither for an answer nor for the family, they come in.
    await gateway.kill("SIGKILL");
    const { uplink } = lab.sandbox;
    const rules = [
      `ip saddr . udp sport @servers_ipv4 ${WIREGUARD} accept`,
      "udp sport 67 udp dport 68 accept",
    ].map((rule) => `insert rule inet portcullis input iifname "${uplink}" ${rule}\n`);
    expect(await lab.exec(lab.namespaces.gateway, ["nft", "-f", "-"], rules.join(""))).toMatchObject({
      code: 0,
    });
    expect(await heard()).toEqual([[VPN.vpn1.v4], [INTERNET.host6]]);
  });

  test("custom and imported servers, with a preshared key, work like managed ones", async () => {
    const [first, second] = lab.sandbox.servers;
    expect((await api("POST", "/api/import", second.importBody)).body).toMatchObject({
      success: true,
    });
    await api("POST", "/api/provider/custom");
    expect((await connect(first.customBody.name)).body).toEqual({ success: true });
    expect(await client()).toContain(VPN.vpn1.v4);
    const refused = await api("DELETE", `/api/custom/remove/${first.customBody.name}`);
    expect(refused.status).toBe(400);
    expect(refused.body.error).toContain("disconnect first");
    await api("POST", "/api/provider/imported");
    expect((await connect(second.importBody.name)).body).toEqual({ success: true });
    expect(await client()).toContain(VPN.vpn2.v4);
    const inUse = await api("DELETE", `/api/import/${second.importBody.name}`);
    expect([inUse.status, inUse.body.error]).toEqual([
      400,
      "name: the main tunnel uses this server; disconnect first",
    ]);
  });

  test("a LAN that comes to use the tunnel's address reaches the gateway by it, the tunnel ends, and comes back with the address", async () => {
    await connected("box-vpn-1");
    const [address = ""] = lab.sandbox.managedAddress.split("/");
    const ping = ["ping", "-c", "1", "-W", "1", address];
    const reached = async () => (await lab.exec(lab.namespaces.client, ping)).code === 0;
    const change = (verb: string) =>
      lab.exec(lab.namespaces.gateway, ["ip", "address", verb, `${address}/24`, "dev", "lan0"]);
    // While only the tunnel has it, it cannot be reached from outside.
    expect(await reached()).toBe(false);
    const leaks = await leaksDuring(async () => {
      await change("add");
      await until(reached);
      await until(async () => (await status()).state === "reconnecting");
      expect((await status()).error).toContain(`${address} is an address of this machine`);
      expect(await client()).toBeNull();
    });
    expect(leaks).toEqual([]);
    expect((await connect("box-vpn-1")).body.error).toStartWith("box-vpn-1 cannot be used here: ");
    await change("del");
    await until(async () => (await status()).connected, 60_000);
    expect(await client()).toContain(VPN.vpn1.v4);
  });

  test("an endpoint over IPv6, and one with a name, are reached; the name's lookup is the only question outside", async () => {
    await restartServer(lab, "vpn1");
    const [first] = lab.sandbox.servers;
    const body = { ...first.customBody, name: "v6", endpoint: `[${first.ipv6}]:${first.port}` };
    await api("POST", "/api/custom/add", body);
    await api("POST", "/api/custom/add", { ...body, name: "named", endpoint: "vpn1.test:51820" });
    await api("POST", "/api/provider/custom");
    expect((await connect("v6")).body).toEqual({ success: true });
    expect(await client()).toContain(VPN.vpn1.v4);
    await api("POST", "/api/disconnect");
    const leaks = await leaksDuring(async () => {
      expect((await connect("named")).body).toEqual({ success: true });
    });
    expect(await client()).toContain(VPN.vpn1.v4);
    expect(leaks.every((leak) => leak.includes("53"))).toBe(true);
    expect(leaks.length).toBeLessThanOrEqual(2);
  });

  test("an nft that refuses is reported by /health, and nothing leaks until it works again", async () => {
    const inService = ["nsenter", "-t", `${gateway.pid}`, "-m"];
    const sh = (...argv: string[]) => Bun.spawn([...inService, ...argv], { stderr: "pipe" }).exited;
    const leaks = await leaksDuring(async () => {
      expect(await sh("mount", "--bind", "/bin/false", "/usr/sbin/nft")).toBe(0);
      await lab.exec(lab.namespaces.gateway, ["nft", "flush", "ruleset"]);
      let health = { status: 200, body: "" };
      await until(async () => {
        health = await api("GET", "/health");
        return health.body.includes("nft");
      });
      expect({ code: health.status, lines: health.body.split("\n").length }).toEqual({
        code: 500,
        lines: 1,
      });
      expect(await status()).toMatchObject({ killswitch_active: false });
      expect(await client()).toBeNull();
      // Lazy, because the service may be running it at this moment.
      expect(await sh("umount", "--lazy", "/usr/sbin/nft")).toBe(0);
      await until(async () => (await api("GET", "/health")).status === 200);
    });
    expect(leaks).toEqual([]);
  });

  test("only the operator turns the kill switch off, and on again", async () => {
    const flags = [
      "--interface",
      lab.sandbox.interface,
      "--lan",
      lab.sandbox.lan,
      "--uplink",
      lab.sandbox.uplink,
    ];
    const killswitch = async (...words: string[]) => {
      const { code, stdout } = await gateway.operate("killswitch", ...words, ...flags);
      return { code, stdout };
    };
    const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);
    const status0 = await killswitch("status");
    expect(status0.code).toBe(0);
    expect(status0.stdout).toStartWith("The kill switch is in place");
    expect(status0.stdout).not.toContain("  NO  ");
    await inside("ip", "rule", "add", "priority", "5", "lookup", "main");
    const half = await killswitch("status", "--json");
    expect(half.code).toBe(1);
    expect(JSON.parse(half.stdout)).toMatchObject({ stands: false, firewall: true, routing: false });
    expect(half.stdout).toContain("5 lookup main");
    await inside("ip", "rule", "del", "priority", "5");
    expect((await killswitch("off")).code).toBe(0);
    const down = await killswitch("status");
    expect(down.code).toBe(1);
    expect(down.stdout).toContain("might leave outside the tunnel");
    expect(await client()).toContain(ROUTER.public4);
    expect(await status()).toMatchObject({ killswitch_active: false });
    expect((await api("POST", "/api/disconnect")).body.message).toBe("Disconnected");
    expect((await killswitch("on")).code).toBe(0);
    expect(await client()).toBeNull();
    expect((await api("GET", "/health")).body).toBe("healthy");
  });
}

/**
 * Starts a VPN server's WireGuard again, which then knows no customer's address. The `wireguard-go` of December 2023, as
 * in Debian 13, cannot send to an IPv6 address once it has sent to an IPv4 one: it keeps the first four bytes.
 */
async function restartServer(lab: Lab, role: keyof typeof VPN): Promise<void> {
  const namespace = lab.namespaces[role];
  const link = lab.sandbox.serverInterfaces[role];
  const done = async (argv: readonly string[], stdin?: string) => {
    const { code, stdout, stderr } = await lab.exec(namespace, argv, stdin);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  const config = await done(["wg", "showconf", link]);
  await done(["ip", "link", "del", link]);
  await until(() => !existsSync(`/run/wireguard/${link}.sock`));
  await done(["ip", "link", "add", link, "type", "wireguard"]).catch(() => done(["wireguard-go", link]));
  await done(["wg", "setconf", link, "/dev/stdin"], config.replace(/^Endpoint.*\n/gm, ""));
  await done(["ip", "-batch", "-"], vpnTunnel(link));
}
