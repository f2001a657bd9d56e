import { readFileSync } from "node:fs";
import { CommandError } from "../base/errors.ts";

/** The programs that the gateway runs, and the Debian package of each. */
const PROGRAMS: Record<string, string> = {
  ip: "iproute2",
  wg: "wireguard-tools",
  nft: "nftables",
  setpriv: "util-linux",
};
/** capabilities(7): the bit of CAP_NET_ADMIN in a capability mask. */
const CAP_NET_ADMIN = 12n;

/** Throws a `GatewayError` that says what this machine lacks to be a gateway, and what to do about it. */
export function assertMachine(): void {
  const missing = missingPrograms();
  if (missing.length > 0) {
    const packages = missing.map(({ package: name }) => name).join(" ");
    const programs = missing.map(({ program }) => program).join(", ");
    throw new CommandError(
      "unable",
      `${programs} not found; install: apt-get install --no-install-recommends ${packages}`,
    );
  }
  assertAdministrator();
}

export function assertAdministrator(): void {
  if (mayAdminister()) return;
  throw new CommandError("unable", "not allowed to administer the network; run as root: sudo portcullis …");
}

/** The programs that this machine lacks, and the Debian package of each. */
export function missingPrograms(): { program: string; package: string }[] {
  return Object.entries(PROGRAMS)
    .filter(([program]) => Bun.which(program) === null)
    .map(([program, name]) => ({ program, package: name }));
}

function mayAdminister(): boolean {
  const mask = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  return ((BigInt(`0x${mask}`) >> CAP_NET_ADMIN) & 1n) === 1n;
}
