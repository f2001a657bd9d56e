import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CommandError } from "../base/errors.ts";
import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import type { Child } from "../system/linux.ts";
import { digestOf, inPrivateFolder } from "../system/private-folder.ts";
import type { Archive, Running } from "./archive.ts";
import { completionOf } from "./completion.ts";
import { keepFormer } from "./former.ts";
import { newerNotes } from "./notes.ts";
import { chosenFrom, releaseOf } from "./release.ts";
import { assertRoom } from "./room.ts";
import { assertKey, verifySignature } from "./signature.ts";
import type { Source } from "./source.ts";
import { unpackedProgram } from "./unpacked.ts";

/** Enough for a hundred lines, or for several of the largest signatures that ssh-keygen makes. */
const MAX_LIST_BYTES = 64 * 2 ** 10;
const MAX_NOTES_BYTES = 2 ** 20;
/** Five times the size of an archive. */
const MAX_ARCHIVE_BYTES = 256 * 2 ** 20;
/** A Pi 4 takes three seconds, and systemd starts it several times. */
const SERVES_WITHIN_MS = 60_000;

export interface UpdateDeps {
  host: Pick<Host, "run" | "read">;
  /** Starts a program whose output goes to the terminal. */
  spawn: (argv: readonly string[]) => Pick<Child, "exited">;
  source: Source;
  running: Running;
  /** The path of the installed program. */
  program: string;
  /** The keys that may sign a release. */
  signers: string;
  /** Whether a service answers root within this time, which it does once the kill switch is in place. */
  isServing: (withinMs: number) => Promise<boolean>;
  signal: AbortSignal;
}

/** A verified release that is not older than the running program. */
export interface Offer {
  version: string;
  /** Whether it is newer than the running program. */
  isNewer: boolean;
  /** The changes since then. */
  notes: string;
  archive: Archive;
  /** The archive's SHA-256. */
  sum: string;
}

/**
 * Verifies a release and changes nothing. Throws `GatewayError` if it is not signed, is older, is not for this machine, or
 * if there is no room for it.
 */
export async function lookAt(deps: UpdateDeps): Promise<Offer> {
  const { host, source, running, signers, signal } = deps;
  assertKey(signers);
  return inPrivateFolder(async (folder) => {
    const [list, signature] = [join(folder, "SHA256SUMS"), join(folder, "SHA256SUMS.sig")];
    const limits = { mostBytes: MAX_LIST_BYTES, signal };
    await source.fetch("SHA256SUMS", list, limits);
    await source.fetch("SHA256SUMS.sig", signature, limits);
    const text = textIn(list);
    await verifySignature(host, { text, signature, signers }, folder);
    const release = releaseOf(text);
    const { version } = release;
    const archive = chosenFrom(release, running, source.archive);
    const order = Bun.semver.order(version, running.version);
    if (order < 0)
      throw new CommandError(
        "unable",
        `the release has version ${version}, and this machine has ${running.version}; an older version is not installed, because it may have known faults`,
      );
    if (order > 0) await assertRoom(host, running, deps.program);
    const notes = order === 0 ? "" : await notesOf(deps, release.sums, folder);
    const sum = release.sums.get(archive.name) ?? "";
    return { version, isNewer: order > 0, notes, archive, sum };
  });
}

/**
 * Downloads the offered release, verifies it and upgrades this machine with it. If the new version does not work, the former
 * one is installed again. Throws `GatewayError`. The download is always deleted.
 */
