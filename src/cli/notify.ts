import { CommandError } from "../base/errors.ts";
import type { Settings } from "../base/settings.ts";
import type { TestResult } from "../notifications/schema.ts";
import { askOperator } from "../operator/operator.ts";
import type { Output } from "./api-command.ts";
import { EXIT } from "./exit.ts";
import { asRoot } from "./root.ts";
import { printable } from "./text.ts";

/** Makes the running service send a message to each target, and prints the results. */
export async function testNotifications(settings: Settings): Promise<Output> {
  asRoot("notify test");
  const live = await askOperator(settings.stateDir, "notify/test", null);
  if (live === null)
    throw new CommandError(
      "unable",
      "the service, which sends the notifications, is not running; start it first",
    );
  const { answer: results } = live;
  const isFine = results.length > 0 && results.every(({ sent }) => sent);
  return {
    json: { success: isFine, targets: results },
    text: textOf(results),
    code: isFine ? EXIT.ok : EXIT.failed,
  };
}

function textOf(results: readonly TestResult[]): string {
  if (results.length === 0)
    return "The service has no address to send notifications to; set --notify (PORTCULLIS_NOTIFY), and restart it.\n";
  return results
    .map(({ target, error }) => `${printable(target)}: ${error === null ? "sent" : printable(error)}\n`)
    .join("");
}
