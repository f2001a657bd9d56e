import type { Job } from "./job.ts";

const ARM64 = "dist/portcullis-arm64";
const BUILD_AND_START = 'scripts/build --target arm64; exec "$@"';

/** Format, lint, types and unused code. */
export function sourceChecks(isFast: boolean): Job[] {
  const types = (cache: string, ...options: string[]) =>
    tool("tsc", "--noEmit", ...options, ...(isFast ? quickTypes(cache) : []));
  return [
    check("types (tsc)", ...types("portcullis")),
    check("format and lint (biome)", ...tool("biome", "check", "--error-on-warnings")),
    check("types of the dashboard (tsc)", ...types("dashboard", "-p", "src/dashboard")),
    check("unused code (knip)", ...tool("knip")),
  ];
}

/**
 * Checks again only what has changed since the last time; and with one checker, because several would each find out the
 * same types, and the tests beside them use the processors anyway.
 */
function quickTypes(cache: string): string[] {
  return [
    "--incremental",
    "--tsBuildInfoFile",
    `node_modules/.cache/${cache}.tsbuildinfo`,
    "--checkers",
    "1",
  ];
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
