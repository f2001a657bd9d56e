import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Files of tests that share a process: few, because most mutants do not survive the nearest. */
const BATCH = 12;
const PRELOAD = join(import.meta.dir, "preload.ts");

/** What hangs may also be a busy machine, so it is told from what a test has noticed. */
export type Outcome = "survived" | "killed" | "timed out";

/** Texts that take the place of files while tests run. */
export class Trials implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "portcullis-mutants-"));
  #made = 0;

  /** Runs the tests with another text of the file, each batch within this time. The first to fail ends it. */
  async outcome(file: string, text: string, tests: readonly string[], maxMs: number): Promise<Outcome> {
    const mutant = join(this.#folder, `${this.#made++}.ts`);
    writeFileSync(mutant, text);
    const argv = [process.execPath, "test", "--bail", "--timeout", String(maxMs), "--preload", PRELOAD];
    for (let at = 0; at < tests.length; at += BATCH) {
      const child = Bun.spawn([...argv, ...tests.slice(at, at + BATCH)], {
        env: { ...process.env, PORTCULLIS_TEST_FAST: "1", MUTANT_FILE: resolve(file), MUTANT_TEXT: mutant },
        stdio: ["ignore", "ignore", "ignore"],
        timeout: maxMs,
        killSignal: "SIGKILL",
      });
      if ((await child.exited) !== 0) return child.signalCode === "SIGKILL" ? "timed out" : "killed";
    }
    return "survived";
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}
