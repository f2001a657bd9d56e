import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Files of tests that share a process: few, because most mutants do not survive the nearest. */
const BATCH = 12;
/** What is large and no mutant changes, and what no quick test needs. */
const LINKED = ["node_modules", ".tools"];
const LEFT_OUT = [".git", "dist"];

/** What hangs may also be a busy machine, so it is told from what a test has noticed. */
export type Outcome = "survived" | "killed" | "timed out";

/**
 * Runs tests in copies of the tree, in which one file has another text. A plugin that gives Bun the text would need no copy,
 * but with one Bun 1.4 does not run all macros of the other files.
 */
export class Trials implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "portcullis-mutants-"));
  /** The copies in which no tests run. */
  readonly #idle: string[] = [];
  #made = 0;

  /** Runs the tests with another text of the file, each batch within this time. The first to fail ends it. */
  async outcome(file: string, text: string, tests: readonly string[], maxMs: number): Promise<Outcome> {
    const tree = this.#idle.pop() ?? this.#copied();
    const path = join(tree, file);
    const right = readFileSync(path);
    writeFileSync(path, text);
    try {
      return await outcomeIn(tree, tests, maxMs);
    } finally {
      writeFileSync(path, right);
      this.#idle.push(tree);
    }
  }

  #copied(): string {
    const tree = join(this.#folder, `${this.#made++}`);
    mkdirSync(tree);
    for (const name of readdirSync(".")) {
      if (LINKED.includes(name)) symlinkSync(resolve(name), join(tree, name));
      else if (!LEFT_OUT.includes(name)) cpSync(name, join(tree, name), { recursive: true });
    }
    return tree;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

async function outcomeIn(tree: string, tests: readonly string[], maxMs: number): Promise<Outcome> {
  const argv = [process.execPath, "test", "--bail", "--timeout", String(maxMs)];
  for (let at = 0; at < tests.length; at += BATCH) {
    const child = Bun.spawn([...argv, ...tests.slice(at, at + BATCH)], {
      cwd: tree,
      env: { ...process.env, PORTCULLIS_TEST_FAST: "1" },
      stdio: ["ignore", "ignore", "ignore"],
      timeout: maxMs,
      killSignal: "SIGKILL",
    });
    if ((await child.exited) !== 0) return child.signalCode === "SIGKILL" ? "timed out" : "killed";
  }
  return "survived";
}
