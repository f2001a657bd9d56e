import { answerOf } from "../base/fact.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { OtherFirewalls } from "../killswitch/other-firewalls.ts";
import type { Provider } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { MAIN_FACTS } from "./gateway-facts.ts";
import type { Bytes, Kernel } from "./kernel.ts";
import { mtuOf } from "./mtu.ts";
import type { SavedState } from "./saved-state.ts";
import { carriedBy, liveIn, type State } from "./state.ts";
import { ROW_FACTS, type SeenTunnel, type TunnelIntent } from "./tunnel-facts.ts";

interface Deps {
  host: Pick<Host, "monotonic">;
  kernel: Kernel;
  killSwitch: KillSwitch;
  otherFirewalls: OtherFirewalls;
  savedState: SavedState;
  /** The tunnel's name. */
  name: string;
}

/** Reads the kernel's part of a tunnel's status. */
export class StatusReader {
  constructor(private readonly deps: Deps) {}

  /** `stands` is whether the firewall does, if that was read. */
  async status(state: State, told: TunnelIntent, provider: Provider, stands: boolean | undefined) {
    const { killSwitch, otherFirewalls } = this.deps;
    const troubles = [told.error, killSwitch.foreignRule.message, otherFirewalls.notice.message];
    const error = troubles.filter((trouble) => trouble !== null).join("; ") || null;
    const reading = [this.read(state, { ...told, error }), stands ?? killSwitch.stands()] as const;
    const [seen, isStanding] = await Promise.all(reading);
    return answerOf(MAIN_FACTS, { ...seen, provider, killSwitch: isStanding });
  }

  /** The tunnel's own figures. */
  async row(state: State, told: TunnelIntent) {
    return answerOf(ROW_FACTS, await this.read(state, told));
  }

  /** The same without a look at the kernel, and so without figures. */
  known(state: State, told: TunnelIntent) {
    return answerOf(ROW_FACTS, this.seen(state, told, { peer: null, mtu: null }));
  }

  /** What the session has carried; zeros without one. */
  async carried(state: State): Promise<Bytes> {
    const session = carriedBy(state);
    return session === null ? { rx_bytes: 0, tx_bytes: 0 } : this.deps.kernel.carried(session.link);
  }

  private async read(state: State, told: TunnelIntent): Promise<SeenTunnel> {
    const { kernel, killSwitch, savedState } = this.deps;
    const session = carriedBy(state);
    const device = session && (await kernel.shown(session.link));
    const mtu = session && mtuOf(session, killSwitch.network, savedState);
    return this.seen(state, told, { peer: device?.peer ?? null, mtu });
  }

  private seen(state: State, told: TunnelIntent, kernel: Pick<SeenTunnel, "peer" | "mtu">): SeenTunnel {
    const { host, savedState, name } = this.deps;
    const wantedQuantum = told.spec?.quantum ?? savedState.quantum(name);
    return { name, state, live: liveIn(state), ...told, ...kernel, wantedQuantum, now: host.monotonic() };
  }
}
