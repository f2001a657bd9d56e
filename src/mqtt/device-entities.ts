import { DEVICE_FACTS } from "../devices/facts.ts";
import type { Device } from "../devices/schema.ts";
import type { UsedQuota } from "../devices/values.ts";
import type { DeviceCount } from "../dns/device-counts.ts";
import { componentsOf, type HaDevice, stateOf } from "./discovery.ts";
import { dnsComponents } from "./dns-entities.ts";
import { exitComponents } from "./exit.ts";
import { limitComponents, quotaStateOf, rateStateOf } from "./limit-entities.ts";
import { deviceKey } from "./topics.ts";

/** Anyone on the LAN can invent devices, so only those are shown to which something was given. */
const MAX_DEVICES = 100;

export function knownDevices(devices: readonly Device[]): Device[] {
  return devices
    .filter(({ named, assigned, rate, quota }) => named || assigned || (rate ?? quota) !== undefined)
    .slice(0, MAX_DEVICES);
}

/**
 * A device of the LAN or away from home; `quota` is as it is told now, and `exits` are the exits that it can be given,
 * or null if commands are not allowed.
 */
export function deviceThing(
  device: Device,
  quota: UsedQuota | undefined,
  dns: DeviceCount | null,
  exits: readonly string[] | null,
): HaDevice {
  const { id, name, kind, rate } = device;
  const limits = { rate, quota };
  return {
    key: deviceKey(id),
    name: name || id,
    model: kind === "remote" ? "device away from home" : "device of the LAN",
    components: {
      ...exitComponents("Exit", exits),
      ...componentsOf(DEVICE_FACTS),
      ...limitComponents("", limits),
      ...dnsComponents(dns !== null),
    },
    states: {
      state: { ...stateOf(DEVICE_FACTS, device), ...rateStateOf(limits) },
      ...quotaStateOf(limits),
      ...(dns !== null && { dns }),
    },
  };
}
