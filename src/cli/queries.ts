import { CommandError } from "../base/errors.ts";
import type { Settings } from "../base/settings.ts";
import type { QueryLogShown } from "../dns/schema.ts";
import { askOperator } from "../operator/operator.ts";
import { QUERY_LOG_MINUTES } from "../shared/bounds.ts";
import type { Output } from "./api-command.ts";
import { asRoot } from "./root.ts";
import { list, printable } from "./text.ts";

/** Begins or ends the log of queries, or shows what is in it. */
export async function queries(settings: Settings, wanted?: "on" | "off"): Promise<Output> {
  asRoot(wanted === undefined ? "queries" : `queries ${wanted}`);
  const request = wanted === undefined ? "queries" : (`queries/${wanted}` as const);
  const live = await askOperator(settings.stateDir, request, null);
  if (live === null)
    throw new CommandError("unable", "the service, which logs the queries, is not running; start it first");
  return { json: live.answer, text: textOf(live.answer) };
}

function textOf({ until, queries: all, dropped }: QueryLogShown): string {
  if (until === null)
    return `No queries are logged, and none are kept.\nTo log them for ${QUERY_LOG_MINUTES} minutes: sudo portcullis queries on\n`;
  const rows = all.map(({ at, device, device_name, name, type, exit, answer }) => [
    at.slice(11, 19),
    printable(device_name || device || "unknown"),
    printable(name),
    type,
    exit ?? "",
    answer,
  ]);
  return [
    `Queries are logged in memory until ${until.slice(11, 16)} UTC, and then forgotten.\n`,
    ...(dropped === 0 ? [] : [`${dropped} before these had no room.\n`]),
    ...(rows.length === 0
      ? ["None has come yet.\n"]
      : [list(["Time", "Device", "Name", "Type", "Exit", "Answer"], rows)]),
  ].join("");
}
