import { type Static, Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { objectOf } from "../base/object.ts";
import { nextTurn } from "../base/queue.ts";
import { MAX_ASSIGNED } from "../devices/assignments.ts";
import { DEFAULT_EXIT } from "../devices/record.ts";
import { MAX_TUNNELS } from "../network/slot.ts";
import { type Server, STORED } from "../servers/schema.ts";
import { MAX_SERVERS } from "../shared/config-files.ts";
import { StoredServer } from "../store/server-rows.ts";
import { type Store, StoredDevice } from "../store/store.ts";
import { MAX_ADDRESSES } from "../tunnel/known-addresses.ts";
import { isTunnelName } from "../tunnel/name.ts";
import { damaged } from "./damaged.ts";
import { checkDevices, isValidDevice, readable } from "./devices.ts";
import { checkedServer } from "./servers.ts";
import { isSetting, UNSET } from "./settings.ts";
import { BackedUpTunnel, tunnelsOf } from "./tunnels.ts";

/** ISO 8601, as JavaScript writes it: it is told to people. */
const Moment = Type.Refine(Type.String({ maxLength: 27 }), (text) => {
  const at = new Date(text);
  return !Number.isNaN(at.getTime()) && at.toISOString() === text;
});

/** Known addresses, and the others, of which there are some dozens. */
const MAX_SETTINGS = MAX_ADDRESSES + 100;

/** What a backup holds: custom and imported servers with their keys, and the settings that survive a restart. */
const StoredContents = objectOf({
  created: Moment,
  servers: Type.Array(StoredServer, { maxItems: STORED.length * MAX_SERVERS }),
  settings: Type.Record(Type.String(), Type.String(), { maxProperties: MAX_SETTINGS }),
  /** Missing if there are none, and in backups of older versions. */
  tunnels: Type.Optional(Type.Array(BackedUpTunnel, { maxItems: MAX_TUNNELS - 1 })),
  /** Missing in backups of older versions. */
  devices: Type.Optional(Type.Array(StoredDevice, { maxItems: MAX_ASSIGNED })),
});
export type Contents = Omit<Static<typeof StoredContents>, "servers"> & { servers: Server[] };

const contentsSchema = checkerOf(StoredContents);

/** What the store holds; `now` is in milliseconds since 1970. */
export function contentsOf(store: Store, now: number): Contents {
  const settings = store.settings();
  const tunnels = tunnelsOf(settings);
  return {
    created: new Date(now).toISOString(),
    servers: store.servers(),
    settings: {
      ...UNSET,
      // One that cannot be read blocks here, and must not open elsewhere.
      ...(settings[DEFAULT_EXIT.key] !== undefined && { [DEFAULT_EXIT.key]: "blocked" }),
      ...Object.fromEntries(Object.entries(settings).filter(isSetting)),
    },
    ...(tunnels.length > 0 && { tunnels }),
    devices: store.devices().map(readable).filter(isValidDevice),
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
  for (const each of Object.entries(value.settings)) {
    if (!isSetting(each)) damaged(`the setting ${JSON.stringify(each[0].slice(0, 100))} is invalid`);
    await nextTurn();
  }
  checkDevices(value.devices ?? [], value.settings);
  return { ...value, servers };
}
