import { answerOf } from "../base/fact.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { OtherFirewalls } from "../killswitch/other-firewalls.ts";
import type { Provider } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { MAIN_FACTS } from "./gateway-facts.ts";
import type { Bytes, Kernel } from "./kernel.ts";
import { mtuOf } from "./mtu.ts";
import type { Order } from "./order.ts";
import type { SavedState } from "./saved-state.ts";
import { carriedBy, type State } from "./state.ts";
import type { TargetSpec } from "./target.ts";
import { ROW_FACTS, type SeenTunnel } from "./tunnel-facts.ts";

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
    { provider, order, stands }: { provider: Provider; order: Order | null; stands?: boolean },
  ) {
    const { killSwitch, otherFirewalls } = this.deps;
    const troubles = [error, killSwitch.foreignRule.message, otherFirewalls.notice.message];
    const [seen, killSwitchStands] = await Promise.all([
      this.seen(state, error, order),
      stands ?? killSwitch.stands(),
    ]);
    return answerOf(MAIN_FACTS, {
      ...seen,
      provider,
      killSwitch: killSwitchStands,
      error: troubles.filter((trouble) => trouble !== null).join("; ") || null,
    });
  }

  /** The tunnel's own figures; `spec` is where it should lead, as clients name it. */
  async row(
    state: State,
    error: string | null,
    { spec, order }: { spec: (TargetSpec & { provider: Provider }) | null; order: Order | null },
  ) {
    return this.rowOf(await this.seen(state, error, order), spec);
  }

  /** The same without a look at the kernel, and so without figures. */
  known(
    state: State,
    error: string | null,
    { spec, order }: { spec: (TargetSpec & { provider: Provider }) | null; order: Order | null },
  ) {
    const now = this.deps.host.monotonic();
    return this.rowOf({ state, peer: null, error, mtu: null, order, now }, spec);
  }

  private rowOf(seen: SeenTunnel, spec: (TargetSpec & { provider: Provider }) | null) {
    const { name, savedState } = this.deps;
    return answerOf(ROW_FACTS, {
      ...seen,
      name,
      spec,
      wantedQuantum: spec?.quantum ?? savedState.quantum(name),
    });
  }

  /** What the session has carried; zeros without one. */
  async carried(state: State): Promise<Bytes> {
    const session = carriedBy(state);
    return session === null ? { rx_bytes: 0, tx_bytes: 0 } : this.deps.kernel.carried(session.link);
  }

  private async seen(state: State, error: string | null, order: Order | null): Promise<SeenTunnel> {
    const { host, kernel, killSwitch, savedState } = this.deps;
    const session = carriedBy(state);
    const device = session && (await kernel.shown(session.link));
    const mtu = session && mtuOf(session, killSwitch.network, savedState);
    return { state, peer: device?.peer ?? null, error, mtu, order, now: host.monotonic() };
  }
}
