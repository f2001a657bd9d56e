import type { Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import type { Dialer, PreviousSession } from "./dialer.ts";
import { KeyConflicts } from "./key-conflicts.ts";
import type { Moved } from "./moved.ts";
import type { Probe } from "./probe.ts";
import { ServerPicker } from "./server-picker.ts";
import type { Session } from "./session.ts";
import type { StateMachine } from "./state-machine.ts";
import { type Asked, isHops, isPlace, type Target } from "./target.ts";
import type { WantedConnection } from "./wanted-connection.ts";

interface Deps {
  host: Pick<Host, "now" | "monotonic">;
  machine: StateMachine;
  wanted: WantedConnection;
  dialer: Dialer;
  probe: Probe;
  /** The other tunnel that uses this server with the same key, or null. */
  conflictOf: (server: Server) => string | null;
}

/** Dials targets: chooses the server, brings its session up, and enters the state of being there. */
export class TargetDialer {
  /** The server that is being dialled, which may differ from the state's server. */
  dialled: Server | null = null;
  readonly keyConflicts: KeyConflicts;
  private readonly picker: ServerPicker;

  constructor(private readonly deps: Deps) {
    this.keyConflicts = new KeyConflicts(deps.conflictOf);
    this.picker = new ServerPicker({ probe: deps.probe, keyConflicts: this.keyConflicts });
  }

  /** A server that stands for the target until one is chosen; undefined if it has none. */
  first(target: Target): Server | undefined {
    return this.picker.first(target);
  }

  /** The session with the target. It carries no state yet: the caller lets it arrive, or gives up. */
  async dial(target: Target, former: PreviousSession | null, signal: AbortSignal): Promise<Session> {
    try {
      return await this.reach(target, former, signal);
    } catch (error) {
      this.dialled = null;
      throw error;
    }
  }

  /** The tunnel leads to the session's server now. */
  arrive(
    session: Session,
    asked: Asked,
    { since = this.deps.host.monotonic(), moved }: { since?: number; moved?: Moved } = {},
  ): void {
    const { host, machine, wanted } = this.deps;
    wanted.set(session.server, host.now() - (host.monotonic() - since), asked);
    wanted.save();
    this.dialled = null;
    machine.enter({ type: "arrive", session, since, ...(moved !== undefined && { moved }) }, null);
  }

  /** Finds a place's nearest server first. That choice is not announced. */
  private async reach(target: Target, former: PreviousSession | null, signal: AbortSignal): Promise<Session> {
    const { machine, probe } = this.deps;
    if (!isHops(target) && !isPlace(target)) return this.dialServer(target, former, signal);
    const server = await probe.roundTrips.inTurn(async () => {
      this.dialled = await this.picker.nearest(target, former, signal);
      return this.dialled;
    }, signal);
    if (machine.state.name === "connecting") machine.enterSilently({ type: "dial", server });
    return this.dialServer(server, former, signal).catch((error) => {
      if (!signal.aborted) probe.roundTrips.forget(server);
      throw error;
    });
  }

  private async dialServer(
    server: Server,
    former: PreviousSession | null,
    signal: AbortSignal,
  ): Promise<Session> {
    this.keyConflicts.assertNone(server);
    // In the same turn of the event loop, so that another tunnel finds it in use.
    this.dialled = server;
    return this.deps.dialer.dial(server, former, signal);
  }
}
