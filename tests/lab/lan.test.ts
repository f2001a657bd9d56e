import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, LAN, type NetworkCards, ROUTER, UPLINK, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("the same gateway with other cables and lines");

setDefaultTimeout(90_000);

const PAGE = `http://${INTERNET.host4}/`;
/** A handshake that nobody answers, and the longest pause of the first attempts. */
const BACK_WITHIN_MS = 30_000;
/** Checks that failed would be made again by then. */
const CHECKED_MS = 6_000;

async function ip(lab: Lab, words: string, namespace = lab.namespaces.gateway): Promise<void> {
  const { code, stderr } = await lab.exec(namespace, ["ip", ...words.split(" ")]);
  expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
}

/** The kernel drops IPv6 addresses and routes of an interface that goes down; what gave them gives them again. */
async function bringUp(lab: Lab, link: "lan0" | "wan0"): Promise<void> {
  const [v4, v6] = link === "lan0" ? [LAN.gateway4, LAN.gateway6] : [UPLINK.gateway4, UPLINK.gateway6];
  await ip(lab, `link set ${link} up`);
  await ip(lab, `address replace ${v4}/24 dev ${link}`);
  await ip(lab, `address replace ${v6}/64 dev ${link} nodad`);
  if (link === "lan0") return;
  await ip(lab, `route replace default via ${ROUTER.lan[2].v4} dev wan0`);
  await ip(lab, `-6 route replace default via ${ROUTER.lan[2].v6} dev wan0`);
}

/** What each test begins with: both cables are in, and the gateway is as it was when it was kept. */
async function reset(lab: Lab, gateway: Gateway): Promise<void> {
  for (const link of ["wan0", "lan0"] as const) await bringUp(lab, link);
  await gateway.reset();
}

async function takeDown(lab: Lab, link: "lan0" | "wan0"): Promise<void> {
  await ip(lab, `link set ${link} down`);
  await ip(lab, `address flush dev ${link}`);
}

async function killSwitch(gateway: Gateway): Promise<unknown> {
  const { stdout } = await gateway.operate("killswitch", "status", "--json");
  return JSON.parse(stdout).stands;
}

