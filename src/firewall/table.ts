import type { Host } from "../system/host.ts";
import { TABLE } from "./ruleset.ts";

/** The firewall's table as the kernel has it, in the form of `nft -s list table`, or null where there is none. */
export function listTable(host: Host): Promise<string | null> {
  return host.run(["nft", "-s", "list", "table", ...TABLE.split(" ")]).catch(() => null);
}

interface Listed {
  chain?: { family: string; table: string; name: string; hook?: string; policy?: string };
}

/** Chains of other programs (ufw, Docker) that drop what the gateway lets pass, unless they are told of it; in words. */
export async function droppingChains(host: Host): Promise<string[]> {
  const json = await host.run(["nft", "-j", "list", "chains"]).catch(() => "");
  const { nftables } = JSON.parse(json || '{"nftables":[]}') as { nftables: Listed[] };
  return nftables
    .flatMap(({ chain }) => (chain === undefined ? [] : [chain]))
    .filter(({ hook, policy }) => policy === "drop" && (hook === "forward" || hook === "input"))
    .filter(({ family, table }) => `${family} ${table}` !== TABLE)
    .map(({ family, table, name }) => `${family} ${table} ${name}`);
}
