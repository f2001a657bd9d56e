import { GatewayError } from "../base/errors.ts";
import { unitedAddresses } from "../devices/fixed.ts";
import { unitedForwards } from "../forwards/saved.ts";
import { MAIN_SLOT, MAX_TUNNELS } from "../network/slot.ts";
import { ACCOUNT_SETTINGS } from "../providers/registrations.ts";
import { unitedSchedules } from "../schedules/schedule.ts";
import { unitedFavourites } from "../servers/favourites.ts";
import { MAX_STORED_BYTES, sizeOfAll } from "../servers/room.ts";
import { PROVIDERS, type Server } from "../servers/schema.ts";
import { MAX_SERVERS } from "../shared/config-files.ts";
import { PROVIDER_WORDS } from "../shared/words.ts";
import { EXITS_LOST } from "../store/exits.ts";
import type { Store, StoredDevice } from "../store/store.ts";
import { type Connection, connectionIn, savedTunnelsIn, tunnelKey } from "../tunnel/saved-state.ts";
import { type Change, changesBetween, type Holdings, serverOf, titleOf } from "./changes.ts";
import { ADDRESS, type Contents } from "./contents.ts";
import { refuseDevices, refuseDirect } from "./devices.ts";

export interface Restored {
  servers: number;
  /** How many of them replaced another one of the same name. */
  replaced: number;
  devices: number;
  /** What the operator wants from now on. */
  killswitch: "on" | "off";
}

/** What a restore may only do if the operator says so: it cannot be undone, or lets traffic out. */
export interface Permissions {
  replace: boolean;
  /** Turn the kill switch off if the backup says so. */
  killswitchOff: boolean;
  /** Let devices leave outside the tunnel if the backup says so. */
  direct: boolean;
}

/** What a gateway has of what a backup can hold. */
export function holdingsOf(store: Store): Holdings {
  return { servers: store.servers(), settings: store.settings(), devices: store.devices() };
}

/** Everything that a restore would change. Throws if it would be refused for another reason than `replace` or `direct`. */
export function changesBy(here: Holdings, contents: Contents, may: Permissions): Change[] {
  return changesBetween(here, restoredFrom(here, contents, may));
}

/** Puts a backup into the store, completely or not at all. What the backup does not have stays. */
export function restoreInto(store: Store, contents: Contents, may: Permissions): Restored {
  const here = holdingsOf(store);
  if (!may.direct) refuseDirect(here, { settings: contents.settings, devices: contents.devices ?? [] });
  const then = restoredFrom(here, contents, may);
  const changes = changesBetween(here, then);
  if (!may.replace) refuseLosses(changes.filter(({ replaces }) => replaces));
  const changed = new Set(changes.filter(({ what }) => what === "server").map(({ name }) => name));
  const replaced = here.servers.filter((server) => changed.has(titleOf(server)));
  store.atomically(() => {
    for (const { provider, name } of replaced) store.remove(provider, name);
    for (const server of then.servers) if (changed.has(titleOf(server))) store.insert(server);
    for (const device of contents.devices ?? []) store.saveDevice(device);
    for (const [key, value] of Object.entries(then.settings))
      if (here.settings[key] !== value) store.write(key, value);
    if (contents.settings.default_exit !== undefined) store.forget(EXITS_LOST);
  });
  store.scrub();
  return {
    servers: contents.servers.length,
    replaced: replaced.length,
    devices: contents.devices?.length ?? 0,
    killswitch: then.settings.killswitch === "off" ? "off" : "on",
  };
}

/** What the gateway has after the restore. */
function restoredFrom(here: Holdings, contents: Contents, may: Permissions): Holdings {
  const then = {
    servers: beside(here.servers, contents.servers, titleOf),
    settings: settingsFrom(here, contents, may),
    devices: beside(here.devices, contents.devices ?? [], ({ id }: StoredDevice) => id),
  };
  refuseDevices(then.devices);
  refuseTooMany(then.servers);
  return then;
}

