import type { Job } from "./job.ts";

const ARM64 = "dist/portcullis-arm64";
const BUILD_AND_START = 'scripts/build --target arm64; exec "$@"';

/** What the quick checks know from the last time, so that they check again only what has changed since. */
const CACHE = "node_modules/.cache";

/** Format, lint, types and unused code. */
export function sourceChecks(isFast: boolean): Job[] {
  const types = (cache: string, ...options: string[]) =>
    tool("tsc", "--noEmit", ...ONE_CHECKER, ...options, ...(isFast ? known(cache) : []));
  const lint = tool("biome", "check", "--error-on-warnings");
  return [
    check("types (tsc)", ...types("portcullis")),
    check("format and lint (biome)", ...(isFast ? ofChanged(lint) : lint)),
    check("types of the dashboard (tsc)", ...types("dashboard", "-p", "src/dashboard")),
    check(
      "unused code (knip)",
      ...tool("knip", ...(isFast ? ["--cache", "--cache-location", `${CACHE}/knip`] : [])),
    ),
  ];
}

/** Several would each find out the same types, and the tests beside them use the processors. */
const ONE_CHECKER = ["--checkers", "1"];

function known(cache: string): string[] {
  return ["--incremental", "--tsBuildInfoFile", `${CACHE}/${cache}.tsbuildinfo`];
}

/**
 * Biome with the files that are younger than its last success; with all of them after another biome.json, or if packages
 * have changed. A change during a run is younger than its mark.
 */
function ofChanged(lint: readonly string[]): string[] {
  const script = `
mark=${CACHE}/linted
mkdir -p ${CACHE}
touch "$mark.next"
if [ ! -e "$mark" ] || [ biome.json -nt "$mark" ] || [ bun.lock -nt "$mark" ]; then
  "$@"
else
  changed=$(find src tests scripts ./*.json -type f -newer "$mark")
  # shellcheck disable=SC2086
  [ -z "$changed" ] || "$@" --no-errors-on-unmatched --files-ignore-unknown=true $changed
fi
mv "$mark.next" "$mark"`;
  return ["sh", "-ec", script, "sh", ...lint];
}

export const BUILD: Job = check("build for this machine", "scripts/build");

/** The executable for other processors, which are emulated. */
export function binaryChecks(): Job[] {
  const start = [ARM64, "--version"];
  if (process.arch === "arm64")
    return [check("the arm64 binary starts", "sh", "-ec", BUILD_AND_START, "sh", ...start)];
  const [old, arm] = ["qemu-x86_64", "qemu-aarch64"];
  return [
    {
      ...check(
        "the binary starts on a processor without AVX2",
        ...[old, "-cpu", "Nehalem", "dist/portcullis", "--version"],
      ),
      needs: old,
    },
    {
      ...check(
        "the arm64 binary starts under emulation",
        ...["sh", "-ec", BUILD_AND_START, "sh", arm, "-L", "/usr/aarch64-linux-gnu", ...start],
      ),
      needs: arm,
    },
  ];
}

/** With Bun, even if a tool asks for Node: Debian's Node may be too old for them. */
function tool(...words: string[]): string[] {
  return [process.execPath, "x", "--bun", "--no-install", ...words];
}

function check(title: string, ...argv: string[]): Job {
  return { title, argv, isTest: false };
}
