import { GatewayError } from "../errors.ts";
import { listTable } from "../firewall/table.ts";
import { askOperator } from "../operator.ts";
import { graphOf } from "../serve.ts";
import type { Updated } from "../servers/updates.ts";
import type { Settings } from "../settings.ts";
import { sendUnguarded } from "../tunnel/messenger.ts";
import type { Said } from "./asking.ts";

/** Fetches the managed provider's list: by the running service, or directly where no kill switch stands yet. */
export async function updateServers(settings: Settings, force: boolean): Promise<Said> {
  process.umask(0o077);
  const live = await askOperator(settings.stateDir, "servers/update", { force });
  const updated = live?.answer ?? (await updateAlone(settings, force));
  return { json: { success: true, ...updated }, text: textOf(updated) };
}

async function updateAlone(settings: Settings, force: boolean): Promise<Updated> {
  const { host, updates } = await graphOf(settings);
  if ((await listTable(host)) !== null) {
    throw new GatewayError(
      "unable",
      "the kill switch stands and no service runs that could let this request pass; start it: systemctl start portcullis",
    );
  }
  return updates.update(sendUnguarded(host), { force });
}

function textOf({ changed, servers, skipped }: Updated): string {
  const left = skipped === 0 ? "" : ` ${skipped} entries of the list cannot be used and are left out.`;
  return `The list of managed servers ${changed ? "is new" : "has not changed"}: ${servers} servers.${left}\n`;
}
