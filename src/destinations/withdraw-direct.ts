import type { Devices } from "../devices/devices.ts";
import type { Direct } from "../devices/direct.ts";
import type { Destinations } from "./destinations.ts";

interface Needs {
  devices: Pick<Devices, "setDirect">;
  destinations: Pick<Destinations, "closeDirect">;
}

/** Takes the exit `direct` from all devices and rules that have it, and its permission. */
export function withdrawDirect({ devices, destinations }: Needs): Promise<Direct> {
  return destinations.closeDirect(() => devices.setDirect(false));
}
