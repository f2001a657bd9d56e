import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { titleOf } from "../servers/hops.ts";
import type { Server } from "../servers/schema.ts";
import type { LinkReconciler } from "./link-reconciler.ts";
import type { Moved } from "./moved.ts";
import type { Requests } from "./requests.ts";
import { sameServer } from "./session.ts";
import { type Connected, isUnanswered, type Reconnecting } from "./state.ts";
import type { StateMachine } from "./state-machine.ts";
import type { Asked, Candidate, Target } from "./target.ts";
import type { TargetDialer } from "./target-dialer.ts";

interface Deps {
  machine: StateMachine;
  requests: Requests;
  dialer: TargetDialer;
  reconciler: LinkReconciler;
  killSwitch: Pick<KillSwitch, "network">;
  log: Pick<Log, "info">;
}

/** Dials that nobody has requested: to a server that is silent, or to a target that is better. A request ends them. */
export class AutomaticDials {
  /** Whether a live tunnel is being led elsewhere. */
  isMoving = false;

  constructor(private readonly deps: Deps) {}

  /**
   * One attempt to leave `reconnecting`, or a server that carries nothing, with a new interface and a newly resolved
   * endpoint; throws if it fails.
   */
  redial(target: Target, asked: Asked, attempt: AbortSignal): Promise<void> {
    const { machine, requests, reconciler } = this.deps;
    const signal = AbortSignal.any([requests.signal, attempt]);
    return requests.add(async () => {
      const { state } = machine;
      if (!(state.name === "reconnecting" || isUnanswered(state)) || signal.aborted) return;
      try {
        await this.leave(state, target, asked, signal);
      } catch (error) {
        // While the uplink is down, or the tunnel carries nothing, that explains more than the failure of an attempt.
        const isSaid = isUnanswered(state) || !this.deps.killSwitch.network.online;
        if (!signal.aborted && (!isSaid || machine.error === null)) machine.error = messageOf(error);
        await reconciler.settle();
        throw error;
      }
      await reconciler.retire(state.session, signal);
    });
  }

  private async leave(
    state: Reconnecting | Connected,
    target: Target,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<void> {
    const { machine, dialer } = this.deps;
    const { session, since } = state;
    const former = session === null ? null : { session, alive: false, dead: machine.isDead };
    const arrived = await dialer.dial(target, former, signal);
    const isSame = session !== null && sameServer(session.server, arrived.server);
    dialer.arrive(arrived, asked, isSame ? { since } : { moved: movedFrom(state) });
  }

  /**
   * One attempt to lead a live tunnel to one of these; returns whether it was. Its session carries traffic meanwhile,
   * and stays if none of them answers. Such an attempt is not announced: for devices, nothing has changed.
   */
  async moveBeside(
    others: readonly Candidate[],
    because: Moved["because"],
    attempt: AbortSignal,
  ): Promise<boolean> {
    const { requests } = this.deps;
    // A connect that waits for its turn is what a person wants last.
    if (this.isMoving || requests.wanted !== null) return false;
    const signal = AbortSignal.any([requests.signal, attempt]);
    this.isMoving = true;
    try {
      for (const each of others)
        if (await requests.add(() => this.tryBeside(each, because, signal))) return true;
      return false;
    } finally {
      this.isMoving = false;
    }
  }

  private async tryBeside(
    { target, asked }: Candidate,
    because: Moved["because"],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { machine, dialer, reconciler, log } = this.deps;
    const { state } = machine;
    if (signal.aborted || state.name !== "connected" || isUnanswered(state)) return false;
    const { session } = state;
    try {
      const arrived = await dialer.dial(target, { session, alive: true, dead: false }, signal);
      dialer.arrive(arrived, asked, { moved: { from: session.server.name, because } });
    } catch (error) {
      // What was permitted for the attempt is closed again.
      await reconciler.settle();
      if (!signal.aborted) log.info(`staying at ${titleOf(session.server)}: ${messageOf(error)}`);
      return false;
    }
    log.info(movedText(session.server, target, because));
    await reconciler.retire(session, signal);
    return true;
  }
}

function movedFrom(state: Reconnecting | Connected): Moved {
  return state.name === "connected"
    ? { from: state.session.server.name, because: "carries_nothing" }
    : { from: state.server.name, because: "silent" };
}

function movedText(from: Server, { name }: Target, because: Moved["because"]): string {
  return because === "better_answers"
    ? `${name} answers again: back at it`
    : `${titleOf(from)} is ${because}: moved to ${name}`;
}
