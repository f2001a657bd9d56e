import assert from "node:assert/strict";
import { blocked, type FirewallTunnel, type Policy } from "../../../src/killswitch/policy.ts";
import { rulesetOf, TABLE } from "../../../src/killswitch/ruleset.ts";
import { INTERNET, LAN, VPN, VPN_PORT } from "../../../src/sandbox/topology.ts";
import { cidrs, ip, ips } from "../../fake/address.ts";
import { Flood } from "../tools/flood.ts";
import { type Fresh, type FreshScenario, forgetRedirects } from "./fresh.ts";

/** Each meets thousands of packets on their way through the chains. */
const RELOADS = 100;
/** Deleting and adding apart leaks with each reload; the control stops where it has seen one. */
const CONTROL_RELOADS = 20;
/** Until both floods run. */
const FLOOD_START_MS = 500;

/**
 * The firewall alone, without routing rules and without the service: every packet of the flood would leave if a
 * chain let it pass for the moment of a reload. Blocked, connecting and connected follow each other.
 */
export const RELOADS_UNDER_A_FLOOD: FreshScenario = {
  name: `${RELOADS} reloads of the ruleset under a flood, with the firewall alone`,
  cards: [2, 1],
  run: async (fresh) => {
    const texts = policiesOf(fresh).map(rulesetOf);
    const floods = await control(fresh, texts);
    await load(fresh, texts[0] ?? "");
    await forgetRedirects(fresh.lab);
    await fresh.guarded(async () => {
      for (let count = 1; count <= RELOADS; count += 1) await load(fresh, texts[count % texts.length] ?? "");
    });
    const sent = await Promise.all(floods.map((flood) => flood.stop()));
    for (const number of sent) assert(number > RELOADS);
    fresh.total.sent += sent.reduce((sum, number) => sum + number, 0);
  },
};

/** The same texts, each as two commands instead of one transaction. Returns the floods, which go on. */
async function control(fresh: Fresh, texts: readonly string[]): Promise<Flood[]> {
  await load(fresh, texts[0] ?? "");
  const { client, gateway } = fresh.lab.namespaces;
  const hosts = [INTERNET.host4, INTERNET.host6];
  const floods = [client, gateway].flatMap((sender) => hosts.map((host) => Flood.start(sender, host)));
  await Bun.sleep(FLOOD_START_MS);
  await fresh.control(async () => {
    for (let count = 0; count < CONTROL_RELOADS; count += 1) {
      await fresh.inside(["nft", "delete", "table", ...TABLE.split(" ")]);
      await load(fresh, texts[count % texts.length] ?? "");
    }
  });
  return floods;
}

function load(fresh: Fresh, text: string): Promise<string> {
  return fresh.inside(["nft", "-f", "-"], text);
}

function policiesOf({ lab: { sandbox } }: Fresh): Policy[] {
  const tunnel: FirewallTunnel = {
    tunnel: "main",
    interface: `${sandbox.interface}0`,
    zone: 1,
    mark: 0x104c,
    endpoint: { address: ip(VPN.vpn1.v4), port: VPN_PORT },
    addresses: ips("10.64.0.2", "fd64::2"),
    resolvers: [ip("10.64.0.1")],
  };
  const lans = [{ interface: sandbox.lan, prefixes: cidrs(LAN.prefix4, LAN.prefix6, "fe80::/10") }];
  const closed = blocked({
    lans,
    uplink: sandbox.uplink,
    uplinkAddresses: [],
    uplinkPrefixes: [],
    addresses: [],
    lanRoutes: [],
    uplinkRouters: [],
    online: true,
    resolvers: [],
  });
  return [closed, { ...closed, endpoints: [tunnel] }, { ...closed, endpoints: [tunnel], carrying: [tunnel] }];
}
