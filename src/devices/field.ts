import type { Address } from "../base/address.ts";
import type { Effect } from "../base/decision.ts";
import type { BackedUp, Saved, SavedList, Texts } from "../base/saved.ts";
import type { Column } from "./column.ts";
import type { ExitOrder } from "./exit-order.ts";
import type { DeviceId, LimitId } from "./id.ts";

/** The device that a client has named, and what it can be given now. */
export interface FieldContext {
  id: DeviceId;
  /** Not a network behind another router. */
  isSingle: boolean;
  exit: (given: string | readonly string[]) => ExitOrder;
  address: (given: string) => Address;
}

/** A field of a device: what people can give it. */
export interface Field<Value> {
  /** The value that a client has given; null is none. Throws what is wrong with it. */
  parse: (given: never, context: FieldContext) => Value | null;
  /** What a change of one device does to what can pass. Without it, the field opens and closes nothing. */
  effect?: (before: Column<Value>, after: Column<Value>, id: LimitId) => Effect;
  /** Where it is kept; null for what is in the table of devices, and so in the second copy of the exits. */
  stored: StoredColumn<Value> | null;
}

/** A field of all devices, under keys of its own. None of them decides about exits. */
export interface StoredColumn<Value> {
  /** What backups have of it. */
  list: BackedUp & Pick<SavedList<unknown>, "max" | "leftOf">;
  read: (store: Pick<Texts, "read">) => Column<Value>;
  /** Writes what has changed. */
  write: (store: Pick<Texts, "write">, before: Column<Value>, after: Column<Value>) => void;
}

interface StoredColumnParts<Value, Entry> {
  list: SavedList<Entry>;
  entryOf: (id: LimitId, value: Value) => Entry;
  pairOf: (entry: Entry) => [id: LimitId, value: Value];
  /** What schedules give; missing if they cannot. */
  scheduled?: {
    saved: Saved<Readonly<Record<string, Value | null>>>;
    parse: (saved: Readonly<Record<string, Value | null>>) => ReadonlyMap<LimitId, Value | null>;
  };
}

export function storedColumn<Value, Entry>({
  list,
  entryOf,
  pairOf,
  scheduled,
}: StoredColumnParts<Value, Entry>): StoredColumn<Value> {
  const entries = ({ own }: Column<Value>) => [...own].map(([id, value]) => entryOf(id, value));
  return {
    list,
    read: (store) => ({
      own: new Map(list.read(store).map(pairOf)),
      scheduled: scheduled?.parse(scheduled.saved.read(store)) ?? new Map(),
    }),
    write: (store, before, after) => {
      if (Bun.deepEquals(before, after)) return;
      list.write(store, entries(after));
      scheduled?.saved.write(store, Object.fromEntries(after.scheduled));
    },
  };
}