export async function install(
  deps: UpdateDeps,
  { version, isNewer, archive, sum }: Offer,
  onBytes: (bytes: number, total: number | null) => void,
): Promise<void> {
  const { host, spawn, source, running, program, isServing, signal } = deps;
  const { kind } = archive;
  await assertRoom(host, running, program);
  return inPrivateFolder(async (folder) => {
    const file = join(folder, archive.name);
    await source.fetch(archive.name, file, { mostBytes: MAX_ARCHIVE_BYTES, signal, onBytes });
    await assertSum(file, archive.name, sum);
    const command = await commandFor(host, archive, file, folder);
    // What is half installed is no way back.
    const isWhole = isNewer && (await completionOf(host, kind, running.version)) === null;
    const back = isWhole ? await keepFormer(host, kind, program, folder) : null;
    const mustServe = await isServing(0);
    signal.throwIfAborted();
    const faultOf = (wanted: string) => faultHere(deps, { kind, program, wanted, mustServe });
    const code = await spawn(command).exited;
    const fault = await faultOf(version);
    if (code === 0 && fault === null) return;
    const failed = code === 0 ? (fault?.text ?? "") : `failed (exit ${code})`;
    if (back !== null) {
      // apt-get may have refused before it changed anything.
      if ((await faultOf(running.version)) !== null) await spawn(back).exited;
      if ((await faultOf(running.version)) === null)
        throw new CommandError(
          "unable",
          `the upgrade ${failed}, and this machine is back at ${running.version}; messages are above`,
        );
    }
    // The installed program would call this version up to date.
    const { now, next } = (await faultOf(version)) ?? { now: version, next: setupCommand() };
    throw new CommandError(
      "unable",
      `the upgrade ${failed}: the installed version is ${now}; its messages are above; when their cause is gone, type: ${next}`,
    );
  });
}

interface Wanted {
  kind: Archive["kind"];
  program: string;
  /** The version. */
  wanted: string;
  /** Whether a service has to answer. */
  mustServe: boolean;
}

/** Why a version does not work on this machine, and what completes it; null if it does. */
async function faultHere({ host, isServing }: UpdateDeps, { kind, program, wanted, mustServe }: Wanted) {
  const now = await versionOf(host, program).catch(() => "unknown");
  const left = await completionOf(host, kind, wanted);
  const next = left?.next ?? (now === wanted ? setupCommand() : "the same command again");
  if (now !== wanted) return { text: "has no effect", now, next };
  if (left !== null) return { text: "is not complete", now, next };
  if (mustServe && !(await isServing(SERVES_WITHIN_MS)))
    return { text: "has ended in a service that does not answer", now, next };
  return null;
}

/** Checks once more that the file contains what its name says, and returns the command that installs it. */
async function commandFor(
  host: Pick<Host, "run">,
  { kind, name, version, target }: Archive,
  file: string,
  folder: string,
): Promise<string[]> {
  switch (kind) {
    case "package": {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-deb(1) fills it in.
      const format = "--showformat=${Package} ${Version} ${Architecture}";
      const found = (await host.run(["dpkg-deb", format, "--show", file])).trim();
      if (found !== `portcullis ${version} ${target}`)
        throw new CommandError("unable", `${name} contains another package than its name says: ${found}`);
      return [...APT_GET, file];
    }
    case "archive": {
      const program = await unpackedProgram(host, file, name, folder);
      const found = await versionOf(host, program);
      if (found !== version)
        throw new CommandError("unable", `${name} contains another version than its name says: ${found}`);
      return [program, "install", "--yes"];
    }
  }
}

/** The files of the settings stay as they are, and only root can read the package. */
const APT_GET = [
  ...["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes", "--no-install-recommends"],
  ...["--no-remove", "-o", "Dpkg::Options::=--force-confold", "-o", "APT::Sandbox::User=root"],
];

async function versionOf(host: Pick<Host, "run">, program: string): Promise<string> {
  return (await host.run([program, "--version"])).trim().replace(/^portcullis /, "");
}

async function notesOf(
  { source, running, signal }: UpdateDeps,
  sums: ReadonlyMap<string, string>,
  folder: string,
): Promise<string> {
  const sum = sums.get("notes.md");
  if (sum === undefined) return "";
  const file = join(folder, "notes.md");
  await source.fetch("notes.md", file, { mostBytes: MAX_NOTES_BYTES, signal });
  await assertSum(file, "notes.md", sum);
  return newerNotes(textIn(file), running.version);
}

async function assertSum(file: string, name: string, sum: string): Promise<void> {
  if ((await digestOf(file)) === sum) return;
  throw new CommandError(
    "unable",
    `${name} is not the file that SHA256SUMS names: it is incomplete or was altered; nothing was installed, download it again`,
  );
}

function textIn(file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
  } catch (cause) {
    throw new CommandError("unable", "a file of the release is not text", { cause });
  }
}