describe("two cards, of which either is down and without addresses", () => {
  let lab: Lab;
  let gateway: Gateway;
  beforeAll(async () => {
    lab = await createLab({ cards: 2 });
    gateway = await lab.startGateway();
    await until(
      async () => (await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status === 200,
      30_000,
    );
    await gateway.keep();
  });
  beforeEach(() => reset(lab, gateway));
  afterAll(() => lab.close(), 30_000);

  const health = async () => (await gateway.api("GET", "/health")).body;
  const state = async () => (await gateway.api("GET", "/api/status")).body.state;
  const own = () => lab.fetchFrom(lab.namespaces.gateway, PAGE);
  const client = () => lab.fetchFrom(lab.namespaces.client, PAGE);
  /** Health and the command say the same, and nothing was refused. */
  async function allIsWell(): Promise<void> {
    expect(await health()).toBe("healthy");
    expect(await killSwitch(gateway)).toBe(true);
    expect(gateway.log()).not.toMatch(/nft .*failed|security_alert/);
  }

  test("without its LAN the tunnel goes on, and a restart comes back to it", async () => {
    const sniffer = await lab.sniff();
    await takeDown(lab, "lan0");
    await Bun.sleep(CHECKED_MS);
    await allIsWell();
    expect(await state()).toBe("connected");
    expect(await own()).toContain(VPN.vpn1.v4);
    await gateway.restart();
    await allIsWell();
    expect(await state()).toBe("connected");
    expect(await own()).toContain(VPN.vpn1.v4);
    expect((await sniffer.stop()).leaks).toEqual([]);
  });

  test("without its uplink, too, it is reconnecting, a restart stays up, and all comes back by itself", async () => {
    await takeDown(lab, "lan0");
    await takeDown(lab, "wan0");
    await until(async () => (await state()) === "reconnecting", BACK_WITHIN_MS);
    expect((await gateway.api("GET", "/api/status")).body.error).toBe("the uplink wan0 is down");
    await allIsWell();
    await gateway.restart();
    expect(await state()).toBe("reconnecting");
    await allIsWell();
    const sniffer = await lab.sniff();
    await bringUp(lab, "wan0");
    await bringUp(lab, "lan0");
    await until(async () => (await client())?.includes(VPN.vpn1.v4) === true, BACK_WITHIN_MS);
    await until(async () => (await state()) === "connected", BACK_WITHIN_MS);
    await allIsWell();
    expect((await sniffer.stop()).leaks).toEqual([]);
  }, 120_000);
});

describe("two cards, and nobody has said which is the LAN's", () => {
  let lab: Lab;
  let gateway: Gateway;
  beforeAll(async () => {
    lab = await createLab({ cards: 2 });
    gateway = await lab.startGateway({
      flags: ["--host", "::", "--lan", "", "--uplink", ""],
    });
    await gateway.keep();
  });
  beforeEach(() => reset(lab, gateway));
  afterAll(() => lab.close(), 30_000);

  const asks = (namespace: string, host: string) =>
    lab.fetchFrom(namespace, `http://${host}:${gateway.port}/health`);
  /** As a neighbour on that cable, whose interface is lan0 in either case, calls the gateway. */
  async function linkLocal(link: string): Promise<string> {
    const { stdout } = await lab.exec(lab.namespaces.gateway, [
      "ip",
      "-j",
      "-6",
      "address",
      "show",
      "dev",
      link,
    ]);
    const [{ addr_info }] = JSON.parse(stdout);
    const found = addr_info.find(({ local }: { local: string }) => local.startsWith("fe80:")).local;
    return `[${found}%25lan0]`;
  }

  test("the LAN is served, and whoever shares the uplink's cable is not", async () => {
    const { client, router } = lab.namespaces;
    expect(await asks(client, LAN.gateway4)).toBe("healthy");
    expect(await asks(client, await linkLocal("lan0"))).toBe("healthy");
    for (const host of [UPLINK.gateway4, `[${UPLINK.gateway6}]`, await linkLocal("wan0")]) {
      expect(await asks(router, host)).toBeNull();
    }
    expect(gateway.log()).toContain(
      "LAN: lan0 (192.168.77.0/24, fd77::/64, fe80::/10), without the uplink wan0",
    );
  }, 30_000);

  test("nor while the kill switch is off, though their packets get in then", async () => {
    const { client, router } = lab.namespaces;
    expect((await gateway.operate("killswitch", "off")).code).toBe(0);
    const answer = (namespace: string, host: string) =>
      lab.exec(namespace, ["curl", "-gs", "-m", "2", `http://${host}:${gateway.port}/api/status`]);
    for (const host of [UPLINK.gateway4, `[${UPLINK.gateway6}]`, await linkLocal("wan0")]) {
      expect((await answer(router, host)).stdout).toContain("only the local network is served");
    }
    expect(await asks(client, await linkLocal("lan0"))).toBe("healthy");
    expect((await gateway.operate("killswitch", "on")).code).toBe(0);
  }, 30_000);

  test("nor while the LAN's cable is out, before and after a restart", async () => {
    const { client, router } = lab.namespaces;
    const refused = async () => {
      for (const host of [UPLINK.gateway4, `[${UPLINK.gateway6}]`])
        expect(await asks(router, host)).toBeNull();
    };
    await takeDown(lab, "lan0");
    await until(() => gateway.log().includes("lan0 was the LAN and has no private address now"), 10_000);
    await refused();
    await gateway.restart();
    await refused();
    await bringUp(lab, "lan0");
    await until(async () => (await asks(client, LAN.gateway4)) === "healthy", BACK_WITHIN_MS);
    await refused();
  });

  test("a service that starts while the uplink's cable is out lets its default route come back", async () => {
    await gateway.kill("SIGTERM");
    await takeDown(lab, "wan0");
    await gateway.start();
    const told = gateway.log().length;
    await bringUp(lab, "wan0");
    await until(() => gateway.log().includes("the uplink is up", told), BACK_WITHIN_MS);
    expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
    expect(await lab.fetchFrom(lab.namespaces.client, PAGE)).toContain(VPN.vpn1.v4);
  });
});

test("a telephone that is plugged in does not take the LAN's place, nor is its network one", async () => {
  const lab = await createLab({ cards: 1 });
  try {
    const flags = ["--host", "::", "--lan", "", "--uplink", ""];
    const gateway = await lab.startGateway({ flags });
    const asks = () => lab.fetchFrom(lab.namespaces.client, `http://${LAN.gateway4}:${gateway.port}/health`);
    await ip(lab, "link add usb0 type veth peer phone");
    for (const link of ["usb0", "phone"]) await ip(lab, `link set ${link} up`);
    await ip(lab, "address add 192.168.42.9/24 dev usb0 valid_lft 3600 preferred_lft 3600");
    // What an event of the kernel's leads to is done by then.
    await Bun.sleep(CHECKED_MS);
    expect(await asks()).toBe("healthy");
    const inLan = async () => (await lab.exec(lab.namespaces.gateway, ["nft", "list", "ruleset"])).stdout;
    expect(await inLan()).not.toContain("usb0");
    await gateway.restart();
    expect(await asks()).toBe("healthy");
    expect(await inLan()).not.toContain("usb0");
  } finally {
    await lab.close();
  }
}, 120_000);

test("a link-local address to listen on, with its cable, may come after the start", async () => {
  const lab = await createLab({ cards: 2 });
  const gateway = new Gateway(lab, { flags: ["--host", "fe80::77%lan0"] });
  try {
    gateway.launch();
    await until(() => gateway.log().includes("fe80::77%lan0 is not an address of this machine yet"), 60_000);
    await ip(lab, "address add fe80::77/64 dev lan0 nodad");
    await until(
      () => gateway.log().includes("fe80::77%lan0 is now an address of this machine"),
      BACK_WITHIN_MS,
    );
  } finally {
    await gateway.end();
    await lab.close();
  }
}, 120_000);

test("an address to listen on that its cable has yet to bring keeps no service from starting", async () => {
  const lab = await createLab({ cards: 2 });
  const gateway = new Gateway(lab, { flags: ["--host", LAN.gateway4] });
  try {
    await takeDown(lab, "lan0");
    gateway.launch();
    await until(
      () => gateway.log().includes(`${LAN.gateway4} is not an address of this machine yet`),
      60_000,
    );
    await bringUp(lab, "lan0");
    const asks = () => lab.fetchFrom(lab.namespaces.client, `http://${LAN.gateway4}:${gateway.port}/health`);
    await until(async () => (await asks()) === "healthy", BACK_WITHIN_MS);
  } finally {
    await gateway.end();
    await lab.close();
  }
}, 120_000);

describe.each([2, 1] as const)(
  "with %i card(s), a lease with half the internet for a netmask",
  (cards: NetworkCards) => {
    let lab: Lab;
    let gateway: Gateway;
    beforeAll(async () => {
      lab = await createLab({ cards });
      // The router answers for whomever the gateway takes for a neighbour.
      const settings = ["net.ipv4.conf.lan0.proxy_arp=1", "net.ipv4.conf.all.proxy_arp=1"];
      await lab.exec(lab.namespaces.router, ["sysctl", "-qw", ...settings]);
      gateway = await lab.startGateway();
      const connect = () => gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
      await until(async () => (await connect()).status === 200, 30_000);
      await gateway.keep();
    });
    beforeEach(async () => {
      const { uplink } = lab.sandbox;
      await lab.exec(lab.namespaces.gateway, ["ip", "address", "del", `${own}/1`, "dev", uplink]);
      await ip(lab, `address replace ${own}/24 dev ${uplink}`);
      await ip(lab, `route replace default via ${ROUTER.lan[cards].v4} dev ${uplink}`);
      await gateway.reset();
    }, 60_000);
    afterAll(() => lab.close(), 30_000);

    const own = cards === 1 ? LAN.gateway4 : UPLINK.gateway4;
    const lease = (length: number) => ip(lab, `address add ${own}/${length} dev ${lab.sandbox.uplink}`);
    async function leaksDuring(work: () => Promise<unknown>): Promise<string[]> {
      const sniffer = await lab.sniff();
      const traffics = await Promise.all(
        [lab.namespaces.client, lab.namespaces.gateway].map((name) =>
          lab.traffic(name, { kinds: ["udp", "web", "dns", "ping"], resolver: INTERNET.dns4 }),
        ),
      );
      await work();
      await Promise.all(traffics.map((traffic) => traffic.stop()));
      return (await sniffer.stop()).leaks;
    }

    test("positive control: without the service the gateway's packets leave by the cable", async () => {
      await gateway.expose();
      await lease(1);
      await ip(lab, `route del default dev ${lab.sandbox.uplink}`);
      const leaks = await leaksDuring(() => Bun.sleep(500));
      expect(leaks.filter((line) => line.startsWith(own)).length).toBeGreaterThan(20);
      if (cards === 1) await lab.exec(lab.namespaces.client, ["ip", "route", "flush", "cache"]);
    }, 30_000);

    test("nothing leaks, the route stays in the tunnel, and it is told", async () => {
      const leaks = await leaksDuring(async () => {
        await lease(1);
        await ip(lab, `address del ${own}/24 dev ${lab.sandbox.uplink}`);
        await until(
          () => cards === 2 || gateway.log().includes("only 192.168.0.0/16 of it counts as LAN"),
          10_000,
        );
        for (const address of ["198.51.100.9", INTERNET.host4, "129.1.1.1"]) {
          const { stdout } = await lab.exec(lab.namespaces.gateway, ["ip", "-j", "route", "get", address]);
          expect(JSON.parse(stdout)[0].dev).toMatch(new RegExp(`^${lab.sandbox.interface}[01]$`));
        }
        await Bun.sleep(2_000);
      });
      expect(leaks).toEqual([]);
      const { stdout } = await lab.exec(lab.namespaces.gateway, ["ip", "rule", "show"]);
      expect(stdout.includes("to 192.168.0.0/16 iif lo lookup main suppress_prefixlength 0")).toBe(
        cards === 1,
      );
      expect(stdout).not.toMatch(/to (128|0)\./);
    });
  },
);
