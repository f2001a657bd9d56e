import type { Provider } from "../servers/schema.ts";
import type { Order } from "./order.ts";
import type { Requests } from "./requests.ts";
import type { StateMachine } from "./state-machine.ts";
import { askedIn, specOf, type Target, type TargetSpec } from "./target.ts";
import type { WantedConnection } from "./wanted-connection.ts";

/** Where a tunnel should lead: what is being requested, what was requested and failed, or where it leads. */
export class RequestedTarget {
  /** Where the last connect that failed should have led. */
  failed: readonly Target[] = [];
  /** The targets of a connect that has led to one of them, and may have work left to do. */
  reached: readonly Target[] | null = null;

  constructor(
    private readonly machine: Pick<StateMachine, "state">,
    private readonly requests: Pick<Requests, "wanted">,
    private readonly connection: Pick<WantedConnection, "spec" | "asked">,
  ) {}

  /** As clients name it; null if the tunnel should lead nowhere. */
  get spec(): (TargetSpec & { provider: Provider }) | null {
    const [wanted] = this.pending;
    return wanted === undefined ? this.connection.spec : { provider: wanted.provider, ...specOf(wanted) };
  }

  /** The targets of which it should take the first that works; null if there is at most one. */
  get order(): Order | null {
    const { pending } = this;
    return (pending.length > 0 ? askedIn(pending, 0, {}) : this.connection.asked).order ?? null;
  }

  /** What is being requested, or has failed. */
  private get pending(): readonly Target[] {
    const { wanted } = this.requests;
    if (wanted !== null && wanted !== this.reached) return wanted;
    return this.machine.state.name === "failed" ? this.failed : [];
  }
}
