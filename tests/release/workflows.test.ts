import { expect, test } from "bun:test";
import { accessSync, constants } from "node:fs";
import { Glob, YAML } from "bun";
import { TRANSPORTS } from "../rig/peers/relayed-servers.ts";

const FILES = [...new Glob(".github/workflows/*").scanSync({ dot: true })].sort();
const SETUP = [
  "apt-get update && apt-get install -y --no-install-recommends ca-certificates git nodejs npm",
  'git config --global --add safe.directory "*"',
];

interface Job {
  permissions?: Record<string, string>;
  strategy?: { matrix: Record<string, string[]> };
  steps: { run?: string; uses?: string }[];
}

async function jobsOf(file: string): Promise<Record<string, Job>> {
  return (YAML.parse(await Bun.file(file).text()) as { jobs: Record<string, Job> }).jobs;
}

async function steps() {
  const all = await Promise.all(FILES.map(jobsOf));
  return all.flatMap((jobs) => Object.values(jobs).flatMap((job) => job.steps));
}

test("the workflows have no logic of their own: after their setup they run scripts that exist", async () => {
  expect(FILES).toEqual(["nightly", "release", "tests"].map((name) => `.github/workflows/${name}.yml`));
  const lines = (await steps()).flatMap(({ run }) => run ?? []).filter((line) => !SETUP.includes(line));
  const scripts = [...new Set(lines.map((line) => line.split(" ")[0] ?? ""))];
  expect(scripts).toEqual([
    "scripts/test",
    "scripts/worlds",
    "scripts/prove",
    "scripts/bench",
    "scripts/leaks",
    "scripts/signed-tag",
    "scripts/release",
    "scripts/images",
    "scripts/publish",
    ".ci/run",
    "scripts/reproduce",
  ]);
  for (const script of scripts) accessSync(script, constants.X_OK);
});

test("each night the long tests run, many days of the whole gateway, the proof of other texts, and all leaks through plain WireGuard and through each transport", async () => {
  const { long, worlds, proof, leaks } = await jobsOf(".github/workflows/nightly.yml");
  expect(long?.steps.at(-1)?.run).toBe("scripts/test --long");
  expect(worlds?.steps.at(-1)?.run).toBe("scripts/worlds");
  expect(proof?.steps.at(-1)?.run).toMatch(/^scripts\/prove \$\{\{ matrix\.what \}\} 300$/);
  expect(proof?.strategy?.matrix.what).toEqual(["--random", "--mutants"]);
  expect(leaks?.steps.at(-1)?.run).toMatch(/^scripts\/leaks \$\{\{ matrix\.options \}\}$/);
  expect(leaks?.strategy?.matrix.options).toEqual(["", ...TRANSPORTS.map((name) => `--transport ${name}`)]);
});

test("the only actions are the checkout and the attestation, each pinned to a commit", async () => {
  const actions = new Set((await steps()).flatMap(({ uses }) => uses ?? []));
  expect([...actions].toSorted()).toEqual([
    expect.stringMatching(/^actions\/attest-build-provenance@[0-9a-f]{40}$/),
    expect.stringMatching(/^actions\/checkout@[0-9a-f]{40}$/),
  ]);
});

test("a workflow may read the repository, and a job that may change the release may not attest", async () => {
  for (const file of FILES) {
    const { permissions } = YAML.parse(await Bun.file(file).text()) as Job;
    expect(permissions).toEqual({ contents: "read" });
  }
  const { release, attest } = await jobsOf(".github/workflows/release.yml");
  expect(release?.permissions).toEqual({ contents: "write" });
  expect(attest?.permissions).toEqual({ contents: "read", "id-token": "write", attestations: "write" });
});
