import { getPriority } from "node:os";

/** One program of the suite: a check, or a `bun test` of some files. */
export interface Job {
  readonly title: string;
  readonly argv: readonly string[];
  /** Whether its output ends with the counts of `bun test`. */
  readonly isTest: boolean;
  /** In addition to the suite's own environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether its output is shown as it comes. */
  readonly isShown?: boolean;
  /** Whether it sends so much that it needs most of two processors. */
  readonly isHeavy?: boolean;
  /** Whether it only takes what labs leave of the processors, all the time. */
  readonly isBackground?: boolean;
  /** A program of a Debian package. Where packages may be missing, the job is left out without it. */
  readonly needs?: string;
  /** After so long it is ended, and has failed; without it, it may take as long as it does. */
  readonly maxMs?: number;
}

export interface Result {
  readonly job: Job;
  readonly output: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** How long it ran. */
  readonly seconds: number;
}

const running = new Set<Bun.Subprocess>();

/** Runs it in a process group of its own, so that `endAll` also ends what it has started; the nicer, the less it takes. */
export async function run(job: Job, niceness = 0): Promise<Result> {
  if (process.env.PORTCULLIS_TEST_MISSING && job.needs !== undefined && Bun.which(job.needs) === null)
    return { job, output: "", passed: 0, failed: 0, skipped: 1, seconds: 0 };
  const began = performance.now();
  const script = niceness > 0 ? `exec nice -n ${niceness} "$@" 2>&1` : 'exec "$@" 2>&1';
  const child = Bun.spawn(["sh", "-c", script, "sh", ...job.argv], {
    env: { ...process.env, ...job.environment },
    stdin: "ignore",
    stdout: "pipe",
    detached: true,
  });
  running.add(child);
  const told = outputOf(child.stdout, job.isShown === true);
  const limit = job.maxMs === undefined ? null : setTimeout(() => end(child, "SIGKILL"), job.maxMs);
  const code = await child.exited;
  if (limit !== null) clearTimeout(limit);
  // What it has left behind may hold the pipe open for ever.
  await Promise.race([told.ended, Bun.sleep(LEFT_BEHIND_MS)]);
  end(child, "SIGKILL");
  running.delete(child);
  const output = told.text();
  const seconds = (performance.now() - began) / 1_000;
  return { job, output, seconds, ...(job.isTest ? countsIn(output, code) : checked(code)) };
}

/** What still writes so long after a job's end is not waited for. */
const LEFT_BEHIND_MS = 2_000;

function outputOf(stream: ReadableStream<Uint8Array>, isShown: boolean) {
  let output = "";
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      const text = decoder.decode(bytes, { stream: true });
      output += text;
      if (isShown) process.stdout.write(text);
    }
  };
  return { ended: read(), text: () => output };
}

/** Ends all that runs. */
export function endAll(): void {
  for (const child of running) end(child, "SIGTERM");
}

/** Nothing that runs is nicer than the suite any more: on a machine that others keep busy it would take no end. */
export function hasten(): void {
  for (const { pid } of running) Bun.spawnSync(["renice", "-n", `${getPriority()}`, "-g", `${pid}`]);
}

/** With all that it has started and that has not left its process group. */
function end({ pid }: Bun.Subprocess, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}

function checked(code: number) {
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
}

/** The counts at the end of a `bun test`. One that ends without them, or with an error and no failure, has failed. */
export function countsIn(output: string, code: number): Pick<Result, "passed" | "failed" | "skipped"> {
  const count = (what: string) => {
    const rows = output.matchAll(new RegExp(`^ *(\\d+) ${what}$`, "gm"));
    return [...rows].reduce((sum, [, digits]) => sum + Number(digits), 0);
  };
  const [passed, failed, skipped] = [count("pass"), count("fail"), count("skip")] as const;
  const isCounted = /^ *\d+ pass$/m.test(output);
  return { passed, failed: failed === 0 && (code !== 0 || !isCounted) ? 1 : failed, skipped };
}
