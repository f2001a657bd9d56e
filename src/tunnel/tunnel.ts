import type { Log } from "../log.ts";
import type { Links } from "../routing/links.ts";
import type { Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { Controller } from "./controller.ts";
import { Dialer } from "./dialer.ts";
import { Kernel } from "./kernel.ts";
import type { Memory } from "./memory.ts";
import { Messenger } from "./messenger.ts";
import { Names } from "./names.ts";
import { OtherFirewalls } from "./other-firewalls.ts";
import { Probe } from "./probe.ts";
import { Protection } from "./protection.ts";
import { type Alarm, Repairs } from "./repairs.ts";
import type { RoundTrips } from "./roundtrips.ts";
import { Supervisor } from "./supervisor.ts";

/** What a tunnel needs of the rest. */
export interface Surroundings {
  host: Host;
  memory: Memory;
  /** The machine's own network, looked up anew. */
  findLinks: () => Promise<Links>;
  /** Base name of the tunnel's interfaces. */
  base: string;
  /** Program that makes a WireGuard interface where the kernel does not. */
  userspace: string;
  /** Whether a start goes back to the server that the gateway had. */
  autoconnect: boolean;
  /** The server as its provider has it now; null where it is gone. */
  latest: (server: Server) => Server | null;
  /** Servers that may stand in for a dead one, the nearest first. */
  alternatives: (server: Server) => readonly Server[];
  log: Pick<Log, "info" | "warn">;
  alarm: Alarm;
}

export interface Tunnel {
  /** Does what is wished. */
  controller: Controller;
  /** Mends what breaks. */
  supervisor: Supervisor;
  /** What is known of how far servers are. */
  roundTrips: RoundTrips;
  /** The kill switch. */
  protection: Protection;
  /** The gateway's own requests. */
  messenger: Messenger;
}

/** Puts the parts of a tunnel together; nothing has touched the kernel yet. */
export function tunnelIn(surroundings: Surroundings): Tunnel {
  const { host, memory, alarm, userspace, base } = surroundings;
  const repairs = new Repairs(host, alarm);
  const kernel = new Kernel(host, userspace);
  const protection = new Protection(host, memory, repairs, alarm);
  const names = new Names({ ...surroundings, protection });
  const dialer = new Dialer({ ...surroundings, kernel, protection, names });
  const probe = new Probe({ ...surroundings, kernel, protection, names });
  const otherFirewalls = new OtherFirewalls(host, alarm, base);
  const tampering = { protection, otherFirewalls };
  const controller = new Controller({ ...surroundings, ...tampering, kernel, dialer, probe, repairs });
  const supervisor = new Supervisor({ ...surroundings, ...tampering, controller, kernel });
  const messenger = new Messenger({ ...surroundings, controller, protection, names });
  return { controller, supervisor, protection, messenger, roundTrips: probe.roundTrips };
}
