import { LANGUAGE } from "../base/language.ts";
import type { BackedUp } from "../base/saved.ts";
import { DESTINATIONS } from "../destinations/saved.ts";
import { NETWORKS } from "../devices/network-record.ts";
import { DEFAULT_EXIT, DEVICE_LISTS, DIRECT } from "../devices/record.ts";
import { BLOCK_LISTS } from "../dns/backed-up.ts";
import { FORWARDS } from "../forwards/saved.ts";
import { KILL_SWITCH } from "../killswitch/operator-switch.ts";
import { LINE } from "../network/fair-queues.ts";
import { VPN_PROVIDERS } from "../providers/list.ts";
import type { VpnProvider } from "../providers/provider.ts";
import { MANAGED_PROVIDER } from "../providers/registrations.ts";
import { REMOTE_ACCESS, REMOTE_KEY } from "../remote/backed-up.ts";
import { HOMES } from "../remote/home-record.ts";
import { REMOTE_PEERS } from "../remote/saved.ts";
import { SCHEDULES } from "../schedules/schedule.ts";
import { TIME_ZONE } from "../schedules/zone.ts";
import { CURRENT_PROVIDER } from "../servers/catalogue.ts";
import { FAVOURITES } from "../servers/favourites.ts";
import { KEY_WISHES } from "../tunnel/key-wishes.ts";
import { QUALITY } from "../tunnel/quality-settings.ts";
import { AUTOCONNECT, FAILOVER } from "../tunnel/switches.ts";
import { ADDRESS, isAddressKey } from "./addresses.ts";
import { LAST_TARGETS, MAIN_CONNECTION } from "./tunnels.ts";

/** What has a value even if nobody has chosen one, as people are told of them. */
export const CHOICES: readonly BackedUp[] = [
  KILL_SWITCH,
  DIRECT,
  DEFAULT_EXIT,
  CURRENT_PROVIDER,
  MANAGED_PROVIDER,
  FAILOVER,
  AUTOCONNECT,
  LANGUAGE,
  TIME_ZONE,
  QUALITY,
  LINE,
  KEY_WISHES,
];

export const LISTS: readonly BackedUp[] = [
  DESTINATIONS,
  BLOCK_LISTS,
  FORWARDS,
  SCHEDULES,
  NETWORKS,
  ...DEVICE_LISTS,
  FAVOURITES,
  LAST_TARGETS,
  REMOTE_ACCESS,
  REMOTE_KEY,
  REMOTE_PEERS,
  HOMES,
];

/** The operator's accounts. */
export const ACCOUNTS: readonly BackedUp[] = VPN_PROVIDERS.map(accountWith);

/** A backup includes the defaults that nobody has changed, because a restore keeps what a backup leaves out. */
export const UNSET: Readonly<Record<string, string>> = Object.fromEntries(
  [CURRENT_PROVIDER, KILL_SWITCH, DEFAULT_EXIT, MAIN_CONNECTION].map(({ key, unset }) => [key, unset]),
);

const ALL = new Map([...CHOICES, MAIN_CONNECTION, ...LISTS, ...ACCOUNTS].map((each) => [each.key, each]));

/** What backups have under this key besides known addresses; null if they have nothing. */
export function backedUpAs(key: string): BackedUp | null {
  return ALL.get(key) ?? null;
}

/** Whether it is a setting that backups have. */
export function isSetting([key, text]: [key: string, text: string]): boolean {
  return (isAddressKey(key) ? ADDRESS : backedUpAs(key))?.isValid(text) === true;
}

/** Two registrations can have one name, so keys are compared, but not shown. */
function accountWith({ setting, label, registrationIn }: VpnProvider): BackedUp {
  return {
    key: setting,
    isValid: (text) => registrationIn(text) !== null,
    merge: (_, given) => given,
    changes: (here, then) => {
      const before = registrationIn(here ?? "")?.name ?? null;
      const after = registrationIn(then ?? "")?.name ?? null;
      if (after === null || (before !== null && Bun.deepEquals(JSON.parse(`${here}`), JSON.parse(`${then}`))))
        return [];
      const differs = before === after ? `${after}, another registration` : after;
      return [{ what: "account", name: label, before, after: differs, replaces: before !== null }];
    },
  };
}
