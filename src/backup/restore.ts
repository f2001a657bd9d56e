import { unitedAddresses } from "../devices/fixed.ts";
import { GatewayError } from "../errors.ts";
import { unitedForwards } from "../forwards/saved.ts";
import { MAIN_SLOT, MOST_TUNNELS } from "../network/slot.ts";
import { VPN_PROVIDERS } from "../providers/list.ts";
import { ACCOUNT_SETTINGS } from "../providers/registrations.ts";
import { unitedSchedules } from "../schedules/schedule.ts";
import { unitedFavourites } from "../servers/favourites.ts";
import { MOST_SERVERS, MOST_STORED_BYTES, sizeOfAll } from "../servers/room.ts";
import { PROVIDERS, type Server } from "../servers/schema.ts";
import type { Store } from "../store/store.ts";
import { type Connection, type SavedTunnel, savedTunnelsIn, tunnelKey } from "../tunnel/saved-state.ts";
import { type Contents, SETTING_NAMES } from "./contents.ts";
import { devicesTaken, refuseDevices, refuseDirect } from "./devices.ts";

export interface Restored {
  servers: number;
  /** How many of them replaced one of the same name. */
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

/** Puts a backup into the store, completely or not at all; the store's other servers stay. */
export function restoreInto(
  store: Store,
  contents: Contents,
  { replace, killswitchOff, direct }: Permissions,
): Restored {
  const present = store.servers();
  const keys = new Set(present.map(keyOf));
  const taken = contents.servers.filter((server) => keys.has(keyOf(server)));
  const devices = contents.devices ?? [];
  const changed = [
    ...taken.map(titleOf),
    ...tunnelsTaken(store, contents),
    ...devicesTaken(store, devices),
    ...accountsTaken(store, contents),
  ];
  if (!replace) refuseTaken(changed);
  if (!direct) refuseDirect(store, contents.settings, devices);
  const tunnels = slotted(store, contents);
  refuseDevices(store, devices);
  const given = new Set(contents.servers.map(keyOf));
  refuseTooMany([...present.filter((server) => !given.has(keyOf(server))), ...contents.servers]);
  const settings = { ...contents.settings };
  if (!killswitchOff && settings.killswitch === "off") settings.killswitch = store.read("killswitch") ?? "on";
  if (settings.favourites !== undefined)
    settings.favourites = unitedFavourites(store.read("favourites"), settings.favourites);
  if (settings.fixed_addresses !== undefined)
    settings.fixed_addresses = unitedAddresses(store.read("fixed_addresses"), settings.fixed_addresses);
  if (settings.forwards !== undefined)
    settings.forwards = unitedForwards(store.read("forwards"), settings.forwards);
  if (settings.schedules !== undefined)
    settings.schedules = unitedSchedules(store.read("schedules"), settings.schedules);
  store.atomically(() => {
    for (const { provider, name } of taken) store.remove(provider, name);
    for (const server of contents.servers) store.insert(server);
    // Settings that the backup leaves out had their defaults. Only an account stays: a provider knows it.
    for (const name of SETTING_NAMES) if (isKnownTo(contents, name)) store.forget(name);
    for (const device of devices) store.saveDevice(device);
    for (const [key, value] of Object.entries(settings)) store.write(key, value);
    for (const [name, tunnel] of tunnels) store.write(tunnelKey(name), JSON.stringify(tunnel));
  });
  store.scrub();
  const killswitch = settings.killswitch === "off" ? "off" : "on";
  return { servers: contents.servers.length, replaced: taken.length, devices: devices.length, killswitch };
}

/**
 * Backups of versions without devices say nothing of the default exit. If a backup does not allow the exit direct, it
 * stays as it is here, where devices may have it. Favourites, addresses of devices, forwards and schedules are added
 * to those that are here.
 */
function isKnownTo({ devices }: Contents, setting: string): boolean {
  if (["direct", "favourites", "fixed_addresses", "forwards", "schedules"].includes(setting)) return false;
  return setting !== "default_exit" || devices !== undefined;
}

function refuseTaken(taken: readonly string[]): void {
  if (taken.length === 0) return;
  const names = taken.slice(0, MOST_NAMES);
  const rest = taken.length > MOST_NAMES ? ` and ${taken.length - MOST_NAMES} more` : "";
  throw new GatewayError(
    "unable",
    `already present: ${names.join(", ")}${rest}; nothing was changed; pass --replace to replace them`,
  );
}

function titleOf({ provider, name }: Server): string {
  return `${JSON.stringify(name)} (${provider})`;
}

/** Whether a backup contains the operator's account at a provider. */
export function holdsAccount({ settings }: Pick<Contents, "settings">): boolean {
  return ACCOUNT_SETTINGS.some((name) => settings[name] !== undefined);
}

/** Another registration, or another key of the same one, must not be lost without permission. */
function accountsTaken(store: Store, contents: Contents): string[] {
  return VPN_PROVIDERS.flatMap(({ setting, registrationIn }) => {
    const [here, there] = [store.read(setting), contents.settings[setting]];
    const registration = registrationIn(here ?? "");
    if (here === null || registration === null || there === undefined) return [];
    const isSame = Bun.deepEquals(JSON.parse(here), JSON.parse(there));
    return isSame ? [] : [`the account's registration ${JSON.stringify(registration.name)}`];
  });
}

/** Tunnels of the same name that lead elsewhere. */
function tunnelsTaken(store: Store, { tunnels = [] }: Contents): string[] {
  const present = savedTunnelsIn(store.settings());
  return tunnels
    .filter(({ name, connection }) => {
      const known = present.get(name)?.connection ?? null;
      return known !== null && !isSameWay(known, connection);
    })
    .map(({ name }) => `the tunnel "${name}"`);
}

function isSameWay(one: Connection, other: Connection | null): boolean {
  return one.provider === other?.provider && one.name === other.name && one.via === other.via;
}

/** The tunnels of a backup with the slots that they have here, or get. */
function slotted(store: Store, { tunnels = [] }: Contents): Map<string, SavedTunnel> {
  const all = savedTunnelsIn(store.settings());
  for (const { name, connection } of tunnels) {
    const taken = [MAIN_SLOT, ...[...all.values()].map(({ slot }) => slot)];
    const free = Array.from({ length: MOST_TUNNELS }, (_, slot) => slot).find(
      (slot) => !taken.includes(slot),
    );
    const slot = all.get(name)?.slot ?? free;
    if (slot === undefined)
      throw new GatewayError(
        "unable",
        `there would be more than ${MOST_TUNNELS} tunnels; nothing was changed`,
      );
    all.set(name, { slot, connection });
  }
  return all;
}

/** Enough names to recognize the backup. */
const MOST_NAMES = 5;

function refuseTooMany(servers: readonly Server[]): void {
  if (sizeOfAll(servers) > MOST_STORED_BYTES)
    throw new GatewayError(
      "unable",
      `the servers would take more than ${MOST_STORED_BYTES} bytes; nothing was changed`,
    );
  for (const provider of PROVIDERS) {
    if (servers.filter((server) => server.provider === provider).length > MOST_SERVERS)
      throw new GatewayError(
        "unable",
        `there would be more than ${MOST_SERVERS} ${provider} servers; nothing was changed`,
      );
  }
}

function keyOf({ provider, name }: Server): string {
  return `${provider} ${name}`;
}
