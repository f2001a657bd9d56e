import assert from "node:assert/strict";
import { INTERNET, LAN, ROUTER, UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import { COULD_NOT_CONNECT } from "../tools/lab.ts";
import { until } from "../tools/until.ts";
import type { Scenario, Stage } from "./stage.ts";
import { UNLIMITED } from "./strangers.ts";

/** A tunnel whose uplink was away is live again with its next packet; busy, somewhat later. */
const BACK_WITHIN_MS = 60_000;

/** What happens to the uplink and to the routes of the machine's own that lead there. */
export const UPLINK_SCENARIOS: readonly Scenario[] = [
  {
    name: "the uplink's cable is pulled and put back while connected",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      await stage.inside("sysctl", "-qw", ...UNLIMITED);
      await stage.lab.unplug();
      await stage.observe();
      // With one card the device's own cable is out as well.
      if (stage.isWhole && stage.cards === 2) await directIsRefused(stage);
      await stage.lab.plug();
      await seeCarrier(stage);
      await tunnelIsBack(stage);
    },
  },
  {
    name: "the uplink goes down and comes up while connected",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      await downAndUp(stage);
      await tunnelIsBack(stage);
    },
  },
  {
    name: "the uplink goes down and comes up while blocked",
    cards: [2, 1],
    from: "blocked",
    run: async (stage) => {
      await downAndUp(stage);
      await stage.sees(null);
    },
  },
  {
    name: "the uplink gets another address while connected",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      const { uplink } = stage.lab.sandbox;
      const [own, other] =
        stage.cards === 1 ? [LAN.gateway4, "192.168.77.3"] : [UPLINK.gateway4, "192.168.88.3"];
      await ip(stage, `address del ${own}/24 dev ${uplink}`);
      await stage.observe(25);
      await ip(stage, `address add ${other}/24 dev ${uplink}`);
      await defaultRoutes(stage);
      await stage.observe(50);
      // wireguard-go sends from the former address until its handshake is renewed, 15 s later.
      await stage.disconnect();
      await stage.devices.disconnect();
    },
  },
  {
    name: "the default route leads to a LAN host instead, which passes on whatever it gets",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      const { lan } = stage.lab.sandbox;
      await ip(stage, `route replace default via ${LAN.client4} dev ${lan}`);
      await ip(stage, `-6 route replace default via ${LAN.client6} dev ${lan}`);
      await stage.observe(50);
      await defaultRoutes(stage);
      await tunnelIsBack(stage);
    },
  },
  ...(["connected", "blocked"] as const).map(
    (from): Scenario => ({
      name: `more specific routes are put into the main table while ${from} (CVE-2024-3661)`,
      cards: [2, 1],
      from,
      run: (stage) => injectRoutes(stage, from),
    }),
  ),
  ...(["connected", "blocked"] as const).map(
    (from): Scenario => ({
      name: `a public prefix appears on the uplink while ${from}`,
      cards: [2, 1],
      from,
      run: (stage) => addPublicPrefix(stage, from),
    }),
  ),
];

/** At once, over IPv4 and IPv6. A page that was on its way when the cable came out never arrives. */
async function directIsRefused(stage: Stage): Promise<void> {
  const { namespace } = stage.devices.numbered(3);
  for (const host of [INTERNET.host4, `[${INTERNET.host6}]`]) {
    const argv = ["curl", "-gsf", "-m", "2", `http://${host}/`];
    await until(async () => (await stage.lab.exec(namespace, argv)).code === COULD_NOT_CONNECT);
  }
}

async function downAndUp(stage: Stage): Promise<void> {
  const { uplink } = stage.lab.sandbox;
  await ip(stage, `link set ${uplink} down`);
  await stage.observe();
  await ip(stage, `link set ${uplink} up`);
  await seeCarrier(stage);
  // The kernel has dropped the routes and IPv6 addresses; DHCP and router advertisements would bring them back.
  const address6 = stage.cards === 1 ? LAN.gateway6 : UPLINK.gateway6;
  await ip(stage, `address replace ${address6}/64 dev ${uplink} nodad`);
  await defaultRoutes(stage);
}

