import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { OtherFirewalls } from "../killswitch/other-firewalls.ts";
import type { Provider } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import type { Bytes, Kernel } from "./kernel.ts";
import { mtuOf } from "./mtu.ts";
import type { Order } from "./order.ts";
import type { SavedState } from "./saved-state.ts";
import type { TunnelRow } from "./schema.ts";
import { carriedBy, type State } from "./state.ts";
import { type Observed, rowOf, statusOf, type TunnelStatus } from "./status.ts";
import type { TargetSpec } from "./target.ts";

interface Deps {
  host: Pick<Host, "monotonic">;
  kernel: Kernel;
  killSwitch: KillSwitch;
  otherFirewalls: OtherFirewalls;
  savedState: SavedState;
  /** The tunnel's name. */
  name: string;
}

/** Reads the kernel's part of a tunnel's status in a state. `error` says why it is in that state, or is null. */
export class StatusReader {
  constructor(private readonly deps: Deps) {}

  async status(
    state: State,
    error: string | null,
    { provider, order }: { provider: Provider; order: Order | null },
  ): Promise<TunnelStatus> {
    const { killSwitch, otherFirewalls } = this.deps;
    const troubles = [error, killSwitch.foreignRule.message, otherFirewalls.notice.message];
    const [device, stands] = await Promise.all([this.deviceIn(state), killSwitch.stands()]);
    const shown = this.shown(state, {
      provider,
      device,
      killSwitch: stands,
      error: troubles.filter((trouble) => trouble !== null).join("; ") || null,
    });
    return { ...shown, ...(order !== null && { order }) };
  }

  /** The tunnel's own figures; `wanted` is where it should lead, as clients name it. */
  async row(
    state: State,
    error: string | null,
    { spec: wanted, order }: { spec: (TargetSpec & { provider: Provider }) | null; order: Order | null },
  ): Promise<Omit<TunnelRow, "devices">> {
    const device = await this.deviceIn(state);
    const quantum = wanted?.quantum ?? this.deps.savedState.quantum(this.deps.name);
    return rowOf(this.shown(state, { provider: "managed", device, killSwitch: false, error }), {
      name: this.deps.name,
      provider: wanted?.provider ?? null,
      wanted: wanted?.server ?? null,
      ...(wanted?.via !== undefined && { wanted_via: wanted.via }),
      ...(wanted?.transport !== undefined && { wanted_transport: wanted.transport }),
      ...(quantum !== "off" && { wanted_quantum: quantum }),
      ...(order !== null && { order }),
    });
  }

  /** What the session has carried; zeros without one. */
  async carried(state: State): Promise<Bytes> {
    const session = carriedBy(state);
    return session === null ? { rx_bytes: 0, tx_bytes: 0 } : this.deps.kernel.carried(session.link);
  }

  private shown(state: State, observed: Omit<Observed, "mtu" | "now">): TunnelStatus {
    const { host, killSwitch, savedState } = this.deps;
    const session = carriedBy(state);
    const mtu = session && mtuOf(session, killSwitch.network, savedState);
    return statusOf(state, { ...observed, mtu, now: host.monotonic() });
  }

  private async deviceIn(state: State): Promise<Observed["device"]> {
    const session = carriedBy(state);
    return session === null ? null : this.deps.kernel.shown(session.link);
  }
}
