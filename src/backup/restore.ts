import { GatewayError } from "../errors.ts";
import { ACCOUNT_SETTINGS, Registrations } from "../providers/registrations.ts";
import { MOST_SERVERS, MOST_STORED_BYTES, sizeOfAll } from "../servers/room.ts";
import { PROVIDERS, type Server } from "../servers/schema.ts";
import type { Store } from "../store/store.ts";
import { type Contents, SETTING_NAMES } from "./contents.ts";

export interface Restored {
  servers: number;
  /** How many of them took the place of one of the same name. */
  replaced: number;
  /** Whether the operator wants the kill switch from now on. */
  killswitch: "on" | "off";
}

/** What a restore may do that cannot be undone or lets traffic out, where the operator says so. */
export interface Permissions {
  replace: boolean;
  /** Where the backup has the kill switch down. */
  killswitchOff: boolean;
}

/** Puts a backup into the store, all of it or nothing; other servers of the store stay. */
export function restoreInto(
  store: Store,
  contents: Contents,
  { replace, killswitchOff }: Permissions,
): Restored {
  const present = store.servers();
  const keys = new Set(present.map(keyOf));
  const taken = contents.servers.filter((server) => keys.has(keyOf(server)));
  if (!replace) refuseTaken([...taken.map(titleOf), ...accountTaken(store, contents)]);
  const given = new Set(contents.servers.map(keyOf));
  refuseTooMany([...present.filter((server) => !given.has(keyOf(server))), ...contents.servers]);
  const settings = { ...contents.settings };
  if (!killswitchOff && settings.killswitch === "off") settings.killswitch = store.read("killswitch") ?? "on";
  store.atomically(() => {
    for (const { provider, name } of taken) store.remove(provider, name);
    for (const server of contents.servers) store.insert(server);
    // What the backup does not say had its default, and has it again. Only an account stays: it is known to a provider.
    for (const name of SETTING_NAMES) store.forget(name);
    // There is one account at a time, whichever provider it is at.
    if (holdsAccount(contents)) for (const name of ACCOUNT_SETTINGS) store.forget(name);
    for (const [key, value] of Object.entries(settings)) store.write(key, value);
  });
  store.scrub();
  const killswitch = settings.killswitch === "off" ? "off" : "on";
  return { servers: contents.servers.length, replaced: taken.length, killswitch };
}

function refuseTaken(taken: readonly string[]): void {
  if (taken.length === 0) return;
  const names = taken.slice(0, MOST_NAMES);
  const rest = taken.length > MOST_NAMES ? ` and ${taken.length - MOST_NAMES} more` : "";
  throw new GatewayError(
    "unable",
    `there already: ${names.join(", ")}${rest}; nothing was changed; with --replace they are replaced`,
  );
}

function titleOf({ provider, name }: Server): string {
  return `${JSON.stringify(name)} (${provider})`;
}

/** Whether the operator's account at a provider is in a backup. */
export function holdsAccount({ settings }: Pick<Contents, "settings">): boolean {
  return ACCOUNT_SETTINGS.some((name) => settings[name] !== undefined);
}

/** Another registration, or another key of the same one, must not be lost unasked. */
function accountTaken(store: Store, contents: Contents): string[] {
  const { provider, registration = "damaged" } = new Registrations(store).current() ?? {};
  if (provider === undefined || registration === "damaged" || !holdsAccount(contents)) return [];
  const [here, there] = [store.read(provider.setting), contents.settings[provider.setting]];
  if (Bun.deepEquals(JSON.parse(here ?? "null"), JSON.parse(there ?? "null"))) return [];
  return [`the account's device ${JSON.stringify(registration.name)}`];
}

/** So many names tell a person which backup this is. */
const MOST_NAMES = 5;

function refuseTooMany(servers: readonly Server[]): void {
  if (sizeOfAll(servers) > MOST_STORED_BYTES)
    throw new GatewayError(
      "unable",
      `the servers take more than ${MOST_STORED_BYTES} bytes; nothing was changed`,
    );
  for (const provider of PROVIDERS) {
    if (servers.filter((server) => server.provider === provider).length > MOST_SERVERS)
      throw new GatewayError("unable", `more than ${MOST_SERVERS} ${provider} servers; nothing was changed`);
  }
}

function keyOf({ provider, name }: Server): string {
  return `${provider} ${name}`;
}
