import { readFileSync, statSync } from "node:fs";
import { COMPILED } from "../base/compiled.ts";
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

/**
 * Whoever works on the sources hardly means this machine's own network, which the kill switch would close: labs and the
 * sandbox serve in network namespaces. The executable serves wherever it is started.
 */
export function assertMeantHere(): void {
  if (COMPILED || !isInMachinesNetwork()) return;
  throw new CommandError(
    "unable",
    "serving from the sources would close this machine's own network; ./scripts/start serves in a sandbox, and dist/portcullis serve, after ./scripts/build, serves here",
  );
}

/**
 * Whether the outermost process that has started this one, as far as it may look, is in its network namespace. It may be
 * the first process itself, as in a container that has the machine's network.
 */
function isInMachinesNetwork(): boolean {
  const own = networkOf(process.pid);
  let outermost = own;
  for (let pid = process.ppid; pid > 0; pid = parentOf(pid)) outermost = networkOf(pid) ?? outermost;
  return outermost === own;
}

/** The inode of its network namespace. Of some processes not even root may read it: then null. */
function networkOf(pid: number): number | null {
  try {
    return statSync(`/proc/${pid}/ns/net`).ino;
  } catch {
    return null;
  }
}

/** 0 if there is none, or if it has just ended. */
function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
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
