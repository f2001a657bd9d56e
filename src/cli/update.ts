import { existsSync } from "node:fs";
import { version } from "../../package.json";
import { CommandError, messageOf } from "../base/errors.ts";
import { assertSomebody } from "../install/answers.ts";
import { listTable } from "../killswitch/table.ts";
import { askOperator } from "../operator/operator.ts";
import type { PinnedRequest } from "../system/host.ts";
import { OWN_LAYOUT, PACKAGED, setupCommand } from "../system/layout.ts";
import { pinUnguarded } from "../tunnel/https-client.ts";
import type { Running } from "../update/archive.ts";
import { type Completion, completionOf } from "../update/completion.ts";
import signers from "../update/signers.txt" with { type: "text" };
import { type Pin, sourceAt } from "../update/source.ts";
import { install, lookAt, type Offer } from "../update/update.ts";
import { host, type Output } from "./api-command.ts";
import { EXIT } from "./exit.ts";
import { asRoot } from "./root.ts";
import { printable } from "./text.ts";

export interface UpdateFlags {
  check?: true;
  yes?: true;
  json?: true;
  stateDir: string;
}

/** Between two questions whether the new version's service is there. */
const ASK_AGAIN_MS = 500;
/** A service that takes longer for an answer does not work. */
const ANSWER_WITHIN_MS = 10_000;

/** Verifies a release, shows what is new in it, and upgrades this machine. */
export async function updateProgram(
  place: string,
  { check, yes, json, stateDir }: UpdateFlags,
): Promise<Output> {
  asRoot("update");
  if (json && !check) throw new CommandError("bad_request", "--json: only with --check");
  if (!check) assertInstalled();
  if (!check && !yes) assertSomebody();
  const running = runningHere();
  const source = sourceAt(place, pinFor(stateDir));
  const spawn = (argv: readonly string[]) => {
    // Everyone may read the files of packages.
    process.umask(0o022);
    return host.spawn(argv);
  };
  const isServing = (withinMs: number) => answersRoot(stateDir, withinMs);
  const { program } = OWN_LAYOUT;
  const deps = { host, spawn, source, running, program, signers, isServing };
  const offer = await interruptible((signal) => lookAt({ ...deps, signal }));
  const left = offer.isNewer ? null : await completionOf(host, running.kind, version);
  if (check || !(offer.isNewer || left?.isBroken)) return saidOf(offer, left);
  process.stdout.write(textOf(offer));
  if (!yes && !confirm(`Install ${offer.version}?`)) throw new CommandError("unable", "nothing was changed");
  const progress = progressTo(process.stderr, offer.archive.name);
  await interruptible((signal) => install({ ...deps, signal }, offer, progress));
  const done = offer.isNewer ? `was updated from ${version} to` : "was installed again:";
  return { json: null, text: `Portcullis ${done} ${offer.version}.\n` };
}

/** It may also accept a question and never answer it. */
export async function answersRoot(
  stateDir: string,
  withinMs: number,
  answerWithinMs = ANSWER_WITHIN_MS,
): Promise<boolean> {
  const late = performance.now() + withinMs;
  for (;;) {
    const asked = askOperator(stateDir, "direct", null, AbortSignal.timeout(answerWithinMs));
    if ((await asked.catch(() => null)) !== null) return true;
    if (performance.now() >= late) return false;
    await Bun.sleep(ASK_AGAIN_MS);
  }
}

/**
 * If a service runs, it decides: through the tunnel, or directly if the kill switch is off and no tunnel is up. If none
 * runs, directly, unless a kill switch is in place. A download that began in a tunnel never continues outside it.
 */
function pinFor(stateDir: string): Pin {
  let isInside = false;
  return async (request): Promise<PinnedRequest> => {
    try {
      const live = await askOperator(stateDir, "update/pin", request);
      if (isInside && !live?.answer?.ownAddresses)
        throw new CommandError(
          "unable",
          live?.answer
            ? `${new URL(request.url).host} is on the LAN, and a redirect from the internet to there is not followed`
            : "the tunnel has ended; connect again",
        );
      if (live?.answer) {
        isInside = live.answer.ownAddresses !== undefined;
        return live.answer;
      }
      if (live === null && (await listTable(host)) !== null)
        throw new CommandError(
          "unable",
          "the kill switch is in place, and the service is not running; start it: systemctl start portcullis",
        );
      return await pinUnguarded(host, request);
    } catch (cause) {
      const other = "or copy the release's files to this machine, and name their folder";
      throw new CommandError("unable", `${messageOf(cause)}; ${other}`, { cause });
    }
  };
}

/** The work ends if a person or the system ends this program, so that it leaves nothing behind. */
async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupted = new AbortController();
  const end = () => interrupted.abort(new CommandError("interrupted", "interrupted; nothing was changed"));
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, end);
  try {
    return await work(interrupted.signal);
  } finally {
    for (const signal of signals) process.off(signal, end);
  }
}

function runningHere(): Running {
  const kind = OWN_LAYOUT === PACKAGED ? "package" : "archive";
  return { version, kind, architecture: process.arch };
}

function assertInstalled(): void {
  if (existsSync(OWN_LAYOUT.program)) return;
  throw new CommandError(
    "unable",
    `Portcullis is not installed on this machine; to install it: ${setupCommand()}`,
  );
}

/** `left` are the steps that complete an earlier upgrade. */
function saidOf(offer: Offer, left: Completion | null): Output {
  const { version: offered, isNewer, notes, archive } = offer;
  return {
    json: { success: true, current: version, offered, newer: isNewer, file: archive.name, notes },
    text: isNewer
      ? textOf(offer)
      : `Portcullis ${version} is up to date${left === null ? "" : `, but its upgrade is not complete; type: ${left.next}`}.\n`,
    code: isNewer ? EXIT.newer : EXIT.ok,
  };
}

function textOf({ version: offered, notes, archive }: Offer): string {
  const news = notes === "" ? "" : `\n${notes.split("\n").map(printable).join("\n")}\n\n`;
  return `Portcullis ${offered} (${archive.name}) is signed by its release key. This machine has ${version}.\n${news}`;
}

const REDRAW_AFTER_MS = 200;
const MEGABYTE = 1_000_000;

/** Shows the progress of a download on a terminal, and nothing elsewhere. */
function progressTo(out: NodeJS.WriteStream, name: string): (bytes: number, total: number | null) => void {
  if (!out.isTTY) return () => {};
  let drawn = Number.NEGATIVE_INFINITY;
  return (bytes, total) => {
    const isLast = bytes === total;
    if (!isLast && performance.now() - drawn < REDRAW_AFTER_MS) return;
    drawn = performance.now();
    const of = total === null ? "" : ` of ${(total / MEGABYTE).toFixed(1)}`;
    out.write(`\r${name}: ${(bytes / MEGABYTE).toFixed(1)}${of} MB${isLast ? "\n" : ""}`);
  };
}
