/** A file of a release that can be installed. */
export interface Archive {
  name: string;
  version: string;
  kind: "package" | "archive";
  /** The target in the name: Debian's name of the architecture, or the build's. */
  target: string;
}

const NUMBER = "(?:0|[1-9][0-9]{0,5})";
const VERSION = `${NUMBER}\\.${NUMBER}\\.${NUMBER}`;
const PACKAGE = new RegExp(`^portcullis_(${VERSION})_(arm64|amd64)\\.deb$`);
const ARCHIVE = new RegExp(`^portcullis-(${VERSION})-linux-(arm64|x64)\\.tar\\.xz$`);

/** The archive of this name; null if it is another file. */
export function archiveOf(name: string): Archive | null {
  for (const [kind, pattern] of [["package", PACKAGE] as const, ["archive", ARCHIVE] as const]) {
    const [, version, target] = pattern.exec(name) ?? [];
    if (version !== undefined && target !== undefined) return { name, version, kind, target };
  }
  return null;
}

/** The program that runs on this machine. */
export interface Running {
  version: string;
  /** Whether Debian's package was installed; otherwise an archive was. */
  kind: Archive["kind"];
  /** The architecture as Node names it. */
  architecture: string;
}

/** The target that runs on this machine. */
export function targetFor({ kind, architecture }: Running): string {
  return kind === "package" && architecture === "x64" ? "amd64" : architecture;
}
