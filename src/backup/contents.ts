import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { parseAddress } from "../base/address.ts";
import { checkerOf } from "../base/checker.ts";
import { GatewayError, messageOf } from "../base/errors.ts";
import { nameIn } from "../base/name.ts";
import { nextTurn } from "../base/queue.ts";
import { parseDefaultExit } from "../devices/exit.ts";
import { areFixedAddresses } from "../devices/fixed.ts";
import { areForwards } from "../forwards/saved.ts";
import { MAIN } from "../killswitch/policy.ts";
import { MAX_TUNNELS } from "../network/slot.ts";
import { VPN_PROVIDERS } from "../providers/list.ts";
import { areSchedules } from "../schedules/schedule.ts";
import { areFavourites } from "../servers/favourites.ts";
import { Managed, Provider, type Server } from "../servers/schema.ts";
import { type Store, StoredDevice, StoredServer } from "../store/store.ts";
import { isTunnelName } from "../tunnel/name.ts";
import { Connection, connectionIn, savedTunnelsIn } from "../tunnel/saved-state.ts";
import { formatConfig, parseConfig } from "../wireguard/config.ts";
import { isValidDevice } from "./devices.ts";

/** A tunnel other than `main`. Its slot is not part of a backup: another machine may use it for another tunnel. */
const BackedUpTunnel = Type.Object(
  { name: Type.String(), connection: Type.Union([Connection, Type.Null()]) },
  { additionalProperties: false },
);

/** What a backup holds: custom and imported servers with their keys, and the settings that survive a restart. */
const StoredContents = Type.Object(
  {
    /** ISO 8601. */
    created: Type.String(),
    servers: Type.Array(StoredServer),
    settings: Type.Record(Type.String(), Type.String()),
    /** Missing if there are none, and in backups of older versions. */
    tunnels: Type.Optional(Type.Array(BackedUpTunnel, { maxItems: MAX_TUNNELS - 1 })),
    /** Missing in backups of older versions. */
    devices: Type.Optional(Type.Array(StoredDevice)),
  },
  { additionalProperties: false },
);
export type Contents = Omit<Static<typeof StoredContents>, "servers"> & { servers: Server[] };

const contentsSchema = checkerOf(StoredContents);

/** The settings of a backup and their checks; each has a default, so it may be missing. */
const SETTINGS: Record<string, (value: string) => boolean> = {
  provider: (value) => Value.Check(Provider, value),
  managed: (value) => Value.Check(Managed, value),
  killswitch: (value) => value === "on" || value === "off",
  default_exit: (value) => parseDefaultExit(value) !== null,
  direct: (value) => value === "on",
  favourites: areFavourites,
  fixed_addresses: areFixedAddresses,
  forwards: areForwards,
  schedules: areSchedules,
  connection: (value) => value === "null" || connectionIn(value) !== null,
};

/** The last known address of a server that is reached by name. */
export const ADDRESS = /^address [0-9a-z.-]{1,253}$/;

/** What holds where nobody has chosen. A backup says so: what a backup leaves out stays as it is at a restore. */
const UNSET = { provider: "managed", killswitch: "on", default_exit: MAIN, connection: "null" };

/** What the store holds; `now` is in milliseconds since 1970. */
export function contentsOf(store: Store, now: number): Contents {
  const settings = Object.entries(store.settings()).filter(([key, value]) => isSetting(key, value));
  const tunnels = [...savedTunnelsIn(store.settings())].map(([name, { connection }]) => ({
    name,
    connection,
  }));
  return {
    created: new Date(now).toISOString(),
    servers: store.servers(),
    settings: { ...UNSET, ...Object.fromEntries(settings) },
    ...(tunnels.length > 0 && { tunnels }),
    devices: store.devices().filter(isValidDevice),
  };
}

/**
 * By the rules of the interface: a backup can be written by hand, and what is in it reaches the kernel's tools. All the
 * servers that there can be take a Pi ten seconds, in which the service must go on.
 */
export async function checkedContents(value: unknown): Promise<Contents> {
  if (!contentsSchema.Check(value)) return damaged("it does not match its schema");
  const keys = value.servers.map(({ provider, name }) => `${provider} ${name}`);
  if (new Set(keys).size < keys.length) damaged("it contains two servers of the same name");
  const servers: Server[] = [];
  const tunnels = (value.tunnels ?? []).map(({ name }) => name);
  if (!tunnels.every(isTunnelName)) damaged("the name of a tunnel is invalid");
  if (new Set(tunnels).size < tunnels.length) damaged("it contains two tunnels of the same name");
  for (const server of value.servers) {
    servers.push(checkedServer(server));
    await nextTurn();
  }
  checkDevices(value);
  for (const [key, setting] of Object.entries(value.settings)) {
    if (!isSetting(key, setting)) damaged(`the setting ${JSON.stringify(key.slice(0, 100))} is invalid`);
  }
  return { ...value, servers };
}

function isSetting(key: string, value: string): boolean {
  if (ADDRESS.test(key)) return parseAddress(value) === value;
  const provider = VPN_PROVIDERS.find(({ setting }) => setting === key);
  if (provider !== undefined) return provider.registrationIn(value) !== null;
  return Object.hasOwn(SETTINGS, key) && SETTINGS[key]?.(value) === true;
}

function checkDevices({ devices = [], settings }: Static<typeof StoredContents>): void {
  const odd = devices.find((each) => !isValidDevice(each));
  if (odd !== undefined) damaged(`the device ${JSON.stringify(odd.id.slice(0, 100))} is invalid`);
  if (new Set(devices.map(({ id }) => id)).size < devices.length) damaged("it contains a device twice");
  if (settings.direct !== "on" && devices.some(({ exit }) => exit === "direct"))
    damaged("a device has the exit direct, which is not allowed in it");
}

function checkedServer(server: Static<typeof StoredServer>): Server {
  const { name, provider, label, country, city, location, config } = server;
  try {
    nameIn("name", name);
    // The fields follow the rules of an imported file.
    const { config: parsed } = parseConfig(formatConfig(config));
    const shown = [label, country, city, location].every(
      (text) => text.length <= 256 && !/\p{Cc}/u.test(text),
    );
    if (provider !== "managed" && shown && Bun.deepEquals(parsed, config))
      return { ...server, config: parsed };
  } catch (error) {
    damaged(`the server ${JSON.stringify(name.slice(0, 100))}: ${messageOf(error)}`);
  }
  return damaged(
    `the server ${JSON.stringify(name.slice(0, 100))} is not in the form that the gateway writes`,
  );
}

function damaged(why: string): never {
  throw new GatewayError("unable", `the backup is damaged: ${why}; nothing was changed`);
}
