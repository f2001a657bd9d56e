import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import manifest from "../../../package.json";
import { run, type Workshop } from "../../update/made.ts";
import { sourcesTrusting } from "../../update/signed-program.ts";
import { ARCHITECTURES } from "./image.ts";
import type { Variant } from "./variant.ts";
import { BROKEN, NEWER, OLDER } from "./way.ts";

/** Beside the program's sources and scripts, what scripts/build and scripts/package read. */
const BUILT_FROM = ["bun.lock", "debian", "docs", "README.md", "CHANGELOG.md", "LICENSE"];

/** What a machine updates from and to. */
export interface Release {
  /** The package of a program that trusts the workshop's key. */
  older: string;
  /**
   * The folder of a newer release, and in it `forged`, the same signed by a key that nothing trusts, and `broken`, one that
   * is newer still and does not work.
   */
  folder: string;
}

/** Builds a program in two versions, and makes their packages. */
export function makeRelease(workshop: Workshop, arch: Variant["arch"]): Release {
  const sources = sourcesTrusting(workshop, BUILT_FROM);
  const older = packageOf(sources, OLDER, arch);
  const newer = packageOf(sources, NEWER, arch);
  const made = {
    version: NEWER,
    before: (folder: string) => copyFileSync(newer, join(folder, basename(newer))),
  };
  const folder = workshop.release(made);
  const forged = workshop.release({ ...made, key: workshop.makeKey("other") });
  renameSync(forged, join(folder, "forged"));
  const broken = workshop.release({
    version: BROKEN,
    before: (into) => breakPackage(workshop, newer, join(into, basename(newer).replace(NEWER, BROKEN))),
  });
  renameSync(broken, join(folder, "broken"));
  return { older, folder };
}

/** It can be installed and set up, but its service only waits. */
const BROKEN_PROGRAM = `#!/bin/sh
case $1 in
--version) echo "portcullis ${BROKEN}" ;;
setup) echo ${BROKEN} >/etc/portcullis/setup-version && systemctl restart --no-block portcullis ;;
serve) exec sleep infinity ;;
esac
`;

function breakPackage({ folder }: Workshop, from: string, to: string): void {
  const tree = join(folder, "broken");
  run(["dpkg-deb", "--raw-extract", from, tree]);
  writeFileSync(join(tree, "usr/bin/portcullis"), BROKEN_PROGRAM, { mode: 0o755 });
  const control = join(tree, "DEBIAN/control");
  writeFileSync(control, readFileSync(control, "utf8").replace(/^Version: .*$/m, `Version: ${BROKEN}`));
  run(["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", tree, to]);
}

function packageOf(sources: string, version: string, arch: Variant["arch"]): string {
  const { build } = ARCHITECTURES[arch];
  writeFileSync(join(sources, "package.json"), JSON.stringify({ ...manifest, version }, null, 2));
  run(["scripts/build", "--target", build], sources);
  // Quicker to make than xz; the machine's dpkg knows it as well. The copy has no commit, whose time it would take.
  const settings = ["DPKG_DEB_COMPRESSOR_TYPE=gzip", `SOURCE_DATE_EPOCH=${Math.floor(Date.now() / 1000)}`];
  run(["env", ...settings, "scripts/package", arch, `dist/portcullis-${build}`, "dist"], sources);
  return join(sources, "dist", `portcullis_${version}_${arch}.deb`);
}
