import { expect, test } from "bun:test";
import { accessSync, constants } from "node:fs";
import { Glob, YAML } from "bun";

const FILES = [...new Glob(".github/workflows/*").scanSync({ dot: true })].sort();
const SETUP = [
  "apt-get update && apt-get install -y --no-install-recommends ca-certificates git nodejs npm",
  'git config --global --add safe.directory "*"',
];

interface Workflow {
  jobs: Record<string, { steps: { run?: string; uses?: string }[] }>;
}

async function steps() {
  const workflows = await Promise.all(
    FILES.map(async (file) => YAML.parse(await Bun.file(file).text()) as Workflow),
  );
  return workflows.flatMap(({ jobs }) => Object.values(jobs).flatMap((job) => job.steps));
}

test("the workflows have no logic of their own: after their setup they run scripts that exist", async () => {
  expect(FILES).toEqual([".github/workflows/release.yml", ".github/workflows/tests.yml"]);
  const lines = (await steps()).flatMap(({ run }) => run ?? []);
  const scripts = [...new Set(lines)].filter((line) => !SETUP.includes(line));
  expect(scripts).toEqual([
    "scripts/signed-tag",
    "scripts/release",
    "scripts/publish",
    ".ci/run",
    "scripts/reproduce",
  ]);
  for (const script of scripts) accessSync(script, constants.X_OK);
});

test("the only action is the checkout, pinned to a commit", async () => {
  const actions = new Set((await steps()).flatMap(({ uses }) => uses ?? []));
  expect([...actions]).toEqual([expect.stringMatching(/^actions\/checkout@[0-9a-f]{40}$/)]);
});
