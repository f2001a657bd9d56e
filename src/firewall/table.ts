import type { Host } from "../system/host.ts";
import { TABLE } from "./ruleset.ts";

/** The firewall's table as the kernel has it, in the form of `nft -s list table`, or null where there is none. */
export function listTable(host: Host): Promise<string | null> {
  return host.run(["nft", "-s", "list", "table", ...TABLE.split(" ")]).catch(() => null);
}
