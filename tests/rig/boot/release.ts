import { copyFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import manifest from "../../../package.json";
import { run, type Workshop } from "../../update/made.ts";
import { sourcesTrusting } from "../../update/signed-program.ts";
import { ARCHITECTURES } from "./image.ts";
import type { Variant } from "./variant.ts";
import { NEWER, OLDER } from "./way.ts";

/** Beside the program's sources and scripts, what scripts/build and scripts/package read. */
const BUILT_FROM = ["bun.lock", "debian", "docs", "README.md", "CHANGELOG.md", "LICENSE"];

/** What a machine updates from and to. */
export interface Release {
  /** The package of a program that trusts the workshop's key. */
  older: string;
  /** The folder of a newer release, and in it `forged`, the same signed by a key that nothing trusts. */
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
  return { older, folder };
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
