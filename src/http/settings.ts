import { version } from "../../package.json";
import { versionFinding } from "../checks/machine.ts";
import { rangesIn } from "../dhcp/config.ts";
import { DHCP_FILES } from "../dhcp/files.ts";
import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import { isProgramReplaced } from "../system/resources.ts";
import { timeZone } from "../system/time-zone.ts";
import { answers } from "./answers.ts";
import { route } from "./route.ts";
import { ShownSettings } from "./settings-schema.ts";

/** Settings are root's, in a file that the service cannot write: they are shown here, and changed by a command. */
export const settingsRoute = route({
  method: "get",
  path: "/api/settings",
  summary: "Read the settings that root has chosen",
  tag: "Settings",
  answers: answers(ShownSettings, "the settings, without what is secret"),
  together: "shared",
  run: async ({ settings: { autoconnect, failover, portMapping, dhcp }, mqtt, host }) => ({
    ...{
      version,
      upgrade: await upgradeLeft(host),
      command: setupCommand(),
      autoconnect,
      failover,
      port_mapping: portMapping,
    },
    time_zone: timeZone(),
    dhcp: dhcp === null ? null : rangesIn((await host.read(DHCP_FILES.config)) ?? ""),
    mqtt: mqtt.shown(),
  }),
});

async function upgradeLeft(host: Pick<Host, "read">): Promise<string | null> {
  const { result, found, advice } = await versionFinding(host, version, isProgramReplaced());
  return result === "ok" ? null : `${found}. ${advice}`;
}
