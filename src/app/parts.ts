import { ClientBackups } from "../backup/clients.ts";
import { liveBackup } from "../backup/live.ts";
import type { AlertArgs } from "../base/alert-rows.ts";
import { LANGUAGE } from "../base/language.ts";
import { reloadAll } from "../base/part.ts";
import type { Settings } from "../base/settings.ts";
import { DEVICE_LISTS } from "../devices/record.ts";
import { FORWARDS } from "../forwards/saved.ts";
import { LINE } from "../network/fair-queues.ts";
import { ADDED_TARGETS } from "../notifications/notifications.ts";
import { MANAGED_PROVIDER } from "../providers/registrations.ts";
import { HOMES } from "../remote/home-record.ts";
import { REMOTE_DECISION, REMOTE_PEERS, REMOTE_PRIVATE_KEY } from "../remote/saved.ts";
import { TIME_ZONE } from "../schedules/zone.ts";
import { CURRENT_PROVIDER } from "../servers/catalogue.ts";
import { FAVOURITES } from "../servers/favourites.ts";
import type { Host } from "../system/host.ts";
import { LinuxHost } from "../system/linux.ts";
import { assertMachine } from "../system/machine.ts";
import { CONNECTION } from "../tunnel/connection.ts";
import { KEY_WISHES } from "../tunnel/key-wishes.ts";
import { LAST } from "../tunnel/last.ts";
import { QUALITY } from "../tunnel/quality-settings.ts";
import { AUTOCONNECT, FAILOVER } from "../tunnel/switches.ts";
import { accountPartsOn } from "./account-parts.ts";
import { type InterfaceParts, interfacePartsOn } from "./interface-parts.ts";
import { killSwitchPartsOn, setAsideOdd } from "./kill-switch-parts.ts";
import { namePartsOn } from "./name-parts.ts";
import { portPartsOn } from "./port-parts.ts";
import { type Base, type ServerParts, serverPartsOn } from "./server-parts.ts";
import { stagesOf } from "./stages.ts";
import { tunnelPartsOn } from "./tunnel-parts.ts";

/** The parts of a gateway, wired together; nothing has touched the kernel yet. */
export type Parts = Awaited<ReturnType<typeof partsOn>>;

export async function partsOf(settings: Settings): Promise<Parts> {
  assertMachine();
  return partsOn(new LinuxHost(), settings);
}

/** The same on a given machine. Each knows those before it; those tell it what it must know by the bus. */
export async function partsOn(
  host: Host,
  settings: Settings,
  killSwitchParts = killSwitchPartsOn(host, settings),
) {
  const { store, alerts } = killSwitchParts;
  setAsideOdd(store, KEPT, host.now(), alerts.raise);
  const base = { ...killSwitchParts, host, settings };
  const servers = { ...base, ...(await serverPartsOn(base)) };
  const tunnels = { ...servers, ...tunnelPartsOn(servers) };
  const accounts = { ...tunnels, ...accountPartsOn(tunnels) };
  const names = { ...accounts, ...namePartsOn(accounts) };
  const ports = { ...names, ...portPartsOn(names) };
  const all = { ...ports, ...interfacePartsOn(ports) };
  const stages = stagesOf(all);
  const live = liveBackup({ ...all, reload: () => reloadAll([...stages.first, ...stages.second]) });
  return {
    ...all,
    stages,
    /** For the operator's commands. */
    liveBackup: live,
    /** For clients of the HTTP interface. */
    backups: new ClientBackups({ live, alarm: alerts.raise }),
    damages: damagesIn(all),
  };
}

/** What was found damaged, for alerts once there are listeners. */
function damagesIn({ tokens, store, registrations }: ServerParts & InterfaceParts & Base): Damage[] {
  const damages: Damage[] = [];
  if (tokens.isDamaged) damages.push({ what: "tokens" });
  if (store.alert !== null) damages.push({ what: "other", reason: store.alert });
  if (registrations.shown()?.registration === "damaged") damages.push({ what: "account" });
  return damages;
}

type Damage = AlertArgs<"state_damaged">;

/** What people have decided, besides what the kill switch has read before. An account and tokens have alerts of their own. */
const KEPT = [
  ...[...DEVICE_LISTS, FORWARDS, FAVOURITES, REMOTE_DECISION, REMOTE_PEERS, HOMES, REMOTE_PRIVATE_KEY],
  ...[
    CURRENT_PROVIDER,
    MANAGED_PROVIDER,
    FAILOVER,
    AUTOCONNECT,
    LANGUAGE,
    TIME_ZONE,
    QUALITY,
    LINE,
    KEY_WISHES,
  ],
  ...[CONNECTION, LAST, ADDED_TARGETS],
];
