import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { courseOf } from "./meter.ts";
import { Soak } from "./soak.ts";
import { progressOf, textOf } from "./text.ts";

const PROGRESS_MS = 30_000;
/** A shell's for a program that the keyboard's interrupt has ended. */
const INTERRUPTED = 130;
const USAGE = "usage: scripts/soak [--hours H | --minutes M] [--seed N] [--json]";

const { values } = parseArgs({
  options: {
    hours: { type: "string" },
    minutes: { type: "string" },
    seed: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const minutes = values.minutes === undefined ? 60 * Number(values.hours ?? 2) : Number(values.minutes);
const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error(USAGE);
  process.exit(2);
}
const tell = (line: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

tell(`seed ${seed}, ${minutes} minutes`);
const soak = await Soak.open(seed, minutes * 60_000);
const progress = setInterval(() => tell(progressOf(soak.report, minutes)), PROGRESS_MS);
const interrupted = Promise.withResolvers<"interrupted">();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => interrupted.resolve("interrupted"));
const fault = await Promise.race([soak.play(), interrupted.promise]);
clearInterval(progress);
const report = { seed, ...soak.report, fault };
if (fault !== null && fault !== "interrupted")
  tell(`the story and the service's log: ${keep([...soak.story, soak.log()].join("\n"))}`);
await soak.close();
const courses = (["rssMib", "descriptors"] as const).map((of) => [of, courseOf(report.samples, of)]);
const { samples, ...rest } = report;
console.log(
  values.json
    ? JSON.stringify({ ...rest, ...Object.fromEntries(courses), samples: samples.length }, null, 2)
    : textOf(report),
);
process.exit(fault === null ? 0 : fault === "interrupted" ? INTERRUPTED : 1);

function keep(text: string): string {
  const path = join(tmpdir(), `portcullis-soak-${seed}.log`);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}
