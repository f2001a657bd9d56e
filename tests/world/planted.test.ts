import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { long } from "../fast.ts";
import { newDirectory } from "../tunnel/directory.ts";

const { test } = long(
  "Each planted fault starts the whole gateway's source again, which takes half a minute.",
);

const PROJECT = join(import.meta.dir, "../..");
/** A change of the gateway moves the days that find a fault. */
const DAYS = 100;
/** The suite plays more of them without a fault. */
const CONTROL_DAYS = 10;
/** The name of the test that plays the days begins with it. */
const CLAIM = "whatever comes between two effects";
const TIMEOUT_MS = 600_000;
setDefaultTimeout(TIMEOUT_MS);

interface Planted {
  fault: string;
  file: string;
  /** The words in whose place it is planted. */
  right: string;
  wrong: string;
  /** The seed and the first of its days that found it, so that it is looked for there first. */
  found: string;
}

/** Faults that the gateway has had, or could have. */
const FAULTS: readonly Planted[] = [
  {
    fault: "what opens is in the kernel before it is saved",
    file: "src/base/decision.ts",
    right:
      "    this.save(before, after);\n    await this.put(before, after, false).catch((error: unknown) => this.refused(before, after, true, error));",
    wrong:
      "    await this.put(before, after, false).catch((error: unknown) => this.refused(before, after, false, error));\n    this.save(before, after);",
    found: "1:2",
  },
  {
    fault: "what closes and could not be saved is never saved",
    file: "src/base/decision.ts",
    right: "    this.isUnsaved = true;\n    return new Unsaved",
    wrong: "    return new Unsaved",
    found: "1:44",
  },
  {
    fault: "the database keeps what the kernel has refused",
    file: "src/base/decision.ts",
    right: "() => (isSaved ? this.takeOut(before, after) : null)",
    wrong: "() => null",
    found: "4:4",
  },
  {
    fault: "an exit that opens counts as one that closes",
    file: "src/devices/record.ts",
    right: 'isPart ? "tightens" : "loosens";',
    wrong: 'isPart ? "tightens" : "tightens";',
    found: "1:15",
  },
  {
    fault: "changes do not wait for one another",
    file: "src/base/queue.ts",
    right: "const done = this.last.then(work);",
    wrong: "const done = Promise.resolve().then(work);",
    found: "1:136",
  },
  {
    fault: "the former session keeps the key of the one that takes its place",
    file: "src/tunnel/dialer.ts",
    right: "await this.deps.kernel.silence(twin).catch(() => {});",
    wrong: "void twin;",
    found: "1:25",
  },
  {
    fault: "a connect to another server shares the outcome of the one before it",
    file: "src/tunnel/requests.ts",
    right: "sameTargets(this.pending.wanted, wanted)",
    wrong: "wanted.length > 0",
    found: "1:12",
  },
  {
    fault: "a rule for destinations that opens something counts as one that closes",
    file: "src/destinations/closing.ts",
    right: 'return closes ? "tightens" : "loosens";',
    wrong: 'return closes ? "tightens" : "tightens";',
    found: "1:82",
  },
  {
    fault: "a kill switch that another program has removed is not made again",
    file: "src/killswitch/killswitch.ts",
    right: "return this.queue.add(() => this.restore(goneAt));",
    wrong: "void goneAt;\n    return Promise.resolve();",
    found: "1:6",
  },
];

let tree: string;
beforeAll(() => {
  tree = newDirectory();
  for (const path of ["src", "tests", "package.json", "tsconfig.json", "bunfig.toml"])
    cpSync(join(PROJECT, path), join(tree, path), { recursive: true });
  symlinkSync(join(PROJECT, "node_modules"), join(tree, "node_modules"));
});
afterAll(() => rmSync(tree, { recursive: true, force: true }));

test("without a planted fault, nothing is found", async () =>
  expect(await play("1:0", CONTROL_DAYS)).toContain(`(pass) ${CLAIM}`));

for (const { fault, file, right, wrong, found } of FAULTS) {
  test(`found: ${fault}`, async () => {
    const path = join(tree, file);
    const source = readFileSync(path, "utf8");
    expect(source.split(right)).toHaveLength(2);
    writeFileSync(path, source.replace(right, wrong));
    try {
      // A fault may also break the gateway before any claim is judged.
      expect(await play(found)).toContain(`(fail) ${CLAIM}`);
    } finally {
      writeFileSync(path, source);
    }
  });
}

/** The days from this one on. */
async function play(first: string, days = DAYS): Promise<string> {
  const playing = Bun.spawn([process.execPath, "test", "tests/world/world.test.ts", "-t", CLAIM], {
    cwd: tree,
    env: {
      ...process.env,
      PORTCULLIS_WORLD_SEED: first,
      PORTCULLIS_WORLD_SEEDS: `${days}`,
      PORTCULLIS_WORLD_SHRINK_MS: "0",
      PORTCULLIS_TEST_LONG: "without",
    },
    stdout: "ignore",
    stderr: "pipe",
  });
  return playing.stderr.text();
}
