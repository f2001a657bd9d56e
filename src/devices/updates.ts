import type { Bus } from "../base/bus.ts";
import { BYTES_PER_MEGABYTE } from "../shared/quotas.ts";
import type { Host } from "../system/host.ts";
import type { DeviceId } from "./id.ts";
import { labelsOf } from "./label.ts";
import type { Device, DeviceUpdate } from "./schema.ts";
import type { LabelKey, Quota } from "./values.ts";

/** Changes are gathered this long, because one device causes several at once. */
const GATHERED_MS = 200;
/** At most this many updates each time, because anyone on the LAN can invent devices, and listeners must keep up. */
const MAX_AT_ONCE = 50;

/** The fields that listeners are told. They read the rest, such as whether a person chose the exit. */
type Row = DeviceUpdate &
  Pick<
    Device,
    | "named"
    | "interface"
    | "network"
    | "exit_order"
    | "assigned"
    | "rate"
    | "quota"
    | "network_used_up"
    | LabelKey
  >;
type RowUpdate = Omit<Row, "quota"> & ReturnType<typeof quotaTold>;

interface Deps {
  clock: Pick<Host, "sleep">;
  /** The ids of all devices. */
  known: () => ReadonlySet<DeviceId>;
  /** The devices with these ids as they are now, without those that no longer exist. */
  rowsOf: (ids: readonly DeviceId[]) => Promise<readonly Row[]>;
  events: Pick<Bus<DeviceEvents>, "publish">;
}

export interface DeviceEvents {
  device_update: DeviceUpdate;
  /** No device has this id any more. */
  device_removed: { id: string };
}

export interface DevicesEvents extends DeviceEvents {
  /** What all others have, or share, may have changed. */
  shared_limits: null;
}

/** Tells listeners of each change of a device, and of nothing that they already know. */
export class Updates {
  private readonly told = new Map<DeviceId, RowUpdate>();
  private readonly changed = new Set<DeviceId>();
  private isGathering = false;
  /** Called after listeners have been told. */
  readonly onTold: (() => void)[] = [];

  constructor(private readonly deps: Deps) {}

  /** These devices may have changed. */
  touch(ids: Iterable<DeviceId>): void {
    for (const id of ids) this.changed.add(id);
    if (this.isGathering || this.changed.size === 0) return;
    this.isGathering = true;
    void this.deps.clock.sleep(GATHERED_MS).then(() => this.tell());
  }

  /** The devices that listeners consider to be online. */
  get online(): DeviceId[] {
    return [...this.told].flatMap(([id, { online }]) => (online ? [id] : []));
  }

  private async tell(): Promise<void> {
    for (const id of this.forgetGone().slice(0, MAX_AT_ONCE))
      this.deps.events.publish({ type: "device_removed", payload: { id } });
    const ids = [...this.changed].slice(0, MAX_AT_ONCE);
    for (const id of ids) this.changed.delete(id);
    const rows = await this.deps.rowsOf(ids);
    const byId = new Map<string, Row>(rows.map((row) => [row.id, row]));
    for (const id of ids) this.tellOf(id, byId.get(id));
    for (const listener of this.onTold) listener();
    this.isGathering = false;
    this.touch([]);
  }

  /** Returns the devices that are gone. Invented devices replace each other faster than listeners are told of them. */
  private forgetGone(): DeviceId[] {
    const known = this.deps.known();
    const gone = [...new Set([...this.told.keys(), ...this.changed])].filter((id) => !known.has(id));
    for (const id of gone) {
      this.changed.delete(id);
      this.told.delete(id);
    }
    return gone;
  }

  private tellOf(id: DeviceId, row: Row | undefined): void {
    if (row === undefined) {
      this.told.delete(id);
      return;
    }
    const { name, named, network, exit, exit_order, assigned, online, rate, quota } = row;
    const told: RowUpdate = {
      id,
      name,
      named,
      exit,
      assigned,
      online,
      interface: row.interface,
      ...(network !== undefined && { network }),
      ...(exit_order !== undefined && { exit_order }),
      ...(rate !== undefined && { rate }),
      ...quotaTold(quota),
      ...(row.network_used_up && { network_used_up: true }),
      ...labelsOf(row),
    };
    if (Bun.deepEquals(this.told.get(id), told)) return;
    this.told.set(id, told);
    this.deps.events.publish({ type: "device_update", payload: { id, name, exit, online } });
  }
}

/** What is used changes all the time; that it is used up does not. */
function quotaTold(quota: Device["quota"]): { quota?: Quota; isUsedUp?: boolean } {
  if (quota === undefined) return {};
  const { used_bytes, ...allowed } = quota;
  return { quota: allowed, isUsedUp: used_bytes >= quota.megabytes * BYTES_PER_MEGABYTE };
}
