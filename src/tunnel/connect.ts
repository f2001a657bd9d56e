import { codeOf, type GatewayError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { LinkReconciler } from "./link-reconciler.ts";
import type { Rules } from "./order.ts";
import { refused } from "./refusals.ts";
import type { RequestedTarget } from "./requested-target.ts";
import type { Requests } from "./requests.ts";
import { lacksKeys } from "./session.ts";
import type { State } from "./state.ts";
import type { StateMachine } from "./state-machine.ts";
import { type Asked, askedIn, leadsTo, type Target } from "./target.ts";
import type { TargetDialer } from "./target-dialer.ts";
import type { WantedConnection } from "./wanted-connection.ts";

export interface ConnectDeps {
  machine: StateMachine;
  requests: Requests;
  requested: RequestedTarget;
  wanted: WantedConnection;
  dialer: TargetDialer;
  reconciler: LinkReconciler;
  log: Pick<Log, "info" | "warn">;
}

interface Options {
  signal: AbortSignal;
  /** Called once traffic can flow. */
  answer: () => void;
  /** What is saved as requested, where that is not the targets. A tunnel that leads to one of them moves, too. */
  asked: Asked | undefined;
  rules: Rules;
}

/** One connect of a tunnel to the first of some targets that works. */
export class Connect {
  private readonly failures: string[] = [];

  constructor(
    private readonly deps: ConnectDeps,
    private readonly targets: readonly Target[],
    private readonly options: Options,
  ) {}

  /** Each target has a turn of its own, so that other work for the tunnel waits for one dial at most. */
  async run(): Promise<void> {
    for (const [at, target] of this.targets.entries())
      if (await this.deps.requests.add(() => this.tryTarget(target, at))) return;
  }

  /** Whether the tunnel leads to this target now; throws if there is no other one. */
  private async tryTarget(target: Target, at: number): Promise<boolean> {
    const { machine, reconciler } = this.deps;
    const { signal, answer, rules } = this.options;
    const asked = this.options.asked ?? askedIn(this.targets, at, rules);
    const { session } = machine;
    // Interrupted before its turn, it has changed nothing.
    if (machine.state.name !== "connecting") signal.throwIfAborted();
    if (!signal.aborted && this.options.asked === undefined && leadsThere(machine.standing, target)) {
      this.stay(asked);
      answer();
      return true;
    }
    try {
      await this.dial(target, asked);
    } catch (error) {
      this.failures.push(messageOf(error));
      if (at === this.targets.length - 1 || signal.aborted) return this.fail(error);
      await reconciler.settle();
      // A connect or a disconnect may have come meanwhile.
      if (signal.aborted) return this.fail(error);
      return false;
    }
    this.logFailures();
    answer();
    await reconciler.retire(session, signal);
    return true;
  }

  private async dial(target: Target, asked: Asked): Promise<void> {
    const { machine, dialer, requested } = this.deps;
    const { signal } = this.options;
    signal.throwIfAborted();
    const { session } = machine;
    const former = session && { session, alive: machine.carriesData, dead: machine.isDead };
    const first = dialer.first(target);
    if (first !== undefined) machine.enter({ type: "dial", server: first });
    const reached = await dialer.dial(target, former, signal);
    requested.reached = this.targets;
    dialer.arrive(reached, asked);
  }

  /** Returns to where the tunnel was before, and throws why. */
  private async fail(last: unknown): Promise<never> {
    const { machine, requested, reconciler } = this.deps;
    const { aborted } = this.options.signal;
    const error = this.targets.length === 1 || aborted ? last : noneOf(this.failures, last);
    requested.failed = this.targets;
    machine.enter({ type: aborted ? "interrupt" : "fail" }, messageOf(error));
    await reconciler.settle();
    throw error;
  }

  /**
   * A request for the place that a live tunnel already leads to does not move the tunnel, unless it asks for more than
   * the tunnel has. What is better in its order has failed.
   */
  private stay(asked: Asked): void {
    const { machine, requests, requested, wanted } = this.deps;
    requested.reached = requests.wanted;
    if (machine.state.name === "connecting") machine.enter({ type: "fail" });
    this.logFailures();
    if (Bun.deepEquals(wanted.asked.order, asked.order)) return;
    wanted.reorder(asked);
    wanted.save();
    // Its row has another order.
    machine.announce();
  }

  private logFailures(): void {
    for (const failure of this.failures) this.deps.log.warn(`${failure}; the next one of the order is taken`);
  }
}

function leadsThere(state: State | null, target: Target): boolean {
  return state?.name === "connected" && leadsTo(target, state.session.server) && !lacksKeys(state.session);
}

/** What is said if no target of an order works; the last one's failure decides its kind. */
function noneOf(failures: readonly string[], last: unknown): GatewayError {
  const args = { count: failures.length, reason: failures.join("; ") };
  return refused("none_works", args, { code: codeOf(last) });
}