/** Both, where what is given replaces what is here under the same key. */
function beside<T>(here: readonly T[], given: readonly T[], keyOf: (each: T) => string): T[] {
  const keys = new Set(given.map(keyOf));
  return [...here.filter((each) => !keys.has(keyOf(each))), ...given];
}

/** Lists are put together; of two entries for the same, the backup's counts. */
const UNITED: Record<string, (one: string | null, other: string) => string> = {
  favourites: unitedFavourites,
  fixed_addresses: unitedAddresses,
  forwards: unitedForwards,
  schedules: unitedSchedules,
};

function settingsFrom({ settings }: Holdings, contents: Contents, may: Permissions): Record<string, string> {
  const given = Object.entries(contents.settings).map(([key, value]) => {
    const known = settings[key];
    // The last known address of a server is newer here.
    if (known !== undefined && ADDRESS.test(key)) return [key, known];
    if (key === "connection")
      return [key, JSON.stringify(latest(connectionIn(known ?? "null"), connectionIn(value)))];
    return [key, UNITED[key]?.(known ?? null, value) ?? value];
  });
  return {
    ...settings,
    ...Object.fromEntries(given),
    ...tunnelsFrom(settings, contents),
    killswitch: killSwitchFrom(settings, contents, may),
  };
}

/** Backups of older versions do not say that it was on. */
function killSwitchFrom(here: Holdings["settings"], { settings }: Contents, may: Permissions): string {
  if (settings.killswitch !== "off") return "on";
  return may.killswitchOff ? "off" : (here.killswitch ?? "on");
}

/** The tunnels of a backup with the slots that they have here, or get. */
function tunnelsFrom(settings: Holdings["settings"], { tunnels = [] }: Contents): Record<string, string> {
  const all = savedTunnelsIn(settings);
  for (const { name, connection } of tunnels) {
    const taken = [MAIN_SLOT, ...[...all.values()].map(({ slot }) => slot)];
    const free = Array.from({ length: MAX_TUNNELS }, (_, slot) => slot).find((slot) => !taken.includes(slot));
    const slot = all.get(name)?.slot ?? free;
    if (slot === undefined)
      throw new GatewayError(
        "unable",
        `there would be more than ${MAX_TUNNELS} tunnels; nothing was changed`,
      );
    all.set(name, { slot, connection: latest(all.get(name)?.connection ?? null, connection) });
  }
  return Object.fromEntries(tunnels.map(({ name }) => [tunnelKey(name), JSON.stringify(all.get(name))]));
}

/** What is known here of the same way is newer. */
function latest(here: Connection | null, given: Connection | null): Connection | null {
  return serverOf(here) === serverOf(given) ? here : given;
}

/** Enough names to recognize the backup; all of them are told before. */
const MAX_NAMES = 5;

function refuseLosses(losses: readonly Change[]): void {
  if (losses.length === 0) return;
  const names = losses.slice(0, MAX_NAMES).map(({ what, name }) => `the ${what}${name && ` ${name}`}`);
  const rest = losses.length > MAX_NAMES ? ` and ${losses.length - MAX_NAMES} more` : "";
  throw new GatewayError(
    "unable",
    `the restore would replace what is here: ${names.join(", ")}${rest}; nothing was changed; pass --replace to allow that`,
  );
}

/** Whether a backup contains the operator's account at a provider. */
export function holdsAccount({ settings }: Pick<Contents, "settings">): boolean {
  return ACCOUNT_SETTINGS.some((name) => settings[name] !== undefined);
}

function refuseTooMany(servers: readonly Server[]): void {
  if (sizeOfAll(servers) > MAX_STORED_BYTES)
    throw new GatewayError(
      "unable",
      `the servers would take more than ${MAX_STORED_BYTES} bytes; nothing was changed`,
    );
  for (const provider of PROVIDERS) {
    if (servers.filter((server) => server.provider === provider).length > MAX_SERVERS)
      throw new GatewayError(
        "unable",
        `there would be more than ${MAX_SERVERS} among ${PROVIDER_WORDS[provider].servers}; nothing was changed`,
      );
  }
}
