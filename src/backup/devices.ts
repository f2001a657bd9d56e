import { isName } from "../base/name.ts";
import { type Change, rowChanges } from "../base/saved.ts";
import { DESTINATIONS } from "../destinations/saved.ts";
import { MAX_ASSIGNED, MAX_PREFIXES } from "../devices/assignments.ts";
import { parseDefaultOrder, parseOrder } from "../devices/exit-order.ts";
import { isRemoteId, parseDeviceId } from "../devices/id.ts";
import { REMOTE_PEERS } from "../remote/saved.ts";
import { isOutside, isOutsideExit } from "../shared/exits.ts";
import type { StoredDevice } from "../store/store.ts";
import { damaged } from "./damaged.ts";
import type { Holdings } from "./holdings.ts";
import { isAllowed, openedBy } from "./opened.ts";
import { refused } from "./refusals.ts";

/** Enough names to recognize the devices. */
const MAX_TITLES = 5;

/** A device whose exit cannot be read is blocked here, and stays so in a backup. */
export function readable(device: StoredDevice): StoredDevice {
  return isValidDevice({ ...device, name: null }) || device.exit === null
    ? device
    : { ...device, exit: "blocked" };
}

/** Whether a device of a backup is one that the gateway could have written. */
export function isValidDevice({ id, name, exit }: StoredDevice): boolean {
  const isNamed = name === null || isName(name);
  const isNetwork = id.includes("/") && !isRemoteId(id);
  const isAssigned = exit === null || (isNetwork ? parseDefaultOrder(exit) : parseOrder(exit)) !== null;
  return parseDeviceId(id) === id && isNamed && isAssigned && (name !== null || exit !== null);
}

export function checkDevices(
  devices: readonly StoredDevice[],
  settings: Readonly<Record<string, string>>,
): void {
  const isDirectAllowed = settings.direct === "on";
  const odd = devices.find((each) => !isValidDevice(each));
  if (odd !== undefined) damaged(`the device ${JSON.stringify(odd.id.slice(0, 100))} is invalid`);
  if (new Set(devices.map(({ id }) => id)).size < devices.length) damaged("it contains a device twice");
  if (!isDirectAllowed && devices.some(({ exit }) => isOutside(exit)))
    damaged("a device has the exit direct, which is not allowed in it");
  const rules = DESTINATIONS.parse(settings[DESTINATIONS.key] ?? null);
  if (!isDirectAllowed && rules.some(({ exit }) => isOutsideExit(exit)))
    damaged("a rule for destinations has the exit direct, which is not allowed in it");
}

export function deviceChanges(here: Holdings, then: Holdings): Change[] {
  const names = new Map([...then.devices, ...here.devices].map(({ id, name }) => [id, name]));
  return rowChanges("device", rowsOf(here), rowsOf(then)).map(({ name: id, ...change }) => {
    const name = names.get(id);
    return { ...change, name: name ? `${name} (${id})` : id };
  });
}

function rowsOf({ devices }: Holdings): Map<string, string> {
  return new Map(
    devices.map(({ id, name, exit }) => [
      id,
      `${name === null ? "" : `named ${name}, `}exit ${exit?.replaceAll(",", ", then ") ?? "default"}`,
    ]),
  );
}

/** Throws if something could leave outside the tunnel that cannot now, or if that becomes permitted. */
export function refuseDirect(here: Holdings, then: Holdings): void {
  const opened = openedBy(here, then);
  if (opened.length === 0 && (isAllowed(here) || !isAllowed(then))) return;
  const rest = opened.length > MAX_TITLES ? ` and ${opened.length - MAX_TITLES} more` : "";
  const which = opened.length === 0 ? "devices" : `${opened.slice(0, MAX_TITLES).join(", ")}${rest}`;
  throw refused("restore_opens", { devices: which });
}

/** Throws if these are more than there may be. */
export function refuseDevices({ devices, settings }: Omit<Holdings, "servers">): void {
  const remote = REMOTE_PEERS.parse(settings[REMOTE_PEERS.key] ?? null).map(({ id }) => `${id}`);
  const prefixes = devices.filter(({ id }) => id.includes("/") && !remote.includes(id));
  if (prefixes.length > MAX_PREFIXES)
    throw refused("restore_too_much", { of: "prefixes", max: MAX_PREFIXES });
  if (devices.length > MAX_ASSIGNED) throw refused("restore_too_much", { of: "devices", max: MAX_ASSIGNED });
}
