import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const NOTES =
  "# Changelog\n\n## [9.2.0] - 2027-02-01\n\n- Newest.\n\n## [9.1.0] - 2027-01-01\n\n- Newer.\n\n## [9.0.0] - 2026-12-01\n\n- Old.\n";

/** A key to sign with, and the line that permits it. */
export interface Key {
  file: string;
  signers: string;
}

/** What a test's release is made of, unless it is the usual. */
export interface Made {
  version?: string;
  key?: Key;
  namespace?: string;
  /** The script that is the program; `%s` is the version. */
  program?: string;
  /** Changes what is in the folder before the list is made. */
  before?: (folder: string) => void;
  /** Changes the list before it is signed. */
  list?: (text: string) => string;
}

/** A program that says its version, and writes down how it is called. */
const PROGRAM = `#!/bin/sh
[ "$1" != --version ] || exec echo "portcullis %s"
`;

/** Keys and releases in a folder that `close` removes. */
export class Workshop {
  readonly folder = mkdtempSync(join(tmpdir(), "portcullis-update-test-"));
  readonly key = this.makeKey("key");
  private count = 0;

  makeKey(name: string): Key {
    const file = join(this.folder, name);
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file]);
    const [type, blob] = readFileSync(`${file}.pub`, "utf8").split(" ");
    return { file, signers: `# A comment\nportcullis namespaces="portcullis-release" ${type} ${blob}\n` };
  }

  /** The folder of a signed release, as scripts/release makes it. */
  release(made: Made = {}): string {
    const { version = "9.2.0", key = this.key, namespace = "portcullis-release" } = made;
    this.count += 1;
    const folder = join(this.folder, `release-${this.count}`);
    mkdirSync(folder);
    for (const target of ["arm64", "x64"]) this.archive(folder, version, target, made.program);
    for (const target of ["arm64", "amd64"]) this.package(folder, version, target);
    writeFileSync(join(folder, "notes.md"), NOTES);
    made.before?.(folder);
    const list = join(folder, "SHA256SUMS");
    const sums = run(["sha256sum", "--", ...readdirSync(folder).toSorted()], folder);
    writeFileSync(list, made.list?.(sums) ?? sums);
    run(["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key.file, list]);
    return folder;
  }

  /** Makes an archive of what is in a folder of its name. */
  archive(into: string, version: string, target: string, program = PROGRAM): void {
    const name = `portcullis-${version}-linux-${target}`;
    const folder = join(this.folder, name);
    mkdirSync(folder);
    writeFileSync(join(folder, "portcullis"), program.replaceAll("%s", version));
    chmodSync(join(folder, "portcullis"), 0o755);
    writeFileSync(join(folder, "LICENSES"), "MIT\n");
    run(["tar", "-C", this.folder, "-I", "xz -0", "-cf", join(into, `${name}.tar.xz`), name]);
    rmSync(folder, { recursive: true });
  }

  private package(into: string, version: string, target: string): void {
    const folder = join(this.folder, "package");
    mkdirSync(join(folder, "DEBIAN"), { recursive: true });
    const fields = { Package: "portcullis", Version: version, Architecture: target };
    const others = { Maintainer: "Nobody <nobody@example.test>", Description: "of a test" };
    const lines = Object.entries({ ...fields, ...others }).map(([name, value]) => `${name}: ${value}\n`);
    writeFileSync(join(folder, "DEBIAN/control"), lines.join(""));
    run([
      "dpkg-deb",
      "--build",
      "--root-owner-group",
      folder,
      join(into, `portcullis_${version}_${target}.deb`),
    ]);
    rmSync(folder, { recursive: true });
  }

  close(): void {
    rmSync(this.folder, { recursive: true });
  }
}

export function run(argv: string[], cwd = process.cwd()): string {
  const { success, stdout, stderr } = Bun.spawnSync(argv, { cwd });
  if (!success) throw new Error(`${argv.join(" ")}: ${stdout}${stderr}`);
  return stdout.toString();
}
