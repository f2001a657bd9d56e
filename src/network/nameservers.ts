import { type Address, parseAddress } from "../base/address.ts";
import type { Host } from "../system/host.ts";

/** Files that list the system's resolvers; if resolv.conf names a local stub, those of the program behind it. */
const FILES = [
  "/etc/resolv.conf",
  "/run/systemd/resolve/resolv.conf",
  "/run/NetworkManager/no-stub-resolv.conf",
];

/** The resolvers outside this machine that the system uses (resolv.conf(5)). */
export async function nameserversOf(host: Pick<Host, "read">): Promise<Address[]> {
  for (const file of FILES) {
    const resolvers = nameserversIn((await host.read(file)) ?? "");
    if (resolvers.length > 0) return resolvers;
  }
  return [];
}

function nameserversIn(text: string): Address[] {
  return text
    .split("\n")
    .flatMap((line) => parseAddress(/^nameserver\s+(\S+)/.exec(line)?.[1] ?? "") ?? [])
    .filter((address) => !address.startsWith("127.") && address !== "::1");
}
