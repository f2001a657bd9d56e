import { fixedRows } from "../devices/fixed.ts";
import { forwardRows } from "../forwards/saved.ts";
import { MAIN } from "../killswitch/policy.ts";
import { VPN_PROVIDERS } from "../providers/list.ts";
import { scheduleRows } from "../schedules/schedule.ts";
import { favouriteRows } from "../servers/favourites.ts";
import { viaText } from "../servers/hops.ts";
import type { Server } from "../servers/schema.ts";
import { PROVIDER_WORDS } from "../shared/words.ts";
import type { StoredDevice } from "../store/store.ts";
import { type Connection, connectionIn, savedTunnelsIn } from "../tunnel/saved-state.ts";
import { formatEndpoint } from "../wireguard/config.ts";
import type { Config } from "../wireguard/schema.ts";

/** What a gateway has of what a backup can hold. */
export interface Holdings {
  servers: readonly Server[];
  settings: Readonly<Record<string, string>>;
  devices: readonly StoredDevice[];
}

/** One thing that a restore changes. */
export interface Change {
  what: string;
  /** Which of them; empty if there is only one. */
  name: string;
  /** The change in words; null if there is none. */
  before: string | null;
  after: string | null;
  /** Whether something is lost that is here now: a default that nobody has chosen is not. */
  replaces: boolean;
}

/** The changes in words, by name. */
type Rows = ReadonlyMap<string, string>;

/** What has a value even if nobody has chosen one. Some have a permission of their own. */
const CHOICES: readonly Choice[] = [
  { what: "kill switch", key: "killswitch", unset: "on", isPermitted: true },
  { what: "exit direct", key: "direct", unset: "not allowed", isPermitted: true },
  { what: "default exit", key: "default_exit", unset: MAIN },
  { what: "provider", key: "provider", unset: "managed" },
  { what: "VPN account's provider", key: "managed", unset: "none" },
];
type Choice = { what: string; key: string; unset: string; isPermitted?: boolean };

/** The settings that hold a list. */
const LISTS = [
  { what: "forward", key: "forwards", rowsOf: forwardRows },
  { what: "schedule", key: "schedules", rowsOf: scheduleRows },
  { what: "fixed address", key: "fixed_addresses", rowsOf: fixedRows },
  { what: "favourite", key: "favourites", rowsOf: favouriteRows },
];

/** Everything that differs, what decides about traffic first. */
export function changesBetween(here: Holdings, then: Holdings): Change[] {
  return [
    ...CHOICES.flatMap((choice) => choiceChange(choice, here, then)),
    ...rowChanges("tunnel", tunnelRows(here), tunnelRows(then)),
    ...deviceChanges(here, then),
    ...LISTS.flatMap(({ what, key, rowsOf }) =>
      rowChanges(what, rowsOf(here.settings[key] ?? null), rowsOf(then.settings[key] ?? null)),
    ),
    ...accountChanges(here, then),
    ...serverChanges(here, then),
  ];
}

function choiceChange({ what, key, unset, isPermitted }: Choice, here: Holdings, then: Holdings): Change[] {
  const [before, after] = [here.settings[key] ?? unset, then.settings[key] ?? unset];
  const replaces = here.settings[key] !== undefined && isPermitted !== true;
  return before === after ? [] : [{ what, name: "", before, after, replaces }];
}

function rowChanges(what: string, here: Rows, then: Rows): Change[] {
  const names = new Set([...here.keys(), ...then.keys()]);
  return [...names].flatMap((name) => {
    const [before, after] = [here.get(name) ?? null, then.get(name) ?? null];
    return before === after
      ? []
      : [{ what, name, before, after, replaces: before !== null && before !== NO_SERVER }];
  });
}

const NO_SERVER = "no server";

function tunnelRows({ settings }: Holdings): Rows {
  const main = connectionIn(settings.connection ?? "null");
  const others = [...savedTunnelsIn(settings)].map(
    ([name, { connection }]) => [name, serverOf(connection)] as const,
  );
  return new Map([[MAIN, serverOf(main)], ...others]);
}

/** The server with its entry, and what was asked for if it was a place. */
export function serverOf(connection: Connection | null): string {
  if (connection === null) return NO_SERVER;
  const { provider, name, via, wanted = name, wanted_via = via } = connection;
  const asked = wanted === name && wanted_via === via ? "" : `, for ${viaText(wanted, wanted_via)}`;
  return `${viaText(name, via)} (${PROVIDER_WORDS[provider].word}${asked})`;
}

function deviceChanges(here: Holdings, then: Holdings): Change[] {
  const names = new Map([...then.devices, ...here.devices].map(({ id, name }) => [id, name]));
  return rowChanges("device", deviceRows(here), deviceRows(then)).map(({ name: id, ...change }) => {
    const name = names.get(id);
    return { ...change, name: name ? `${name} (${id})` : id };
  });
}

function deviceRows({ devices }: Holdings): Rows {
  return new Map(
    devices.map(({ id, name, exit }) => [
      id,
      `${name === null ? "" : `named ${name}, `}exit ${exit ?? "default"}`,
    ]),
  );
}

/** A server that has another key or setting only is told by that. */
function serverChanges(here: Holdings, then: Holdings): Change[] {
  const known = new Map(here.servers.map((server) => [titleOf(server), server]));
  return then.servers.flatMap((server) => {
    const name = titleOf(server);
    const present = known.get(name);
    if (Bun.deepEquals(present, server)) return [];
    const after = endpointOf(server.config);
    const before = present === undefined ? null : endpointOf(present.config);
    const differs = before === after ? `${after}, another configuration` : after;
    return [{ what: "server", name, before, after: differs, replaces: before !== null }];
  });
}

export function titleOf({ provider, name }: Pick<Server, "provider" | "name">): string {
  return `${name} (${PROVIDER_WORDS[provider].word})`;
}

function endpointOf({ peer }: Config): string {
  return formatEndpoint(peer.endpoint.host, peer.endpoint.port);
}

/** A registration's name can stand for another one: keys are compared, and not told. */
function accountChanges(here: Holdings, then: Holdings): Change[] {
  return VPN_PROVIDERS.flatMap(({ setting, label, registrationIn }) => {
    const [one, other] = [here.settings[setting] ?? "", then.settings[setting] ?? ""];
    const before = registrationIn(one)?.name ?? null;
    const after = registrationIn(other)?.name ?? null;
    if (
      one === other ||
      after === null ||
      (before !== null && Bun.deepEquals(JSON.parse(one), JSON.parse(other)))
    )
      return [];
    const differs = before === after ? `${after}, another registration` : after;
    return [{ what: "account", name: label, before, after: differs, replaces: before !== null }];
  });
}
