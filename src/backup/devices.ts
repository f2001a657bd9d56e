import { lengthOf, networkOf } from "../address.ts";
import { MOST_ASSIGNED } from "../devices/assignments.ts";
import { parseExit } from "../devices/exit.ts";
import { isDeviceId, isPrefixId } from "../devices/id.ts";
import { GatewayError } from "../errors.ts";
import { isName } from "../name.ts";
import type { Store, StoredDevice } from "../store/store.ts";

/** Whether a device of a backup is one that the gateway could have written. */
export function isValidDevice({ id, name, exit }: StoredDevice): boolean {
  const isNamed = name === null || isName(name);
  const isAssigned = exit === null || parseExit(exit) !== null;
  return isDeviceId(id) && isNamed && isAssigned && (name !== null || exit !== null);
}

/**
 * The devices of a backup as they are restored. A backup opens nothing: a device that was direct is blocked unless the
 * operator allows `direct` on this gateway.
 */
export function restorable(store: Store, devices: readonly StoredDevice[]): StoredDevice[] {
  if (store.read("direct") === "on") return [...devices];
  return devices.map((each) => (each.exit === "direct" ? { ...each, exit: "blocked" } : each));
}

/** Those of the store's devices that a restore would change. */
export function devicesTaken(store: Store, devices: readonly StoredDevice[]): StoredDevice[] {
  const given = new Map(devices.map((each) => [each.id, each]));
  return store.devices().filter((each) => given.has(each.id) && !Bun.deepEquals(given.get(each.id), each));
}

/** Throws if the store could not hold its own devices and these. */
export function refuseDevices(store: Store, devices: readonly StoredDevice[]): void {
  const ids = [...new Set([...store.devices(), ...devices].map(({ id }) => id))].filter(isDeviceId);
  if (ids.length > MOST_ASSIGNED)
    throw new GatewayError(
      "unable",
      `there would be more than ${MOST_ASSIGNED} devices with a name or an exit; nothing was changed`,
    );
  const prefixes = new Set(ids.filter(isPrefixId));
  const lengths = [...new Set([...prefixes].map(lengthOf))];
  for (const one of prefixes) {
    const wider = lengths.filter((length) => length < lengthOf(one)).map((length) => networkOf(one, length));
    const other = wider.find((each) => prefixes.has(each));
    if (other !== undefined)
      throw new GatewayError("unable", `the devices ${other} and ${one} overlap; nothing was changed`);
  }
}
