import { GatewayError } from "../errors.ts";
import { ACCOUNT_SETTINGS, Registrations } from "../providers/registrations.ts";
import { MOST_SERVERS, MOST_STORED_BYTES, sizeOfAll } from "../servers/room.ts";
import { PROVIDERS, type Server } from "../servers/schema.ts";
import type { Store } from "../store/store.ts";
import { type Contents, SETTING_NAMES } from "./contents.ts";
import { devicesTaken, refuseDevices, restorable } from "./devices.ts";

export interface Restored {
  servers: number;
  /** How many of them replaced one of the same name. */
  replaced: number;
  devices: number;
  /** How many devices were direct in the backup, and are blocked because the operator does not allow it here. */
  blocked: number;
  /** What the operator wants from now on. */
  killswitch: "on" | "off";
}

/** What a restore may only do if the operator says so: it cannot be undone, or lets traffic out. */
export interface Permissions {
  replace: boolean;
  /** Turn the kill switch off if the backup says so. */
  killswitchOff: boolean;
}

/** Puts a backup into the store, completely or not at all; the store's other servers stay. */
export function restoreInto(
  store: Store,
  contents: Contents,
  { replace, killswitchOff }: Permissions,
): Restored {
  const present = store.servers();
  const keys = new Set(present.map(keyOf));
  const taken = contents.servers.filter((server) => keys.has(keyOf(server)));
  const devices = restorable(store, contents.devices ?? []);
  const changed = devicesTaken(store, devices).map(
    ({ id, name }) => `the device ${JSON.stringify(name ?? id)}`,
  );
  if (!replace) refuseTaken([...taken.map(titleOf), ...changed, ...accountTaken(store, contents)]);
  refuseDevices(store, devices);
  const given = new Set(contents.servers.map(keyOf));
  refuseTooMany([...present.filter((server) => !given.has(keyOf(server))), ...contents.servers]);
  const settings = { ...contents.settings };
  if (!killswitchOff && settings.killswitch === "off") settings.killswitch = store.read("killswitch") ?? "on";
  store.atomically(() => {
    for (const { provider, name } of taken) store.remove(provider, name);
    for (const server of contents.servers) store.insert(server);
    // Settings that the backup leaves out had their defaults. Only an account stays: a provider knows it.
    for (const name of SETTING_NAMES) if (isKnownTo(contents, name)) store.forget(name);
    for (const device of devices) store.saveDevice(device);
    // There is one account at a time, at whichever provider.
    if (holdsAccount(contents)) for (const name of ACCOUNT_SETTINGS) store.forget(name);
    for (const [key, value] of Object.entries(settings)) store.write(key, value);
  });
  store.scrub();
  const killswitch = settings.killswitch === "off" ? "off" : "on";
  const blocked = (contents.devices ?? []).filter(({ exit }, at) => exit !== devices[at]?.exit).length;
  return {
    servers: contents.servers.length,
    replaced: taken.length,
    devices: devices.length,
    blocked,
    killswitch,
  };
}

/** Backups of versions without devices say nothing of the default exit. */
function isKnownTo({ devices }: Contents, setting: string): boolean {
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
function accountTaken(store: Store, contents: Contents): string[] {
  const { provider, registration = "damaged" } = new Registrations(store).current() ?? {};
  if (provider === undefined || registration === "damaged" || !holdsAccount(contents)) return [];
  const [here, there] = [store.read(provider.setting), contents.settings[provider.setting]];
  if (Bun.deepEquals(JSON.parse(here ?? "null"), JSON.parse(there ?? "null"))) return [];
  return [`the account's registration ${JSON.stringify(registration.name)}`];
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
