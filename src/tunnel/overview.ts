import { shared } from "../base/readings.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { PastConnections } from "./past-connections.ts";
import type { SavedState } from "./saved-state.ts";
import type { Status, TunnelRow } from "./schema.ts";
import type { State } from "./state.ts";
import type { Tunnel } from "./tunnel.ts";
import type { Tunnels } from "./tunnels.ts";

/** Devices, forwards and events are in rooms that come after this one, so it has only their shapes. */
interface Deps {
  tunnels: Tunnels;
  catalogue: Pick<Catalogue, "current">;
  savedState: Pick<SavedState, "trouble">;
  past: Pick<PastConnections, "last">;
  devices: {
    /** The number of known devices by exit. */
    counts(): Record<string, number>;
    readonly direct: { devices: readonly unknown[] };
    /** The number of devices with a rate of their own. */
    readonly limitedCount: number;
    readonly exitsLost: string | null;
  };
  destinations: {
    /** The number of rules by exit. */
    counts(): Record<string, number>;
  };
  forwards: { portsOf(tunnel: string): number[] };
  alerts: { readonly damage: string | null };
}

/** What the gateway says of itself and of its tunnels. Reading the kernel's state may start programs. */
export class Overview {
  readonly status = shared(() => this.statusIn());
  /** `main` first, then by name. */
  readonly rows = shared(() => Promise.all(this.deps.tunnels.all().map((tunnel) => this.rowOf(tunnel))));
  /** The status, and each row with the state that it tells: all of one moment, so that none contradicts another. */
  readonly whole = shared(async () => {
    const states = this.deps.tunnels.all().map((tunnel) => ({ tunnel, state: tunnel.controller.state }));
    const main = states.find(({ tunnel }) => tunnel === this.deps.tunnels.main);
    const [status, tunnels] = await Promise.all([
      this.statusIn(main?.state),
      Promise.all(states.map(async ({ tunnel, state }) => ({ row: await this.rowOf(tunnel, state), state }))),
    ]);
    return { status, tunnels };
  });
  /** Null while the kill switch works as promised; otherwise one line that says why it does not. */
  readonly health = shared(
    async () => (await this.deps.tunnels.protection.fault()) ?? this.deps.tunnels.fault,
  );

  constructor(private readonly deps: Deps) {}

  async statusIn(state = this.deps.tunnels.main.controller.state): Promise<Status> {
    const { tunnels, catalogue, savedState, devices, destinations, forwards, alerts } = this.deps;
    // Of the same moment as the state.
    const quality = shownQuality(tunnels.main, state);
    const read = await tunnels.main.controller.status(catalogue.current(), state);
    const ports = forwards.portsOf(tunnels.main.name);
    const uplink = tunnels.uplink.quality.shown;
    return {
      ...read,
      error: read.error ?? savedState.trouble ?? devices.exitsLost ?? alerts.damage,
      direct_devices: devices.direct.devices.length,
      direct_destinations: destinations.counts().direct ?? 0,
      ...quality,
      ...this.lastOf(tunnels.main),
      ...(uplink !== null && { uplink_quality: uplink }),
      ...(ports.length > 0 && { forwarded_ports: ports }),
      ...(devices.limitedCount > 0 && { limited_devices: devices.limitedCount }),
    };
  }

  async rowOf(tunnel: Tunnel, state = tunnel.controller.state): Promise<TunnelRow> {
    const quality = shownQuality(tunnel, state);
    return {
      ...(await tunnel.controller.row(state)),
      devices: this.deps.devices.counts()[tunnel.name] ?? 0,
      ...quality,
      ...this.lastOf(tunnel),
    };
  }

  private lastOf({ name, controller }: Tunnel): Pick<TunnelRow, "last"> {
    const last = controller.leadsNowhere ? this.deps.past.last(name) : null;
    return last === null ? {} : { last };
  }
}

function shownQuality({ quality }: Tunnel, state: State): Pick<TunnelRow, "quality"> {
  const measured = quality.measuredIn(state);
  return measured === null ? {} : { quality: measured.quality };
}
