import { afterAll, beforeAll, expect } from "bun:test";
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { long } from "../fast.ts";
import { newDirectory } from "../tunnel/directory.ts";

const { test } = long("Each planted fault is played for as many seeds as the suite plays without one.");

const PROJECT = join(import.meta.dir, "../..");
/** The fault is found in far fewer, or it is not found. */
const SEEDS = 300;
const TIMEOUT_MS = 600_000;

/** Faults that the gateway has had, or could have: what is planted, in which file, in place of which words. */
const FAULTS: readonly { fault: string; file: string; right: string; wrong: string }[] = [
  {
    fault: "what opens is in the kernel before it is saved",
    file: "src/base/decision.ts",
    right: "    this.save(before, after);\n    await this.put(before, after, false)",
    wrong:
      "    const put = this.put(before, after, false);\n    await nextTurn();\n    this.save(before, after);\n    await put",
  },
  {
    fault: "what closes and could not be saved is never saved",
    file: "src/base/decision.ts",
    right: "    this.isUnsaved = true;\n    return new Unsaved",
    wrong: "    return new Unsaved",
  },
  {
    fault: "the database keeps what the kernel has refused",
    file: "src/base/decision.ts",
    right: "if (isSaved && this.trySave(after, before) !== null) this.isUnsaved = true;",
    wrong: "",
  },
  {
    fault: "the kernel keeps what was refused",
    file: "src/base/decision.ts",
    right: "await part.apply(before).catch(() => {});",
    wrong: "void part;",
  },
  {
    fault: "an exit that opens counts as one that closes",
    file: "src/devices/record.ts",
    right: 'isPart ? "tightens" : "loosens";',
    wrong: 'isPart ? "tightens" : "tightens";',
  },
  {
    fault: "changes do not wait for one another",
    file: "src/base/queue.ts",
    right: "const done = this.last.then(work);",
    wrong: "const done = Promise.resolve().then(work);",
  },
  {
    fault: "the former session keeps the key of the one that takes its place",
    file: "src/tunnel/dialer.ts",
    right: "await this.deps.kernel.silence(twin).catch(() => {});",
    wrong: "void twin;",
  },
  {
    fault: "a tunnel is removed while devices have it",
    file: "src/tunnel/tunnels.ts",
    right: "await this.deps.unlessUsed(name, () => this.end(tunnel));",
    wrong: "await this.end(tunnel);",
  },
  {
    fault: "a connect to another server shares the outcome of the one before it",
    file: "src/tunnel/requests.ts",
    right: "sameTargets(this.pending.wanted, wanted)",
    wrong: "wanted.length > 0",
  },
  {
    fault: "a disconnect does not interrupt a connect",
    file: "src/tunnel/requests.ts",
    right: 'this.current.abort(new GatewayError("interrupted", reason));',
    wrong: "void reason;",
  },
  {
    fault: "a kill switch that another program has removed is not made again",
    file: "src/killswitch/killswitch.ts",
    right: "return this.queue.add(() => this.restore(isTableGone));",
    wrong: "void isTableGone;\n    return Promise.resolve();",
  },
];

let tree: string;
beforeAll(() => {
  tree = newDirectory();
  for (const path of ["src", "tests", "lab", "package.json", "tsconfig.json", "bunfig.toml"])
    cpSync(join(PROJECT, path), join(tree, path), { recursive: true });
  symlinkSync(join(PROJECT, "node_modules"), join(tree, "node_modules"));
});
afterAll(() => rmSync(tree, { recursive: true, force: true }));

test(
  "without a planted fault, nothing is found",
  async () => expect(await play()).not.toContain("PORTCULLIS_WORLD_SEED="),
  TIMEOUT_MS,
);

for (const { fault, file, right, wrong } of FAULTS) {
  test(
    `found: ${fault}`,
    async () => {
      const path = join(tree, file);
      const source = readFileSync(path, "utf8");
      expect(source.split(right)).toHaveLength(2);
      writeFileSync(path, source.replace(right, wrong));
      try {
        expect(await play()).toContain("PORTCULLIS_WORLD_SEED=");
      } finally {
        writeFileSync(path, source);
      }
    },
    TIMEOUT_MS,
  );
}

async function play(): Promise<string> {
  const playing = Bun.spawn([process.execPath, "test", "tests/world/world.test.ts"], {
    cwd: tree,
    env: { ...process.env, PORTCULLIS_WORLD_SEEDS: `${SEEDS}`, PORTCULLIS_TEST_LONG: "without" },
    stdout: "ignore",
    stderr: "pipe",
  });
  return playing.stderr.text();
}