/** What an attacker's DHCP option 121 would do: every way that beats a default route. */
async function injectRoutes(stage: Stage, from: Scenario["from"]): Promise<void> {
  const router = ROUTER.lan[stage.cards];
  const { uplink } = stage.lab.sandbox;
  const ways4 = [`${INTERNET.host4}/32`, "203.0.113.0/24", "0.0.0.0/1", "128.0.0.0/1", "10.64.0.0/24"];
  const ways6 = [`${INTERNET.host6}/128`, "2001:db8:113::/64", "::/1", "8000::/1", "fd64::/64"];
  for (const prefix of ways4) await ip(stage, `route add ${prefix} via ${router.v4} dev ${uplink}`);
  for (const prefix of ways6) await ip(stage, `-6 route add ${prefix} via ${router.v6} dev ${uplink}`);
  await stage.observe(50);
  await stage.sees(from === "connected" ? VPN.vpn1.v4 : null);
  for (const prefix of ways4) await ip(stage, `route del ${prefix} dev ${uplink}`);
  for (const prefix of ways6) await ip(stage, `-6 route del ${prefix} dev ${uplink}`);
}

/** The router answers for the internet's hosts on the uplink's cable, so that what the gateway sends there is on its way. */
async function addPublicPrefix(stage: Stage, from: Scenario["from"]): Promise<void> {
  const { lab } = stage;
  const { uplink, namespaces } = lab.sandbox;
  const settings = ["net.ipv4.conf.lan0.proxy_arp", "net.ipv6.conf.lan0.proxy_ndp"];
  const hosts6 = [INTERNET.host6, INTERNET.dns6, VPN.vpn1.v6];
  const proxy = async (on: boolean) => {
    await lab.exec(namespaces.router, ["sysctl", "-qw", ...settings.map((name) => `${name}=${on ? 1 : 0}`)]);
    for (const host of hosts6) {
      await lab.exec(namespaces.router, [
        "ip",
        "-6",
        "neigh",
        on ? "add" : "del",
        "proxy",
        host,
        "dev",
        "lan0",
      ]);
    }
  };
  await proxy(true);
  await ip(stage, `address add 203.0.113.200/24 dev ${uplink}`);
  await ip(stage, `address add 2001:db8:113::200/64 dev ${uplink} nodad`);
  await stage.observe(50);
  await ip(stage, `address del 203.0.113.200/24 dev ${uplink}`);
  await ip(stage, `address del 2001:db8:113::200/64 dev ${uplink}`);
  await proxy(false);
  if (from === "connected") await tunnelIsBack(stage);
}

async function defaultRoutes(stage: Stage): Promise<void> {
  const router = ROUTER.lan[stage.cards];
  const { uplink } = stage.lab.sandbox;
  await ip(stage, `route replace default via ${router.v4} dev ${uplink}`);
  await ip(stage, `-6 route replace default via ${router.v6} dev ${uplink}`);
}

/** The kernel looks for a carrier once a second, and at once when it is asked. */
async function seeCarrier(stage: Stage): Promise<void> {
  await stage.inside("cat", `/sys/class/net/${stage.lab.sandbox.uplink}/carrier`);
}

async function tunnelIsBack(stage: Stage): Promise<void> {
  const deadline = performance.now() + BACK_WITHIN_MS;
  for (;;) {
    const wrong = await stage.sees(VPN.vpn1.v4).catch((error: unknown) => error);
    if (wrong === undefined) return;
    if (performance.now() > deadline) throw wrong;
  }
}

async function ip(stage: Stage, words: string): Promise<void> {
  const { code, stderr } = await stage.inside("ip", ...words.split(" "));
  assert.equal(code, 0, `ip ${words}: ${stderr}`);
}
