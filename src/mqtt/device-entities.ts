import type { Device } from "../devices/schema.ts";
import type { DeviceCount } from "../dns/device-counts.ts";
import type { Thing } from "./discovery.ts";
import { dnsComponents } from "./dns-entities.ts";
import { exitComponents } from "./exit.ts";
import { deviceKey } from "./topics.ts";

/** Anyone on the LAN can invent devices, so only those are shown to which a person has given a name or an exit. */
const MAX_DEVICES = 100;

export function knownDevices(devices: readonly Device[]): Device[] {
  return devices.filter(({ named, assigned }) => named || assigned).slice(0, MAX_DEVICES);
}

/** A device of the LAN or on the road; `exits` are the exits that it can be given, or null if commands are not allowed. */
export function deviceThing(
  { id, name, exit, kind }: Device,
  dns: DeviceCount | null,
  exits: readonly string[] | null,
): Thing {
  return {
    key: deviceKey(id),
    name: name || id,
    model: kind === "remote" ? "device on the road" : "device of the LAN",
    components: { ...exitComponents("Exit", exits), ...dnsComponents(dns !== null) },
    states: { state: { exit }, ...(dns !== null && { dns }) },
  };
}
