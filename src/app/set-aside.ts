import { isName } from "../base/name.ts";
import type { Saved } from "../base/saved.ts";
import { DESTINATIONS } from "../destinations/saved.ts";
import { MAX_ASSIGNED } from "../devices/assignments.ts";
import { parseOrder } from "../devices/exit-order.ts";
import { parseDeviceId } from "../devices/id.ts";
import { NETWORKS } from "../devices/network-record.ts";
import { DEFAULT_EXIT } from "../devices/record.ts";
import { SCHEDULES } from "../schedules/schedule.ts";
import { EXIT_KEYS } from "../store/exits.ts";
import type { Store, StoredDevice } from "../store/store.ts";
import { lostTunnelsIn, tunnelKey } from "../tunnel/connection.ts";

export type Kept = Pick<Saved<unknown>, "key" | "leftOf">;

/** If one of these is lost, something that was blocked or kept inside a tunnel might get out. */
const DECIDING: readonly string[] = [NETWORKS.key, DESTINATIONS.key, SCHEDULES.key];
/** A longer list does not help. */
const MAX_NAMED = 10;

const LOST =
  "Some exits, rules or schedules could not be read: until you choose the default exit, every device without an exit of its own is blocked. First look at what is left of them, then type: portcullis default-exit main";

/**
 * Sets aside what cannot be read of kept values, because it is damaged, or larger than anything that the gateway writes. A
 * copy of the database has it. What may have depended on it is blocked. Returns what to tell people, or null. Settings that
 * only another version knows stay.
 */
export function setAside(
  store: Pick<Store, "settings" | "devices" | "keepCopy" | "atomically" | "write" | "forget" | "saveDevice">,
  kept: readonly Kept[],
  now: number,
): string | null {
  const left = leftOf(store.settings(), kept);
  const devices = oddIn(store.devices());
  if (left.size === 0 && devices.length === 0) return null;
  const copy = store.keepCopy(now);
  const isDeciding = DECIDING.some((key) => left.has(key)) || devices.some(({ isLost }) => isLost);
  store.atomically(() => {
    for (const [key, text] of left)
      if (text === null) store.forget(key);
      else store.write(key, text);
    for (const { device } of devices) store.saveDevice(device);
    if (!isDeciding) return;
    DEFAULT_EXIT.write(store, "blocked");
    store.write(EXIT_KEYS.lost, LOST);
  });
  const told = `Stored data could not be read in full and was set aside: ${namesOf([...left.keys()], devices.length)}. The database as it was is kept as ${copy}.`;
  return isDeciding ? `${told} ${LOST}` : told;
}

/** The texts that take the place of those that cannot be read; null for none. */
function leftOf(
  settings: Readonly<Record<string, string>>,
  kept: readonly Kept[],
): Map<string, string | null> {
  const lost = lostTunnelsIn(settings).map((name) => [tunnelKey(name), null] as const);
  const odd = kept.flatMap((each) => {
    const text = settings[each.key];
    const left = text === undefined ? null : each.leftOf(text);
    return left === null ? [] : [[each.key, each.key === DEFAULT_EXIT.key ? "blocked" : left.text] as const];
  });
  return new Map([...lost, ...odd]);
}

interface OddRow {
  /** What takes its place. */
  device: StoredDevice;
  isLost: boolean;
}

/** One whose id is unknown, or that is one too many, is lost. */
function oddIn(devices: readonly StoredDevice[]): OddRow[] {
  let known = 0;
  return devices.flatMap(({ id, name, exit }): OddRow[] => {
    if (parseDeviceId(id) === null || ++known > MAX_ASSIGNED)
      return [{ device: { id, name: null, exit: null }, isLost: true }];
    const isNamed = name === null || isName(name);
    const hasExit = exit === null || parseOrder(exit) !== null;
    const device = { id, name: isNamed ? name : null, exit: hasExit ? exit : "blocked" };
    return isNamed && hasExit ? [] : [{ device, isLost: false }];
  });
}

function namesOf(keys: readonly string[], devices: number): string {
  const more = keys.length > MAX_NAMED ? [`${keys.length - MAX_NAMED} more`] : [];
  const rows = devices === 0 ? [] : [devices === 1 ? "one device" : `${devices} devices`];
  return [...keys.slice(0, MAX_NAMED), ...more, ...rows].join(", ");
}
