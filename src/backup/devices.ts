import { MOST_ASSIGNED, MOST_PREFIXES } from "../devices/assignments.ts";
import { parseExit } from "../devices/exit.ts";
import { parseDeviceId } from "../devices/id.ts";
import { GatewayError } from "../errors.ts";
import { isName } from "../name.ts";
import type { Store, StoredDevice } from "../store/store.ts";

/** Whether a device of a backup is one that the gateway could have written. */
export function isValidDevice({ id, name, exit }: StoredDevice): boolean {
  const isNamed = name === null || isName(name);
  const isAssigned = exit === null || parseExit(exit) !== null;
  return parseDeviceId(id) === id && isNamed && isAssigned && (name !== null || exit !== null);
}

/** For people: those of the store's devices that a restore would change. */
export function devicesTaken(store: Store, devices: readonly StoredDevice[]): string[] {
  const given = new Map(devices.map((each) => [each.id, each]));
  return store
    .devices()
    .filter((each) => given.has(each.id) && !Bun.deepEquals(given.get(each.id), each))
    .map(({ id, name }) => `the device ${JSON.stringify(name ?? id)}`);
}

/** Throws if there would be more devices than there may be. */
export function refuseDevices(store: Store, devices: readonly StoredDevice[]): void {
  const ids = new Set([...store.devices(), ...devices].map(({ id }) => id));
  const prefixes = [...ids].filter((id) => id.includes("/"));
  if (prefixes.length > MOST_PREFIXES)
    throw new GatewayError(
      "unable",
      `there would be more than ${MOST_PREFIXES} prefixes behind other routers; nothing was changed`,
    );
  if (ids.size > MOST_ASSIGNED)
    throw new GatewayError(
      "unable",
      `there would be more than ${MOST_ASSIGNED} devices with a name or an exit; nothing was changed`,
    );
}
