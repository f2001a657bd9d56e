import { CommandError, type GatewayError } from "../base/errors.ts";
import { type Archive, archiveOf, type Running, targetFor } from "./archive.ts";

/** The content of a signed list of checksums. */
export interface Release {
  version: string;
  archives: readonly Archive[];
  /** SHA-256 in hexadecimal, by file. */
  sums: ReadonlyMap<string, string>;
}

/**
 * In the format of `sha256sum`. A name is that of a plain file: no folder, and nothing that a program takes for an
 * option.
 */
const LINE = /^([0-9a-f]{64}) [ *]([A-Za-z0-9][A-Za-z0-9._~+-]{0,127})$/;
/** A release has eight files. */
const MAX_FILES = 100;

/** Reads SHA256SUMS. Throws `GatewayError("unable")` if that is not the list of exactly one version's files. */
export function releaseOf(text: string): Release {
  const sums = new Map<string, string>();
  const lines = text.replace(/\n$/, "").split("\n");
  if (lines.length > MAX_FILES) throw malformed(`it has more than ${MAX_FILES} lines`);
  for (const [index, line] of lines.entries()) {
    const [, sum = "", name = ""] = LINE.exec(line) ?? [];
    if (name === "") throw malformed(`line ${index + 1} is not a checksum and a plain file name`);
    if (sums.has(name)) throw malformed(`it has ${name} twice`);
    sums.set(name, sum);
  }
  const archives = [...sums.keys()].map(archiveOf).filter((archive) => archive !== null);
  const versions = [...new Set(archives.map(({ version }) => version))];
  const [version] = versions;
  if (version === undefined) throw malformed("it has no archive of Portcullis");
  if (versions.length > 1) throw malformed(`it has files of several versions: ${versions.join(", ")}`);
  return { version, archives, sums };
}

/**
 * The archive to install: `named`, or the one for the running program. Throws if the release does not have it, or if it
 * is not for this machine.
 */
export function chosenFrom(release: Release, running: Running, named: string | null): Archive {
  const target = targetFor(running);
  const fits = (archive: Archive) => archive.kind === running.kind && archive.target === target;
  if (named === null) {
    const found = release.archives.find(fits);
    if (found !== undefined) return found;
    throw new CommandError(
      "unable",
      `this release has no ${kindText(running.kind)} for ${target}, which this machine needs`,
    );
  }
  const archive = release.archives.find(({ name }) => name === named);
  if (archive === undefined)
    throw new CommandError("unable", `SHA256SUMS does not have ${named}: it is not of this release`);
  if (fits(archive)) return archive;
  throw new CommandError(
    "unable",
    archive.kind === running.kind
      ? `${named} is for ${archive.target}, but this machine needs ${target}`
      : `${named} is a ${kindText(archive.kind)}, but this Portcullis was installed from a ${kindText(running.kind)}; name the release's folder to get the right file`,
  );
}

function kindText(kind: Archive["kind"]): string {
  return kind === "package" ? ".deb package" : ".tar.xz archive";
}

function malformed(why: string): GatewayError {
  return new CommandError("unable", `SHA256SUMS is not the list of a release: ${why}`);
}
