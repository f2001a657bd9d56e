import type { Alarm } from "../base/alert.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { OtherFirewalls } from "../killswitch/other-firewalls.ts";
import type { Repairs } from "../killswitch/repairs.ts";
import type { Slot } from "../network/slot.ts";
import type { Server } from "../servers/schema.ts";
import type { Host, Send } from "../system/host.ts";
import { Controller } from "./controller.ts";
import { Dialer, type PreviousSession, type Register } from "./dialer.ts";
import { Failback } from "./failback.ts";
import { Kernel } from "./kernel.ts";
import { KeyAgreement } from "./key-agreement.ts";
import type { KeyHolders } from "./key-holders.ts";
import { KnownPaths } from "./known-paths.ts";
import { limitOf } from "./mtu.ts";
import type { OrderTarget } from "./order.ts";
import { Probe } from "./probe.ts";
import { QualityFailover } from "./quality-failover.ts";
import type { QualitySettings } from "./quality-settings.ts";
import type { EgressPath, Resolver } from "./resolver.ts";
import type { RoundTrips } from "./roundtrips.ts";
import type { SavedState } from "./saved-state.ts";
import type { Session } from "./session.ts";
import { Supervisor } from "./supervisor.ts";
import type { Target } from "./target.ts";
import { TunnelQuality } from "./tunnel-quality.ts";

/** What a tunnel needs from the rest of the gateway. */
export interface TunnelDeps {
  host: Host;
  savedState: SavedState;
  killSwitch: KillSwitch;
  repairs: Repairs;
  otherFirewalls: OtherFirewalls;
  resolver: Resolver;
  /** Measured round trips to servers, by any tunnel. */
  roundTrips: RoundTrips;
  qualitySettings: Pick<QualitySettings, "choice">;
  /** Called with each question that measures the tunnel. */
  onAsked: () => void;
  /** Whether the uplink itself is slow or lossy. */
  isUplinkPoor: () => boolean;
  /** The tunnel's name: the owner of its part of the kill switch. */
  name: string;
  slot: Slot;
  /** The program that provides WireGuard interfaces if the kernel does not. */
  userspace: string;
  /** Whether a start reconnects to the last server. */
  autoconnect: boolean;
  /** The server as its provider lists it now; null if it is gone. */
  latest: (server: Server) => Server | null;
  /** Servers that may replace a dead one, the nearest first, where a tunnel has only one target. */
  alternatives: (server: Server) => readonly Server[];
  /** A target of a tunnel's order, as it can be reached now; null if it cannot. */
  found: (wanted: OrderTarget, tunnel: string) => Target | null;
  /** The other tunnel that uses this server with the same key, or null. */
  conflictOf: (server: Server) => string | null;
  /** Those of all tunnels. */
  keyHolders: KeyHolders;
  /** Whether names are looked up through a live tunnel while this one has that former one. */
  looksUpInside: (former: PreviousSession | null) => boolean;
  /** Sends the gateway's own requests while a tunnel is dialled. */
  sendOn: (path: EgressPath, signal: AbortSignal) => Send;
  register: Register;
  log: Pick<Log, "info" | "warn">;
  alarm: Alarm;
}

export interface Tunnel {
  name: string;
  slot: Slot;
  /** Connects and disconnects. */
  controller: Controller;
  /** Repairs what breaks. */
  supervisor: Supervisor;
  /** Measures its quality. */
  quality: TunnelQuality;
}

/** Puts the parts of a tunnel together; nothing has touched the kernel yet. */
export function tunnelIn(surroundings: TunnelDeps): Tunnel {
  const { host, name, slot, userspace, killSwitch, savedState } = surroundings;
  const limit = (session: Session) => limitOf(session, killSwitch.network, savedState);
  const kernel = new Kernel(host, slot, userspace, limit, surroundings.keyHolders);
  const knownWays = new KnownPaths(surroundings);
  const keyAgreement = new KeyAgreement({ ...surroundings, kernel });
  const dialer = new Dialer({ ...surroundings, kernel, knownWays, keyAgreement });
  const probe = new Probe({ ...surroundings, kernel, knownWays });
  const controller = new Controller({ ...surroundings, kernel, dialer, probe });
  const quality = new TunnelQuality(surroundings);
  const qualityFailover = new QualityFailover({ ...surroundings, controller, quality });
  const failback = new Failback({
    ...surroundings,
    controller,
    isHeld: (target) => qualityFailover.holds(target),
  });
  const supervisor = new Supervisor({
    ...surroundings,
    ...{ controller, kernel, knownWays, quality, failback, qualityFailover },
  });
  return { name, slot, controller, supervisor, quality };
}
