import type { Settings } from "../base/settings.ts";
import { askOperator } from "../operator/operator.ts";
import type { Updated } from "../servers/schema.ts";
import { sendUnguarded } from "../tunnel/https-client.ts";
import type { Output } from "./api-command.ts";
import { offlineGraph } from "./offline.ts";
import { asRoot } from "./root.ts";

/** Fetches the managed provider's list: through the running service, or directly if there is no kill switch yet. */
export async function updateServers(settings: Settings, force: boolean): Promise<Output> {
  asRoot("servers update");
  const live = await askOperator(settings.stateDir, "servers/update", { force });
  const updated = live?.answer ?? (await updateOffline(settings, force));
  return { json: { success: true, ...updated }, text: textOf(updated) };
}

async function updateOffline(settings: Settings, force: boolean): Promise<Updated> {
  const { host, updates } = await offlineGraph(settings);
  return updates.update(sendUnguarded(host), { force });
}

function textOf({ changed, servers, skipped }: Updated): string {
  const left = skipped === 0 ? "" : ` ${skipped} unusable entries of the list were skipped.`;
  return `The list of the VPN account's servers ${changed ? "is new" : "has not changed"}: ${servers} servers.${left}\n`;
}
