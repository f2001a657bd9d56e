import { answerOf } from "../base/fact.ts";
import { DEVICE_FACTS } from "../devices/facts.ts";
import { LIMIT_FACTS } from "../devices/limit-facts.ts";
import type { Device } from "../devices/schema.ts";
import type { UsedQuota } from "../devices/values.ts";
import type { DeviceCount } from "../dns/device-counts.ts";
import { DNS_FACTS } from "../dns/facts.ts";
import { componentsIn, componentsOf, type HaDevice, presentIn, stateOf } from "./discovery.ts";
import { exitComponents } from "./exit.ts";
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
  const limits = answerOf(LIMIT_FACTS, { rate, quota });
  const had = presentIn(LIMIT_FACTS, limits);
  return {
    key: deviceKey(id),
    name: name || id,
    model: kind === "remote" ? "device away from home" : "device of the LAN",
    components: {
      ...exitComponents("Exit", exits),
      ...componentsOf(DEVICE_FACTS),
      ...componentsIn(LIMIT_FACTS, limits),
      ...componentsIn(DNS_FACTS, { ...dns }),
    },
    states: {
      state: { ...stateOf(DEVICE_FACTS, device), ...stateOf(had, limits) },
      ...(quota !== undefined && { quota: stateOf(had, limits, "quota") }),
      ...(dns !== null && { dns: stateOf(DNS_FACTS, { ...dns }, "dns") }),
    },
  };
}
