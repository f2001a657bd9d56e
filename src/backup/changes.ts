import { MAIN } from "../killswitch/policy.ts";
import { viaText } from "../servers/hops.ts";
import type { StoredDevice } from "../store/store.ts";
import { type Connection, connectionIn, savedTunnelsIn } from "../tunnel/saved-state.ts";
import type { Contents } from "./contents.ts";

/** What a restore would change of tunnels and devices; those that are not listed stay as they are. */
export interface Changes {
  tunnels: { name: string; isNew: boolean; before: string | null; after: string | null }[];
  devices: { id: string; before: Given | null; after: Given }[];
  default_exit: { before: string; after: string } | null;
}

/** What a person has given a device. */
type Given = Pick<StoredDevice, "name" | "exit">;

/** What is here before the restore. */
interface Present {
  settings: Readonly<Record<string, string>>;
  devices: readonly StoredDevice[];
}

export function changesOf(present: Present, contents: Contents): Changes {
  return {
    tunnels: tunnelChanges(present, contents),
    devices: deviceChanges(present, contents),
    default_exit: defaultExitChange(present, contents),
  };
}

function tunnelChanges({ settings }: Present, contents: Contents): Changes["tunnels"] {
  const here = savedTunnelsIn(settings);
  const others = (contents.tunnels ?? []).map(({ name, connection }) => ({
    name,
    isNew: !here.has(name),
    before: serverOf(here.get(name)?.connection ?? null),
    after: serverOf(connection),
  }));
  const main = {
    name: MAIN,
    isNew: false,
    before: serverOf(connectionIn(settings.connection ?? "null")),
    after: serverOf(connectionIn(contents.settings.connection ?? "null")),
  };
  return [main, ...others].filter(({ isNew, before, after }) => isNew || before !== after);
}

function deviceChanges({ devices }: Present, contents: Contents): Changes["devices"] {
  const here = new Map(devices.map(({ id, name, exit }) => [id, { name, exit }]));
  return (contents.devices ?? [])
    .map(({ id, name, exit }) => ({ id, before: here.get(id) ?? null, after: { name, exit } }))
    .filter(({ before, after }) => !Bun.deepEquals(before, after));
}

function defaultExitChange({ settings }: Present, contents: Contents): Changes["default_exit"] {
  // Backups of versions without devices leave it as it is.
  if (contents.devices === undefined) return null;
  const before = settings.default_exit ?? MAIN;
  const after = contents.settings.default_exit ?? MAIN;
  return before === after ? null : { before, after };
}

/** The server with its entry, and what was asked for if it was a place. */
function serverOf(connection: Connection | null): string | null {
  if (connection === null) return null;
  const { provider, name, via, wanted = name, wanted_via = via } = connection;
  const asked = wanted === name && wanted_via === via ? "" : `, for ${viaText(wanted, wanted_via)}`;
  return `${viaText(name, via)} (${provider}${asked})`;
}
