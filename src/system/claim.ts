import { mkdirSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { GatewayError, messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Settings } from "../settings.ts";

/** A service takes some milliseconds to stop; an operator may start the next one before that. */
const ENDS_WITHIN_SECONDS = 1.5;
/** The exit code that `flock` uses if another process has the lock (`EX_TEMPFAIL` of sysexits.h). */
const HELD = 75;
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
  { stateDir, netns }: Pick<Settings, "stateDir" | "netns">,
  log: Pick<Log, "warn">,
): Promise<void> {
  const namespace = statSync(netns === null ? "/proc/self/ns/net" : `/run/netns/${netns}`).ino;
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

/** The lock file of a network namespace, whatever its name and wherever the service itself runs. */
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
  const code = await lock(open).catch((error: unknown) => messageOf(error));
  if (code === HELD) throw new GatewayError("unable", why);
  if (code !== 0) log.warn(`a second portcullis would not be detected: flock failed (${code})`);
}

/** The lock belongs to the open file, which `flock` shares with this process; no other child inherits it. */
async function lock(open: () => number): Promise<number> {
  const argv = ["flock", "-w", `${ENDS_WITHIN_SECONDS}`, "-E", `${HELD}`, "3"];
  return Bun.spawn(argv, { stdio: ["ignore", "ignore", "ignore", open()] }).exited;
}
