import { answerOf } from "../base/fact.ts";
import { shared } from "../base/readings.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import { ROOM_FACTS, type SeenGateway } from "./gateway-facts.ts";
import type { PastConnections } from "./past-connections.ts";
import type { SavedState } from "./saved-state.ts";
import type { Status, TunnelRow } from "./schema.ts";
import type { State } from "./state.ts";
import type { Tunnel } from "./tunnel.ts";
import { type Past, USE_FACTS } from "./tunnel-facts.ts";
import type { Tunnels } from "./tunnels.ts";

/** Devices, forwards and events are in rooms that come after this one, so it has only their shapes. */
interface Deps {
  tunnels: Tunnels;
  catalogue: Pick<Catalogue, "current">;
  savedState: Pick<SavedState, "trouble">;
  past: Pick<PastConnections, "last">;
  devices: SeenGateway["devices"] & {
    /** The number of known devices by exit. */
    counts(): Record<string, number>;
    readonly exitsLost: string | null;
  };
  destinations: SeenGateway["destinations"];
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
    const { tunnels, catalogue, savedState, devices, forwards, alerts } = this.deps;
    const { main, uplink } = tunnels;
    const past = this.pastOf(main, state);
    const read = await main.controller.status(catalogue.current(), state);
    const around = { ...past, uplink: uplink.quality.shown, ports: forwards.portsOf(main.name) };
    return {
      ...read,
      error: read.error ?? savedState.trouble ?? devices.exitsLost ?? alerts.damage,
      ...answerOf(ROOM_FACTS, { ...this.deps, ...around }),
    };
  }

  async rowOf(tunnel: Tunnel, state = tunnel.controller.state): Promise<TunnelRow> {
    const past = this.pastOf(tunnel, state);
    const row = await tunnel.controller.row(state);
    const devices = this.deps.devices.counts()[tunnel.name] ?? 0;
    return { ...row, ...answerOf(USE_FACTS, { ...past, devices }) };
  }

  /** Of the same moment as the state. */
  private pastOf({ name, controller, quality }: Tunnel, state: State): Past {
    return {
      quality: quality.measuredIn(state)?.quality ?? null,
      last: controller.leadsNowhere ? this.deps.past.last(name) : null,
    };
  }
}
