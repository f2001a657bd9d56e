import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { within } from "../base/refusals.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { Quantum } from "../servers/schema.ts";
import { BACK_MINUTES } from "../shared/bounds.ts";
import type { Host } from "../system/host.ts";
import { CONNECT_BOUNDS_SECONDS, histogramOf, observed } from "./histogram.ts";
import { MOVES_WHEN, type MoveWhen, type Rules } from "./order.ts";
import { refused } from "./refusals.ts";
import type { SavedState } from "./saved-state.ts";
import { sameTarget, type Target } from "./target.ts";
import type { TargetFinder, WantedTarget } from "./target-finder.ts";
import type { Tunnels } from "./tunnels.ts";

/** What a tunnel is to be connected to: one target, or several in order, of which the first that works is taken. */
export interface ConnectRequest extends Partial<WantedTarget> {
  targets?: readonly WantedTarget[];
  /** After how long a better target than the present one is tried again; never if 0. */
  back_after_minutes?: number;
  /** Only once the tunnel has carried little for a minute. */
  back_when_quiet?: boolean;
  /** In which states a target is left whose server answers. */
  move_when?: readonly MoveWhen[];
  /** Whether its keys are made safe from quantum computers; as before if absent. */
  quantum?: Quantum;
}

interface Deps {
  tunnels: Tunnels;
  targets: TargetFinder;
  savedState: Pick<SavedState, "saveQuantum">;
  host: Pick<Host, "monotonic">;
  log: Pick<Log, "warn">;
}

/** Connects tunnels to the servers and places that people name. */
export class ConnectRequests {
  /** How long each successful connect took, in seconds. */
  durations = histogramOf(CONNECT_BOUNDS_SECONDS);

  constructor(private readonly deps: Deps) {}

  /** Resolves after the handshake with the server, or with the nearest one of a place. Makes the tunnel if there is none. */
  async connect(request: ConnectRequest, name: string = MAIN): Promise<void> {
    const { tunnels, savedState, host, log } = this.deps;
    // A name that is not a server's must not leave a new tunnel behind.
    this.targetsOf(request, name);
    const tunnel = await tunnels.opened(name);
    const start = host.monotonic();
    const targets = this.targetsOf(request, name);
    await tunnel.controller.connect(targets, undefined, rulesIn(request)).catch(async (error: unknown) => {
      await tunnels.dropUnused(tunnel).catch((why: unknown) => log.warn(`${name}: ${messageOf(why)}`));
      throw error;
    });
    if (request.quantum !== undefined) savedState.saveQuantum(request.quantum, name);
    this.durations = observed(this.durations, (host.monotonic() - start) / 1000);
  }

  private targetsOf(
    { targets, quantum, back_after_minutes, back_when_quiet, move_when, ...one }: ConnectRequest,
    name: string,
  ): readonly Target[] {
    const { server, via, transport } = one;
    if (targets === undefined) {
      for (const [field, value] of Object.entries({ back_after_minutes, back_when_quiet, move_when }))
        if (value !== undefined) throw refused("needs_targets", { field });
      if (server === undefined) throw refused("required", { field: "server" });
      return [this.targetOf({ ...one, server }, name, quantum)];
    }
    const other = { server, via, transport };
    for (const [field, value] of Object.entries(other))
      if (value !== undefined) throw refused("belongs_to_target", { field });
    if (targets.length === 1 && move_when !== undefined && move_when.length > 0)
      throw refused("needs_another_target");
    const found = targets.map((each, at) => {
      const provider = each.provider ?? one.provider;
      try {
        return this.targetOf({ ...each, ...(provider && { provider }) }, name, quantum);
      } catch (error) {
        throw within(`targets: ${at + 1}`, error);
      }
    });
    for (const [at, each] of found.entries())
      if (found.slice(0, at).some((other) => sameTarget(each, other)))
        throw refused("listed_twice", { field: `targets: ${at + 1}`, name: each.name });
    return found;
  }

  private targetOf(wanted: WantedTarget, name: string, quantum?: Quantum): Target {
    const { targets, tunnels } = this.deps;
    return targets.find(wanted, tunnels.knownOf(name), quantum);
  }
}

function rulesIn({
  back_after_minutes = BACK_MINUTES,
  back_when_quiet = false,
  move_when = [],
}: ConnectRequest): Rules {
  return {
    ...(back_after_minutes > 0 && { back_after_minutes }),
    ...(back_after_minutes > 0 && back_when_quiet && { back_when_quiet: true as const }),
    ...(move_when.length > 0 && { move_when: MOVES_WHEN.filter((each) => move_when.includes(each)) }),
  };
}
