import type { Devices } from "../devices/devices.ts";
import type { Direct } from "../devices/direct.ts";
import type { Destinations } from "./destinations.ts";

interface Needs {
  devices: Pick<Devices, "setDirect">;
  destinations: Pick<Destinations, "closeDirect">;
}

/** Takes the exit `direct` from all devices and rules that have it, and its permission. */
export async function withdrawDirect({ devices, destinations }: Needs): Promise<Direct> {
  // What could not be saved is in force all the same, and both are to be.
  const [closed, shown] = await Promise.allSettled([destinations.closeDirect(), devices.setDirect(false)]);
  // Until the permission was gone, a rule may have become direct.
  await destinations.closeDirect();
  if (closed.status === "rejected") throw closed.reason;
  if (shown.status === "rejected") throw shown.reason;
  return shown.value;
}
