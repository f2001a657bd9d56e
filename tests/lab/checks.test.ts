import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Check, Checks } from "../../src/checks/schema.ts";
import { INTERNET, LAN, ROUTER, TUNNEL, UPLINK, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import type { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

const TEST_MS = 180_000;
setDefaultTimeout(TEST_MS);

/** Results are kept for five seconds. */
const EVERY_MS = 1_000;
/** All of IPv4 but 10.0.0.0/8. */
const WITHOUT_10 =
  "0.0.0.0/5, 8.0.0.0/7, 11.0.0.0/8, 12.0.0.0/6, 16.0.0.0/4, 32.0.0.0/3, 64.0.0.0/2, 128.0.0.0/1";
/** The table of a test, in whichever namespace it breaks something. */
const BROKEN = "inet broken";

describe("portcullis check, which sends no packet outside the tunnel,", () => {
  let lab: Lab;
  let gateway: Gateway;
  let sniffer: Sniffer;

  beforeAll(async () => {
    lab = await createLab({ cards: 2 });
    sniffer = await lab.sniff();
    // The positive control: what the gateway sends outside a tunnel is seen.
    await lab.exec(lab.namespaces.gateway, ["ping", "-c", "1", "-W", "2", INTERNET.host4]);
    await until(() => sniffer.peek().leaks.length > 0);
    await sniffer.stop();
    gateway = await lab.startGateway();
    await connect();
    await gateway.keep();
  });
  beforeEach(async () => {
    await gateway.reset();
    sniffer = await lab.sniff();
  });
  afterEach(async () => {
    const { leaks, missed, frames } = await sniffer.stop();
    expect(frames).toBeGreaterThan(0);
    expect({ leaks, missed }).toEqual({ leaks: [], missed: 0 });
  });
  afterAll(() => lab.close());

  async function connect(server = "box-vpn-1"): Promise<void> {
    const { status, body } = await gateway.api("POST", "/api/connect", { server });
    expect({ status, body }).toEqual({ status: 200, body: { success: true } });
  }

  async function checks(): Promise<Check[]> {
    const { status, body } = await gateway.api("GET", "/api/checks");
    expect(status).toBe(200);
    return (body as Checks).checks;
  }

  /** Waits until a check has found that. */
  async function finds(id: string, wanted: RegExp): Promise<Check> {
    let last: Check | undefined;
    await until(async () => {
      last = (await checks()).find((check) => check.id === id);
      if (last !== undefined && wanted.test(`${last.result}: ${last.found}`)) return true;
      await sleep(EVERY_MS);
      return false;
    }, TEST_MS / 2).catch(() => {});
    expect(`${last?.result}: ${last?.found}`).toMatch(wanted);
    return last as Check;
  }

  /** Drops packets in a namespace while the work lasts. */
  async function dropping(namespace: string, rule: string, work: () => Promise<void>): Promise<void> {
    const text = `table ${BROKEN} { chain forward { type filter hook forward priority -10; ${rule} drop; }; }`;
    expect(await lab.exec(namespace, ["nft", "-f", "-"], text)).toMatchObject({ code: 0, stderr: "" });
    try {
      await work();
    } finally {
      await lab.exec(namespace, ["nft", "delete", "table", ...BROKEN.split(" ")]);
    }
  }

  const inGateway = async (...argv: string[]) =>
    expect(await lab.exec(lab.namespaces.gateway, argv)).toMatchObject({ code: 0, stderr: "" });

  test("finds the resolver that the AllowedIPs of a file leave out, because it is led into the tunnel", async () => {
    const [{ importBody }] = lab.sandbox.servers;
    const config = importBody.config.replace(/^AllowedIPs = .*/m, `AllowedIPs = ${WITHOUT_10}`);
    const { body } = await gateway.api("POST", "/api/import", { name: "public", config });
    expect(body.warnings).toEqual([
      expect.stringMatching(/DNS: 10\.[0-9.]+ is not in AllowedIPs; it is led in/),
    ]);
    await gateway.api("POST", "/api/provider/imported");
    await connect("public");
    await finds("dns", /^ok: the tunnel's resolver 10\.[0-9.]+ answers$/);
  });

  test("finds nothing wrong with a tunnel that works", async () => {
    expect((await checks()).filter(({ result }) => result === "fault")).toEqual([]);
    await finds("tunnel:main", /^ok: connected to box-vpn-1; last handshake \d+ s ago$/);
    await finds("dns", /^ok: the tunnel's resolver 10\.64\.0\.1 answers$/);
    await finds("mtu", /^ok: packets of 1420 bytes, the longest, pass$/);
    await finds("ipv6", /^ok: on; the tunnel carries it$/);
  });

  test("tells a server that carries nothing from one that is silent", async () => {
    await dropping(lab.namespaces.vpn1, "", async () => {
      await finds(
        "tunnel:main",
        /^fault: box-vpn-1 answered the handshake \d+ s ago, but no data came back$/,
      );
      await finds("dns", /^fault: the tunnel's resolver 10\.64\.0\.1 does not answer$/);
    });
    await finds("tunnel:main", /^ok: /);
    await dropping(lab.namespaces.router, "meta l4proto udp", async () => {
      const found = await finds("tunnel:main", /^fault: box-vpn-1 no longer answers/);
      expect(found.advice).toContain("sudo portcullis account");
    });
    await finds("tunnel:main", /^ok: /);
  });

  test("measures the longest packets that pass where the path is narrow and no router says so", async () => {
    // 20 + 8 + 32 bytes of headers around a packet that WireGuard pads to a multiple of 16 bytes.
    await dropping(lab.namespaces.router, "meta length > 1400", async () => {
      await finds("mtu", /^warning: packets of 1420 bytes do not pass; the longest that do have 1320: /);
    });
    await finds("mtu", /^ok: /);
  });

  test("names an uplink whose cable is out", async () => {
    await lab.unplug();
    await finds("uplink", /^fault: wan0 has 192\.168\.88\.2, fd88::2, but no carrier or no default route$/);
    await finds("tunnel:main", /^fault: .*the uplink wan0 is down/);
    await lab.plug();
    await finds("uplink", /^ok: /);
    await finds("tunnel:main", /^ok: /);
  });

  test("writes a report without any secret, address or name of the home", async () => {
    const device = { name: "Grandma's telephone" };
    await gateway.api("PUT", "/api/devices/02:00:00:00:00:20", device);
    const { code, stdout, stderr } = await gateway.operate("check", "--report");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Portcullis \d[^\n]*\nSystem: .*\nKernel: .*\nModel: .*\nNetwork: .*\n/);
    expect(stdout).toMatch(/^ok {7}Main tunnel {2,}connected to NAME-1; last handshake \d+ s ago$/m);
    const { servers } = lab.sandbox;
    const texts = [
      ...Object.values({ ...LAN, ...UPLINK, ...INTERNET, ...TUNNEL }),
      ...[ROUTER.lan[1], ROUTER.lan[2], VPN.vpn1, VPN.vpn2].flatMap((each) => Object.values(each)),
      ...[ROUTER.public4, ROUTER.public6, device.name, "02:00:00:00:00:20"],
      ...servers.flatMap(({ hostname, city, publicKey, privateKey }) => [
        hostname,
        city,
        publicKey,
        privateKey,
      ]),
      ...servers.flatMap(({ managed, custom, imported }) =>
        [managed, custom, imported].flatMap(({ privateKey, presharedKey }) => [privateKey, presharedKey]),
      ),
    ].map((text) => text.replace(/\/\d+$/, ""));
    expect(texts.filter((text) => text !== "" && stdout.includes(text))).toEqual([]);
  });

  test("works without the service, and says that it does not run", async () => {
    const flags = ["--interface", lab.sandbox.interface];
    const network = ["--lan", lab.sandbox.lan, "--uplink", lab.sandbox.uplink, "--port", `${gateway.port}`];
    const running = await gateway.operate("check", ...flags, ...network);
    expect({ code: running.code, stderr: running.stderr }).toEqual({ code: 0, stderr: "" });
    await gateway.kill("SIGKILL");
    // Without a service that listens, what the kernel has heard counts.
    const neighbour = ["fe80::99", "lladdr", "02:00:00:00:00:99", "dev", "lan0"];
    await inGateway("ip", "neigh", "replace", ...neighbour, "nud", "stale", "router");
    const { code, stdout, stderr } = await gateway.operate("check", ...flags, ...network);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toMatch(/^FAULT {4}Service {2,}it is not running; /m);
    expect(stdout).toMatch(/^ {10,}What to do: Start it: sudo systemctl start portcullis\. /m);
    for (const title of ["firewall", "routing"])
      expect(stdout).toMatch(new RegExp(`^ok {7}Kill switch: ${title} `, "m"));
    expect(stdout).toMatch(/^warning {2}Other routers on the LAN {2,}fe80::99 on lan0 is an IPv6 router/m);
    expect(stdout).toMatch(/^1 fault, \d+ warnings?\.$/m);
    const json = await gateway.operate("check", "--json", ...flags, ...network);
    expect({ code: json.code, service: serviceIn(json.stdout) }).toEqual({ code: 1, service: "fault" });
  });
});

function serviceIn(json: string): string | undefined {
  return (JSON.parse(json) as Checks).checks.find(({ id }) => id === "service")?.result;
}
