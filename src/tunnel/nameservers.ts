import { parseIp } from "../address.ts";
import { GatewayError } from "../errors.ts";
import type { Host } from "../system/host.ts";

/** Where the system's own resolvers stand; behind a local stub, the files of the program that runs it. */
const FILES = [
  "/etc/resolv.conf",
  "/run/systemd/resolve/resolv.conf",
  "/run/NetworkManager/no-stub-resolv.conf",
];

/** The resolvers outside this machine that the system uses (resolv.conf(5)). */
export async function resolversOf(host: Host): Promise<string[]> {
  for (const file of FILES) {
    const resolvers = nameserversIn((await host.read(file)) ?? "");
    if (resolvers.length > 0) return resolvers;
  }
  throw new GatewayError(
    "unable",
    "the system has no resolver to ask for the server's name: give the endpoint as an address",
  );
}

function nameserversIn(text: string): string[] {
  return text
    .split("\n")
    .map((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? "")
    .filter((address) => parseIp(address) !== null && !address.startsWith("127.") && address !== "::1");
}
