import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { closeSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { Checks } from "../../src/checks/schema.ts";
import { INTERNET, LAN, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { OWN } from "../rig/home/home-client.ts";
import { Dnsmasq } from "../rig/peers/dnsmasq.ts";
import { CLIENT_ENVIRONMENT, clientScript, writeClientFiles } from "../rig/tools/client-programs.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { Probe, type Target } from "../rig/tools/probe.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what the leaks show in passing");

const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);

/** Of a host that the website's provider also runs WireGuard on, as its name claims. */
const PORT = 51_999;
/** A handshake's first message (WireGuard white paper, 5.4.2). */
const INITIATION_BYTES = 148;
const PROBES: readonly Target[] = [
  ...[80, PORT].map((port): Target => ({ protocol: "tcp", address: INTERNET.host4, port, payload: "00" })),
  // What looks like WireGuard's data, and what does not.
  ...["04000000", "a5a5a5a5"].map(
    (head): Target => ({
      ...{ protocol: "udp", address: INTERNET.host4, port: PORT },
      payload: `${head}${"a5".repeat(60)}`,
    }),
  ),
];

describe("TunnelCrack: a server whose name leads to the address of a website", () => {
  let lab: Lab;
  let gateway: Gateway;
  beforeAll(async () => {
    lab = await createLab({ cards: 2 });
  });
  afterAll(() => lab?.close());

  /** What client, gateway and whoever else send to the website's address meanwhile, outside the tunnel. */
  async function seenDuring(work: () => Promise<unknown>): Promise<string[]> {
    const tap = await Wiretap.start(lab.namespaces.router, "lan0", `dst host ${INTERNET.host4}`);
    const { client, gateway: own } = lab.namespaces;
    const probes = await Promise.all([client, own].map((from) => Probe.start(from, PROBES)));
    await work();
    await Promise.all(probes.map((probe) => probe.stop()));
    return tap.stop();
  }

  test("positive control: without a gateway the probes of client and gateway reach the address", async () => {
    const seen = await seenDuring(() => Bun.sleep(1_000));
    for (const wanted of [`.80: Flags`, `.${PORT}: Flags`, `.${PORT}: UDP`])
      expect(seen.some((line) => line.includes(wanted))).toBe(true);
  });

  test("gets handshakes of the gateway's own WireGuard, and nothing else, whatever client and gateway send there", async () => {
    gateway = await lab.startGateway();
    const [, server] = lab.sandbox.servers;
    const endpoint = `internet.test:${PORT}`;
    const body = { ...(server?.customBody as object), name: "trap", endpoint };
    const added = await gateway.api("POST", "/api/custom/add", body);
    expect([added.status, added.body]).toEqual([200, expect.anything()]);
    const seen = await seenDuring(async () => {
      await gateway.api("POST", "/api/provider/custom");
      const { body } = await gateway.api("POST", "/api/connect", { server: "trap" });
      expect(body.error ?? body.message).toContain("did not answer the WireGuard handshake");
    });
    expect(seen.length).toBeGreaterThan(0);
    const ports = new Set(seen.map((line) => / (\S+) > /.exec(line)?.[1]));
    expect(ports.size).toBe(1);
    expect(seen.filter((line) => !line.includes(`.${PORT}: UDP, length ${INITIATION_BYTES}`))).toEqual([]);
    expect(await seenDuring(() => Bun.sleep(1_000))).toEqual([]);
  });
});

/** Debian's NetworkManager is the one that takes all of them. */
describe.each([
  // NetworkManager takes it as the route to a network, of the class that the address had (RFC 2132, 5.8).
  ["33", "203.0.113.0/24", `33,${VPN.vpn1.v4},192.168.77.66`],
  ["249", VPN.vpn1.v4, `249,${VPN.vpn1.v4}/32,192.168.77.66,0.0.0.0/0,${ROUTER.lan[1].v4}`],
] as const)("a route on the VPN server's own address by DHCP option %s", (_, prefix, option) => {
  let lab: Lab;
  let gateway: Gateway;
  let manager: Bun.Subprocess;
  let server: Dnsmasq;
  beforeAll(async () => {
    lab = await createLab({ cards: 1 });
    gateway = await lab.startGateway();
    expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  });
  afterAll(async () => {
    manager?.kill("SIGKILL");
    await manager?.exited;
    await server?.stop("SIGKILL");
    await lab?.close();
  });

  const inGateway = async (...argv: string[]) => (await lab.exec(lab.namespaces.gateway, argv)).stdout;

  test("ends the tunnel, lets nothing out, and is named by check", async () => {
    const mac = (await inGateway("cat", "/sys/class/net/lan0/address")).trim();
    server = new Dnsmasq(
      lab,
      lab.namespaces.router,
      [
        ...[
          "port=0",
          "interface=lan0",
          "bind-interfaces",
          `dhcp-range=${LAN.gateway4},static,255.255.255.0,1h`,
        ],
        ...[
          `dhcp-host=${mac},${LAN.gateway4}`,
          `dhcp-option=3,${ROUTER.lan[1].v4}`,
          `dhcp-option-force=${option}`,
        ],
      ].join("\n"),
    );
    server.start();
    const sniffer = await lab.sniff();
    // What it finds configured it would leave alone.
    await inGateway("ip", "link", "set", "lan0", "down");
    await inGateway("ip", "address", "flush", "dev", "lan0");
    manager = startManager();
    const route = async () => inGateway("ip", "-4", "route", "show", "via", "192.168.77.66");
    await until(async () => (await route()).includes(prefix)).catch((error) => {
      throw new Error(
        `${error}\n${server.log()}\n${readFileSync(join(folder(), "log"), "utf8").slice(-3_000)}`,
      );
    });
    // The sniffer's own kind of packets: the client asks for pages and names all the time.
    let found: string | undefined;
    await until(
      async () => {
        await lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/`);
        const { checks } = (await gateway.api("GET", "/api/checks")).body as Checks;
        found = checks.find(({ id }) => id === "tunnel:main")?.found;
        return found?.includes("takes the route") === true;
      },
      TIMEOUT_MS / 2,
      2_000,
    ).catch((error) => {
      throw new Error(`${error}: ${found}`);
    });
    expect(found).toContain(`takes the route ${prefix} via 192.168.77.66 dev lan0,`);
    expect((await sniffer.stop()).leaks).toEqual([]);
  });

  const folder = () => join(lab.sandbox.directory, "manager");
  function startManager(): Bun.Subprocess {
    writeClientFiles(folder(), "gateway");
    const log = openSync(join(folder(), "log"), "a", 0o600);
    const machine = readlinkSync("/proc/self/ns/mnt");
    const script = clientScript("NetworkManager", { name: "gateway", files: folder(), machine });
    const argv = ["ip", "netns", "exec", lab.namespaces.gateway, ...OWN, "sh", "-c", script];
    const environment = { ...process.env, ...CLIENT_ENVIRONMENT };
    const child = Bun.spawn(argv, { env: environment, stdin: "ignore", stdout: log, stderr: log });
    closeSync(log);
    return child;
  }
});
