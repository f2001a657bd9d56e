import { version } from "../../package.json";
import { LANGUAGE } from "../base/language.ts";
import { versionFinding } from "../checks/machine.ts";
import { rangesIn } from "../dhcp/config.ts";
import { DHCP_FILES } from "../dhcp/files.ts";
import { zoneText } from "../schedules/zone.ts";
import type { LanguageCode } from "../shared/languages.ts";
import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import { isProgramReplaced } from "../system/resources.ts";
import { answers } from "./answers.ts";
import type { Domain } from "./domain.ts";
import { route } from "./route.ts";
import { ChangedSettings, type ShownSettings as Shown, ShownSettings } from "./settings-schema.ts";

const path = "/api/settings";
const shared = { tag: "Settings", path } as const;

/** Most settings are root's, in a file that the service cannot write: they are shown here, and changed by a command. */
export const settingsRoutes = [
  route({
    ...shared,
    method: "get",
    id: "getSettings",
    summary: "Read the settings of the gateway",
    description: "Without what is secret.",
    answers: answers(ShownSettings, "the settings, without what is secret"),
    together: "shared",
    run: shown,
  }),
  route({
    ...shared,
    method: "put",
    id: "changeSettings",
    summary: "Change settings of the gateway",
    description:
      "Failover, the connection after a restart, how quality is measured, the rates of the line, the language of notifications, and the time zone of schedules. What is not given stays, and no restart is needed.",
    body: ChangedSettings,
    example: { failover: true },
    answers: answers(ShownSettings, "the settings now; no restart is needed"),
    run: async (domain, { body: { failover, autoconnect, quality, line, language, time_zone } }) => {
      const { switches, schedules, fairQueues, store } = domain;
      // What may be refused comes first, so that nothing else is changed then.
      if (time_zone !== undefined) zoneText(time_zone);
      if (line !== undefined) await fairQueues.set(line);
      if (time_zone !== undefined) await schedules.setZone(time_zone);
      if (language !== undefined) LANGUAGE.write(store, language ?? LANGUAGE.unset);
      if (failover !== undefined) switches.set("failover", failover);
      if (autoconnect !== undefined) switches.set("autoconnect", autoconnect);
      if (quality !== undefined) changeQuality(domain, quality);
      return shown(domain);
    },
  }),
];

function changeQuality(
  { qualitySettings, tunnels }: Domain,
  change: NonNullable<ChangedSettings["quality"]>,
): void {
  const { on, every_seconds, slow_ms, lossy_percent } = { ...shownQuality(qualitySettings), ...change };
  qualitySettings.set({ on, everySeconds: every_seconds, slowMs: slow_ms, lossyPercent: lossy_percent });
  tunnels.qualityChanged();
}

function shownQuality({ choice }: Domain["qualitySettings"]): Shown["quality"] {
  const { on, everySeconds, slowMs, lossyPercent } = choice;
  return { on, every_seconds: everySeconds, slow_ms: slowMs, lossy_percent: lossyPercent };
}

async function shown({
  settings,
  switches,
  qualitySettings,
  fairQueues,
  schedules,
  store,
  mqtt,
  host,
}: Domain): Promise<Shown> {
  const { portMapping, dhcp } = settings;
  return {
    ...{
      version,
      upgrade: await upgradeLeft(host),
      command: setupCommand(),
      autoconnect: switches.autoconnect,
      failover: switches.failover,
      port_mapping: portMapping,
    },
    quality: shownQuality(qualitySettings),
    line: fairQueues.line,
    language: languageIn(store),
    time_zone: schedules.zone,
    dhcp: dhcp === null ? null : rangesIn((await host.read(DHCP_FILES.config)) ?? ""),
    mqtt: mqtt.shown(),
  };
}

/** A backup may come from a newer version, which knows more languages. */
function languageIn(store: Domain["store"]): LanguageCode {
  const code = LANGUAGE.read(store);
  return LANGUAGE.isValid(code) ? (code as LanguageCode) : "en";
}

async function upgradeLeft(host: Pick<Host, "read">): Promise<string | null> {
  const { result, found, advice } = await versionFinding(host, version, isProgramReplaced());
  return result === "ok" ? null : `${found}. ${advice}`;
}
