import { mustParseAddress, mustParsePrefix } from "../../../src/base/address.ts";
import { dnsmasqConfig } from "../../../src/dhcp/config.ts";
import { ulaOn } from "../../../src/network/ula.ts";
import { LAN, ROUTER } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import { SILENT_HOSTS6 } from "./home-traffic.ts";

/** What the internet provider has delegated to the home, and the home router advertises. */
export const HOME6 = "2001:db8:77";
/** The gateway's prefix for the LAN, and its address there. */
export const ULA = "fd12:3456:789a::/48";
export const OWN6 = ulaOn(ULA, "lan0");
/** Devices renew their leases this often, to be seen doing it; the configuration's 12 hours are more than a test has. */
const RENEWED_EACH_S = 5;
/** One that asked while the server was down asks anyone then, and not hours later (RFC 2131, section 4.4.5). */
const REBOUND_AFTER_S = 10;

/** What the home router does for the devices. */
export interface RouterServes {
  dhcp: boolean;
  /** Router advertisements. */
  ipv6: boolean;
}

export function gatewayConfig(lab: Lab): string {
  const range = { from: mustParseAddress("192.168.77.100"), to: mustParseAddress("192.168.77.150") };
  const lan = { interface: "lan0", prefix: mustParsePrefix(LAN.prefix4), range, ula: OWN6 };
  const options = [`T1,${RENEWED_EACH_S}`, `T2,${REBOUND_AFTER_S}`].map(
    (each) => `dhcp-option=option:${each}\n`,
  );
  return dnsmasqConfig([lan], { leases: lab.leases(), hosts: null }) + options.join("");
}

export function routerConfig({ dhcp, ipv6 }: RouterServes): string {
  const own = ROUTER.lan[1].v4;
  return [
    "port=0",
    "interface=lan0",
    ...(dhcp ? ["dhcp-range=192.168.77.200,192.168.77.230,12h", "dhcp-authoritative"] : []),
    ...(dhcp ? [`dhcp-option=option:router,${own}`, `dhcp-option=option:dns-server,${own}`] : []),
    ...(ipv6 ? ["enable-ra", `dhcp-range=${HOME6}::,ra-only,64,12h`, "ra-param=lan0,60,1800"] : []),
    ...(ipv6 ? [`dhcp-option=option6:dns-server,[${HOME6}::1]`] : []),
    "",
  ].join("\n");
}

/** The home's public prefix with the way back to it, and more hosts on the internet. */
export async function addPrefixes(lab: Lab): Promise<void> {
  const { router, internet, vpn1, vpn2 } = lab.namespaces;
  const own = [
    [router, `${HOME6}::1/64`, "lan0"],
    ...SILENT_HOSTS6.map((host) => [internet, `${host}/64`, "backbone"] as const),
  ] as const;
  for (const [namespace, address, link] of own)
    await lab.exec(namespace, ["ip", "address", "add", address, "dev", link, "nodad"]);
  for (const namespace of [internet, vpn1, vpn2])
    await lab.exec(namespace, ["ip", "route", "add", `${HOME6}::/64`, "via", ROUTER.public6]);
}
