import type { KillSwitch } from "../killswitch/killswitch.ts";
import { OtherFirewalls } from "../killswitch/other-firewalls.ts";
import type { Alarm, Repairs } from "../killswitch/repairs.ts";
import type { Log } from "../log.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Neighbour } from "../network/neighbours.ts";
import type { Slot } from "../network/slot.ts";
import type { Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { Controller } from "./controller.ts";
import { Dialer } from "./dialer.ts";
import { HttpsClient } from "./https-client.ts";
import { Kernel } from "./kernel.ts";
import { Probe } from "./probe.ts";
import { Resolver } from "./resolver.ts";
import type { RoundTrips } from "./roundtrips.ts";
import type { SavedState } from "./saved-state.ts";
import { Supervisor } from "./supervisor.ts";

/** What a tunnel needs from the rest of the gateway. */
export interface Surroundings {
  host: Host;
  savedState: SavedState;
  killSwitch: KillSwitch;
  repairs: Repairs;
  /** The machine's own network, as it is now. */
  findNetwork: () => Promise<HostNetwork>;
  /** The tunnel's name: the owner of its part of the kill switch. */
  name: string;
  /** Base name of all tunnels' interfaces. */
  base: string;
  slot: Slot;
  /** The program that provides WireGuard interfaces if the kernel does not. */
  userspace: string;
  /** Whether a start reconnects to the last server. */
  autoconnect: boolean;
  /** The server as its provider lists it now; null if it is gone. */
  latest: (server: Server) => Server | null;
  /** Servers that may replace a dead one, the nearest first. */
  alternatives: (server: Server) => readonly Server[];
  /** Gets each change of the kernel's neighbour table, or null if some may have been missed. */
  onNeighbour: (neighbour: Neighbour | null) => void;
  log: Pick<Log, "info" | "warn">;
  alarm: Alarm;
}

export interface Tunnel {
  /** Connects and disconnects. */
  controller: Controller;
  /** Repairs what breaks. */
  supervisor: Supervisor;
  /** Measured round trips to servers. */
  roundTrips: RoundTrips;
  killSwitch: KillSwitch;
  /** Sends the gateway's own requests. */
  httpsClient: HttpsClient;
}

/** Puts the parts of a tunnel together; nothing has touched the kernel yet. */
export function tunnelIn(surroundings: Surroundings): Tunnel {
  const { host, killSwitch, base, slot, alarm, userspace } = surroundings;
  const kernel = new Kernel(host, slot, userspace);
  const resolver = new Resolver(surroundings);
  const dialer = new Dialer({ ...surroundings, kernel, resolver });
  const probe = new Probe({ ...surroundings, kernel, resolver });
  const otherFirewalls = new OtherFirewalls(host, alarm, base);
  const controller = new Controller({ ...surroundings, otherFirewalls, kernel, dialer, probe });
  const supervisor = new Supervisor({ ...surroundings, otherFirewalls, controller, kernel });
  const httpsClient = new HttpsClient({ ...surroundings, controller, resolver });
  return { controller, supervisor, killSwitch, httpsClient, roundTrips: probe.roundTrips };
}
