import { read } from "bun:ffi";
import { mkdirSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { CommandError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import { libc } from "./libc.ts";

/** A service takes some milliseconds to stop; an operator may start the next one before that. */
const ENDS_WITHIN_MS = 1_500;
const RETRY_AFTER_MS = 20;
/** From the kernel's headers; the same on ARM and x86. */
const LOCK_EXCLUSIVE_NONBLOCK = 2 | 4;
/** Another process has the lock (`EWOULDBLOCK` of flock(2)). */
const HELD = 11;
/** The lock of whatever installs or uninstalls; only root may write in /run. */
const INSTALLATION_LOCK = "/run/portcullis-install.lock";
/** The folder of WireGuard's sockets: only root has access, and the installed service may write there. */
const LOCK_FOLDER = "/var/run/wireguard";

/**
 * Makes this process the only gateway of its network namespace (two would fight over one table) and of its state
 * directory until it ends; the kernel releases its locks however it ends. Throws `GatewayError("unable")` if another
 * gateway has one of them, before anything is changed.
 */
export async function claimGateway(
  { stateDir }: Pick<Settings, "stateDir">,
  log: Pick<Log, "warn">,
): Promise<void> {
  const namespace = statSync("/proc/self/ns/net").ino;
  const serves = "another portcullis already serves";
  await claim(`${serves} this network; stop it first`, () => openLockFile(namespace), log);
  await claim(`${serves} ${stateDir}; stop it first, or give --state-dir`, () => openFolder(stateDir), log);
}

/**
 * The same for this machine's installation: two at once would mix their files, and could leave forwarding on at boot
 * without a kill switch.
 */
export function claimInstallation(log: Pick<Log, "warn">, path = INSTALLATION_LOCK): Promise<void> {
  const why = "another portcullis is being installed or uninstalled; run this command again when it is done";
  return claim(why, () => openSync(path, "a", 0o600), log);
}

/** The lock file of a network namespace, whatever its name. */
export function lockFileOf(namespace: number): string {
  return join(LOCK_FOLDER, `portcullis-${namespace}.lock`);
}

function openLockFile(namespace: number): number {
  mkdirSync(LOCK_FOLDER, { recursive: true, mode: 0o700 });
  return openSync(lockFileOf(namespace), "a", 0o600);
}

/** Locks the folder itself, which works on a full or read-only disk and leaves no file behind. */
function openFolder(path: string): number {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return openSync(path, "r");
}

/** The kill switch is more important: if a lock is not possible, the gateway starts without it. */
async function claim(why: string, open: () => number, log: Pick<Log, "warn">): Promise<void> {
  const error = await lock(open).catch((cause: unknown) => messageOf(cause));
  if (error === HELD) throw new CommandError("unable", why);
  if (error !== 0) log.warn(`a second portcullis would not be detected: flock failed (${error})`);
}

/** The kernel's error, or 0. The lock belongs to the open file, which no child process inherits. */
async function lock(open: () => number): Promise<number> {
  const file = open();
  for (const begun = performance.now(); ; await Bun.sleep(RETRY_AFTER_MS)) {
    const error = flock(file);
    if (error !== HELD || performance.now() - begun >= ENDS_WITHIN_MS) return error;
  }
}

function flock(file: number): number {
  const c = libc();
  // Found before the call: between a call and its error there must be no other.
  const errno = c.__errno_location();
  if (c.flock(file, LOCK_EXCLUSIVE_NONBLOCK) === 0) return 0;
  return errno === null ? -1 : read.i32(errno, 0);
}
