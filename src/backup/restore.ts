import type { BackedUp, Change } from "../base/saved.ts";
import { MAIN } from "../killswitch/policy.ts";
import { REMOTE_ACCESS } from "../remote/backed-up.ts";
import { HOMES } from "../remote/home-record.ts";
import { REMOTE_DECISION, REMOTE_PEERS } from "../remote/saved.ts";
import { EXIT_KEYS } from "../store/exits.ts";
import type { Store, StoredDevice } from "../store/store.ts";
import { savedTunnelsIn } from "../tunnel/connection.ts";
import { addressChanges, addressesBeside } from "./addresses.ts";
import type { Contents } from "./contents.ts";
import { deviceChanges, refuseDevices, refuseDirect } from "./devices.ts";
import { beside, type Holdings, holdingsOf } from "./holdings.ts";
import { refused } from "./refusals.ts";
import { refuseServers, serverChanges, titleOf } from "./servers.ts";
import { ACCOUNTS, backedUpAs, CHOICES, LISTS } from "./settings.ts";
import { MAIN_CONNECTION, tunnelChanges, tunnelSettings } from "./tunnels.ts";

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

/** What a restore makes of what is here. */
export interface Plan {
  here: Holdings;
  then: Holdings;
  changes: Change[];
}

/** Throws if the restore would be refused for another reason than `replace` or `direct`. */
export function planOf(here: Holdings, contents: Contents, may: Permissions): Plan {
  const then = restoredFrom(here, contents, may);
  return { here, then, changes: changesBetween(here, then) };
}

/** Everything that a restore would change. Throws as `planOf` does. */
export function changesBy(here: Holdings, contents: Contents, may: Permissions): Change[] {
  return planOf(here, contents, may).changes;
}

/** Throws if a backup decides what only root may decide: what leaves outside the tunnels, and that strangers reach a port. */
export function refuseRoots({ here, then }: Plan): void {
  refuseDirect(here, then);
  const { key } = REMOTE_ACCESS;
  const [before, after] = [here.settings[key] ?? null, then.settings[key] ?? null];
  if (REMOTE_DECISION.parse(after)?.on === true && REMOTE_ACCESS.changes(before, after).length > 0)
    throw refused("restore_opens_remote");
}

/** Puts a backup into the store, completely or not at all. What the backup does not have stays. `plan` is of what the store has now. */
export function restoreInto(
  store: Store,
  contents: Contents,
  may: Permissions,
  { here, then, changes }: Plan = planOf(holdingsOf(store), contents, may),
): Restored {
  if (!may.direct) refuseDirect(here, then);
  if (!may.replace) refuseLosses(changes.filter(({ replaces }) => replaces));
  const changed = new Set(changes.filter(({ what }) => what === "server").map(({ name }) => name));
  const replaced = here.servers.filter((server) => changed.has(titleOf(server)));
  store.atomically(() => {
    for (const { provider, name } of replaced) store.remove(provider, name);
    for (const server of then.servers) if (changed.has(titleOf(server))) store.insert(server);
    for (const device of changedIn(here.devices, contents.devices ?? [])) store.saveDevice(device);
    for (const [key, value] of Object.entries(then.settings))
      if (here.settings[key] !== value) store.write(key, value);
    if (contents.settings[EXIT_KEYS.defaultExit] !== undefined) store.forget(EXIT_KEYS.lost);
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
    devices: beside(here.devices, contents.devices ?? [], ({ id }) => id),
  };
  refuseDevices(then);
  refuseSharedKeys(then);
  refuseServers(then.servers);
  return then;
}

/** WireGuard has one peer for each key: the home would have the addresses of the device, or it those of the home. */
function refuseSharedKeys({ settings }: Holdings): void {
  const peers = REMOTE_PEERS.parse(settings[REMOTE_PEERS.key] ?? null);
  for (const { name, public_key } of HOMES.parse(settings[HOMES.key] ?? null)) {
    const peer = peers.find((each) => each.public_key === public_key);
    if (peer !== undefined) throw refused("restore_shares_key", { home: name, device: peer.id });
  }
}

function settingsFrom({ settings }: Holdings, contents: Contents, may: Permissions): Record<string, string> {
  const tunnels = tunnelSettings(settings, contents.tunnels ?? []);
  const names = new Set([MAIN, ...savedTunnelsIn({ ...settings, ...tunnels }).keys()]);
  const given = Object.entries(contents.settings).flatMap(([key, text]) => {
    const kept = backedUpAs(key);
    return kept === null ? [] : [[key, mergedIn(kept, settings[key] ?? null, text, names)] as const];
  });
  return {
    ...settings,
    ...Object.fromEntries(given),
    ...addressesBeside(settings, contents.settings),
    ...tunnels,
    killswitch: killSwitchFrom(settings, contents, may),
  };
}

/** Only what the preview shows is written. */
function mergedIn(kept: BackedUp, here: string | null, given: string, tunnels: ReadonlySet<string>): string {
  const then = kept.merge(here, given, tunnels);
  return here !== null && kept.changes(here, then).length === 0 ? here : then;
}

/** Backups of older versions do not say that it was on. */
function killSwitchFrom(here: Holdings["settings"], { settings }: Contents, may: Permissions): string {
  if (settings.killswitch !== "off") return "on";
  return may.killswitchOff ? "off" : (here.killswitch ?? "on");
}

type Difference = (here: Holdings, then: Holdings) => Change[];

function changedIn(here: readonly StoredDevice[], given: readonly StoredDevice[]): StoredDevice[] {
  const known = new Map(here.map((each) => [each.id, each]));
  return given.filter((each) => !Bun.deepEquals(known.get(each.id), each));
}

/** Everything that can differ. What decides about traffic comes first. */
const DIFFERENCES: readonly Difference[] = [
  ...[...CHOICES, MAIN_CONNECTION].map(differenceIn),
  tunnelChanges,
  deviceChanges,
  ...[...LISTS, ...ACCOUNTS].map(differenceIn),
  serverChanges,
  addressChanges,
];

function differenceIn(setting: BackedUp): Difference {
  const { key } = setting;
  return (here, then) => {
    const [before, after] = [here.settings[key] ?? null, then.settings[key] ?? null];
    return before === after ? [] : setting.changes(before, after);
  };
}

function changesBetween(here: Holdings, then: Holdings): Change[] {
  return DIFFERENCES.flatMap((difference) => difference(here, then));
}

/** Enough names to recognize the backup; the preview has all of them. */
const MAX_NAMES = 5;

function refuseLosses(losses: readonly Change[]): void {
  if (losses.length === 0) return;
  const names = losses.slice(0, MAX_NAMES).map(({ what, name }) => `the ${what}${name && ` ${name}`}`);
  const rest = losses.length > MAX_NAMES ? ` and ${losses.length - MAX_NAMES} more` : "";
  throw refused("restore_replaces", { names: `${names.join(", ")}${rest}` });
}

/** Whether a backup contains the operator's account at a provider. */
export function holdsAccount({ settings }: Pick<Contents, "settings">): boolean {
  return ACCOUNTS.some(({ key }) => settings[key] !== undefined);
}
