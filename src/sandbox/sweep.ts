import { lstatSync, readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockFileOf } from "../system/claim.ts";
import type { Host } from "../system/host.ts";

const NETNS = "/run/netns";
const NETNS_FILES = "/etc/netns";
const WIREGUARD_SOCKETS = "/var/run/wireguard";
/** `pc<process id of the owner>-<number>`, then a role, an interface or a random suffix. */
const OWN_NAME = /^pc(\d+)-\d+/;
/** SIGKILL ends a process at once unless the kernel is busy closing its files. */
const DEATH_MS = 15_000;

/** The sandboxes that this process has open. */
const open = new Set<string>();

/** Claims a name that no other sandbox on this machine has. */
export function claimId(): string {
  for (let number = 1; ; number += 1) {
    const id = `pc${process.pid}-${number}`;
    if (open.has(id)) continue;
    open.add(id);
    return id;
  }
}

/** Removes the remains of sandboxes whose owner has died. */
export async function sweep(host: Host): Promise<void> {
  const dead = new Set<string>();
  for (const folder of [NETNS, NETNS_FILES, WIREGUARD_SOCKETS, tmpdir()]) {
    for (const name of list(folder)) {
      const [id, owner] = OWN_NAME.exec(name) ?? [];
      if (id !== undefined && !lives(id, Number(owner))) dead.add(id);
    }
  }
  for (const id of dead) await remove(host, id);
}

/** Removes everything of one sandbox: processes, namespaces, their files, sockets, temporary files. */
export async function remove(host: Host, id: string): Promise<void> {
  const own = (name: string) => OWN_NAME.exec(name)?.[0] === id;
  const namespaces = list(NETNS).filter(own);
  await killInside(host, namespaces);
  for (const name of namespaces) rmSync(lockFileOf(inodeOf(join(NETNS, name))), { force: true });
  const deletions = namespaces.map((name) => `netns delete ${name}\n`).join("");
  if (deletions !== "") {
    // Another process may be removing the same remains. They only have to be gone.
    await host.run(["ip", "-force", "-batch", "-"], { stdin: deletions }).catch((error: unknown) => {
      if (list(NETNS).some(own)) throw error;
    });
  }
  for (const folder of [NETNS_FILES, WIREGUARD_SOCKETS, tmpdir()]) {
    for (const name of list(folder).filter(own)) removeOwn(join(folder, name));
  }
  open.delete(id);
}

function lives(id: string, owner: number): boolean {
  // Process ids are reused: this process may have the id of a dead owner.
  // A killed process that was not waited for is still listed, but has no namespaces any more.
  return owner === process.pid ? open.has(id) : namespaceOf(owner) !== "";
}

async function killInside(host: Host, namespaces: readonly string[]): Promise<void> {
  const deadline = host.monotonic() + DEATH_MS;
  for (;;) {
    const inside = processesIn(namespaces);
    if (inside.length === 0) return;
    if (host.monotonic() > deadline) throw new Error(`processes ${inside.join(", ")} do not end`);
    for (const pid of inside) kill(pid);
    await host.sleep(2);
  }
}

function processesIn(namespaces: readonly string[]): number[] {
  const inodes = new Set(namespaces.map((name) => `net:[${inodeOf(join(NETNS, name))}]`));
  if (inodes.size === 0) return [];
  return list("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid && inodes.has(namespaceOf(pid)));
}

function namespaceOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return "";
  }
}

function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

/** Any user may create such a name in /tmp; only files of this user are removed. */
function removeOwn(path: string): void {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status?.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
