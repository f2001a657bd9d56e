import { killSwitchPartsOn } from "../app/kill-switch-parts.ts";
import { messageOf } from "../base/errors.ts";
import { localUrl, type Settings } from "../base/settings.ts";
import { Checkup } from "../checks/checkup.ts";
import { type Check, Checks } from "../checks/schema.ts";
import { askOperator } from "../operator/operator.ts";
import { LinuxHost } from "../system/linux.ts";
import { Api } from "./api.ts";
import { host, type Output } from "./api-command.ts";
import { givenToken } from "./bearer.ts";
import { EXIT, Unreachable } from "./exit.ts";
import { printable, styled } from "./text.ts";

/** Checks the gateway at `url`, or the one on this machine if `url` is null, even if its service does not run. */
export async function check(
  settings: Settings,
  url: string | null,
  tokenFile: string | undefined,
): Promise<Output> {
  const api = new Api(url ?? localUrl(settings), host, await givenToken(tokenFile));
  const checks = await api.get("/api/checks", Checks).catch((error: unknown) => {
    if (url !== null || !(error instanceof Unreachable)) throw error;
    return checksHere(settings, error);
  });
  return { json: checks, text: textOf(checks.checks, columns()), code: codeOf(checks.checks) };
}

/** One row for each check, and the advice under those that are not ok. Lines longer than `columns` are wrapped. */
export function textOf(checks: readonly Check[], columns = Number.POSITIVE_INFINITY): string {
  const width = Math.max(...checks.map(({ title }) => title.length));
  const indent = " ".repeat(MARK_COLUMNS + width + 2);
  const room = Math.max(LEAST_COLUMNS, columns - indent.length);
  const fitted = (text: string) =>
    Number.isFinite(room) ? Bun.wrapAnsi(text, room).replaceAll("\n", `\n${indent}`) : text;
  const titles = new Map(checks.map(({ id, title }) => [id, title]));
  const lines = checks.flatMap(({ title, result, found, advice, because_of }) => {
    const more = [
      ...(advice === null ? [] : [`What to do: ${advice}`]),
      ...(because_of === undefined ? [] : [`This follows from: ${titles.get(because_of) ?? because_of}`]),
    ];
    return [
      `${MARKS[result]()}  ${title.padEnd(width)}  ${fitted(printable(found))}`,
      ...more.map((line) => `${indent}${fitted(printable(line))}`),
    ];
  });
  return `${lines.join("\n")}\n${summaryOf(checks)}\n`;
}

/** A fault is a failure; a warning is not. */
export function codeOf(checks: readonly Check[]): number {
  return checks.some(({ result }) => result === "fault") ? EXIT.failed : EXIT.ok;
}

/** The columns of a terminal; a pipe or a file gets whole lines. */
function columns(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns : undefined;
}

/** A mark and the space after it. */
const MARK_COLUMNS = 9;
/** On a narrower terminal, the terminal itself breaks the lines. */
const LEAST_COLUMNS = 30;

/** The words differ, so that nothing depends on colour. */
const MARKS = {
  ok: () => styled("green", "ok     "),
  warning: () => styled("yellow", "warning"),
  fault: () => styled(["red", "bold"], "FAULT  "),
} as const satisfies Record<Check["result"], () => string>;

function summaryOf(checks: readonly Check[]): string {
  const count = (wanted: Check["result"]) => checks.filter(({ result }) => result === wanted).length;
  const faults = count("fault");
  const warnings = count("warning");
  if (faults + warnings === 0) return "Everything is in order.";
  return `${faults} ${faults === 1 ? "fault" : "faults"}, ${warnings} ${warnings === 1 ? "warning" : "warnings"}.`;
}

/** The facts that can be checked without the HTTP interface. */
async function checksHere(settings: Settings, unreachable: Unreachable): Promise<Checks> {
  if (process.getuid?.() !== 0)
    throw new Unreachable(
      `${messageOf(unreachable)}; for the checks that need no service: sudo portcullis check`,
    );
  const live = await askOperator(settings.stateDir, "report", null);
  return live?.answer.checks ?? offlineChecks(settings);
}

/** The facts that can be checked without a service. */
export function offlineChecks(settings: Settings): Promise<Checks> {
  process.umask(0o077);
  const machine = new LinuxHost();
  const service = {
    ...{ tunnels: null, tokens: null, forwards: null, https: null, remoteAccess: null },
    ...{ fairQueues: null, dns: null },
  };
  return new Checkup({
    ...killSwitchPartsOn(machine, settings),
    host: machine,
    settings,
    ...service,
  }).results();
}
