import { existsSync, readdirSync } from "node:fs";
import type { Host } from "../system/host.ts";

/**
 * Kernel modules that the gateway's tables may need, for any tunnels and devices, and the one that ends connections.
 * When an upgrade of the kernel has removed the files of the running one, only modules that are already loaded work.
 */
export const FIREWALL_MODULES: readonly string[] = [
  ...["nf_tables", "nft_ct", "nft_fib_inet", "nft_reject_inet"],
  ...["nft_chain_nat", "nft_nat", "nft_masq", "nft_hash", "nft_socket"],
  "nf_conntrack_netlink",
];

/** The modules of the table that limits each device. The kill switch is complete without them. */
export const BOUND_MODULES: readonly string[] = ["nft_connlimit", "nft_limit"];

/**
 * The release of the running kernel if `folder` has only modules of other kernels, and some that the gateway needs are
 * not loaded; null otherwise. A container has no such folder, and the kernel loads modules for it.
 */
export async function releaseWithoutModules(
  host: Pick<Host, "read">,
  folder = "/lib/modules",
): Promise<string | null> {
  const release = (await host.read("/proc/sys/kernel/osrelease"))?.trim() ?? "";
  const kernels = existsSync(folder) ? readdirSync(folder) : [];
  if (kernels.length === 0 || kernels.includes(release)) return null;
  const lines = ((await host.read("/proc/modules")) ?? "").split("\n");
  const isLoaded = (name: string) => lines.some((line) => line.startsWith(`${name} `));
  return [...FIREWALL_MODULES, "wireguard"].every(isLoaded) ? null : release;
}
