import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { titleOf } from "../servers/hops.ts";
import type { Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import type { LinkReconciler } from "./link-reconciler.ts";
import type { Probe } from "./probe.ts";
import type { Requests } from "./requests.ts";
import { lastingClashOf } from "./session.ts";
import type { StateMachine } from "./state-machine.ts";

interface Deps {
  host: Pick<Host, "monotonic">;
  machine: StateMachine;
  requests: Requests;
  reconciler: LinkReconciler;
  probe: Pick<Probe, "roundTrips">;
  killSwitch: Pick<KillSwitch, "network">;
  log: Pick<Log, "info" | "warn">;
}

/** Enters the states that follow from what a live tunnel loses, and from what comes back. */
export class Losses {
  constructor(private readonly deps: Deps) {}

  /**
   * With `dead`, the server is known not to answer, and its devices are refused at once. Otherwise the session
   * continues until another one is up. Routes stay, so that nothing leaves outside the tunnel.
   */
  lost(why: string, dead = true): void {
    const { machine, probe, log } = this.deps;
    const before = machine.standing;
    const isKnown = before?.name === "reconnecting" && (before.dead || !dead);
    if ((before?.name !== "connected" && before?.name !== "reconnecting") || isKnown) return;
    log.warn(`${why}; reconnecting`);
    if (before.name === "connected") probe.roundTrips.forget(before.session.server);
    machine.enter({ type: "lost", dead }, why);
    // A connect permits what it dials, and knows of the loss at its next target.
    if (dead && machine.state.name !== "connecting") this.updateKillSwitch();
  }

  recovered(): void {
    const { machine } = this.deps;
    if (machine.state.name !== "reconnecting") return;
    machine.enter({ type: "recovered" }, null);
    this.updateKillSwitch();
  }

  /**
   * Data goes out, and only handshakes come back. The session stays, because only an answer through it can show that it
   * works again.
   */
  unanswered(): void {
    const { host, machine, log } = this.deps;
    const { state } = machine;
    if (state.name !== "connected" || state.unanswered !== null) return;
    const why = unansweredText(state.session.server);
    log.warn(why);
    machine.enter({ type: "unanswered", since: host.monotonic() }, why);
  }

  answered(): void {
    const { machine, log } = this.deps;
    const { state, error } = machine;
    if (state.name !== "connected" || state.unanswered === null) return;
    log.info(`${titleOf(state.session.server)} carries data again`);
    machine.enter({ type: "answered" }, error === unansweredText(state.session.server) ? null : error);
  }

  /** Restores addresses and routes that another program has removed; without its interface the tunnel is lost. */
  checkLink(): Promise<void> {
    const { requests, reconciler } = this.deps;
    return requests.add(async () => {
      if (!(await reconciler.restoreMissing(this.checkLater))) this.lost("the tunnel's interface is gone");
    });
  }

  private readonly checkLater = () => void this.checkLink().catch(() => {});

  /**
   * Drops a tunnel if the LAN now uses one of its addresses. The server is tried again, because the LAN may change
   * back.
   */
  dropUnusable(): Promise<void> {
    const { machine, requests, reconciler, killSwitch, log } = this.deps;
    return requests.add(async () => {
      const server = machine.session?.server;
      const clash = server === undefined ? null : lastingClashOf(killSwitch.network, server.config);
      if (server === undefined || clash === null) return;
      const why = `the tunnel to ${titleOf(server)} had to be dropped: ${clash}`;
      log.warn(why);
      machine.enter({ type: "drop" }, why);
      await reconciler.settle();
    });
  }

  private updateKillSwitch(): void {
    const { requests, reconciler } = this.deps;
    void reconciler.updateKillSwitch().catch(() => requests.add(() => reconciler.settle()));
  }
}

/** The message for an uplink that is down. */
export function outageOf(uplink: string | null): string {
  return uplink === null ? "the uplink is down" : `the uplink ${uplink} is down`;
}

function unansweredText(server: Server): string {
  return `${titleOf(server)} answers handshakes, but nothing else comes back through it`;
}
