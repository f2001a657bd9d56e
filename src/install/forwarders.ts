import { TABLE } from "../killswitch/ruleset.ts";
import { COMES_AND_GOES } from "../network/lan.ts";
import { OWN_TABLES } from "../network/own-table.ts";
import { allLinks } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { showLinkDetails } from "../system/ip.ts";
import { listNft, type NftObject } from "../system/nft.ts";

/** Signs of other programs that forward packets on this machine: interfaces and chains, as text. */
export async function forwardersOn(host: Host, base: string): Promise<string[]> {
  const network = await showLinkDetails(host);
  const legacy = (await host.read("/proc/net/ip_tables_names"))?.split("\n").includes("nat");
  return [
    ...network
      .filter(({ ifname }) => !allLinks(base).includes(ifname))
      .filter(({ ifname, linkinfo }) => COMES_AND_GOES.test(ifname) || linkinfo?.info_kind === "wireguard")
      .map(({ ifname }) => ifname),
    ...(await forwardingChains(host)),
    ...(legacy ? ["iptables-legacy"] : []),
  ];
}

/** Only chains with rules: Debian's own nftables.conf has an empty forward chain. */
async function forwardingChains(host: Host): Promise<string[]> {
  const nftables = await listNft(host, ["ruleset"]).catch((): NftObject[] => []);
  const filled = new Set(
    nftables.flatMap(({ rule }) =>
      rule === undefined ? [] : [`${rule.family} ${rule.table} ${rule.chain}`],
    ),
  );
  return nftables
    .flatMap(({ chain }) => (chain === undefined ? [] : [chain]))
    .filter(({ type, hook }) => hook === "forward" || (type === "nat" && hook === "postrouting"))
    .filter(({ family, table }) => ![TABLE, ...OWN_TABLES].includes(`${family} ${table}`))
    .map(({ family, table, name }) => `${family} ${table} ${name}`)
    .filter((name) => filled.has(name));
}
