import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { OtherFirewalls } from "../killswitch/other-firewalls.ts";
import type { Repairs } from "../killswitch/repairs.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Slot } from "../network/slot.ts";
import type { Provider, Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { AutomaticDials } from "./automatic-dials.ts";
import { Connect, type ConnectDeps } from "./connect.ts";
import type { Dialer } from "./dialer.ts";
import type { Bytes, Kernel } from "./kernel.ts";
import { LinkReconciler } from "./link-reconciler.ts";
import { Losses } from "./losses.ts";
import type { Moved } from "./moved.ts";
import type { OrderTarget, Rules } from "./order.ts";
import type { Probe } from "./probe.ts";
import { refused } from "./refusals.ts";
import { RequestedTarget } from "./requested-target.ts";
import { type Move, Requests } from "./requests.ts";
import type { SavedState } from "./saved-state.ts";
import { TunnelStart } from "./start.ts";
import type { State } from "./state.ts";
import { type StateListener, StateMachine } from "./state-machine.ts";
import { StatusReader } from "./status-reader.ts";
import { type Asked, type Candidate, candidatesOf, exitOf, type Target, type TargetSpec } from "./target.ts";
import { TargetDialer } from "./target-dialer.ts";
import type { TunnelIntent } from "./tunnel-facts.ts";
import { WantedConnection } from "./wanted-connection.ts";

interface Deps {
  host: Host;
  kernel: Kernel;
  killSwitch: KillSwitch;
  otherFirewalls: OtherFirewalls;
  dialer: Dialer;
  probe: Probe;
  repairs: Repairs;
  savedState: SavedState;
  /** The tunnel's name: the owner of its part of the kill switch. */
  name: string;
  slot: Slot;
  /** The other tunnel that uses this server with the same key, or null. */
  conflictOf: (server: Server) => string | null;
  /** Whether a start reconnects to the last server. */
  autoconnect: boolean;
  /** A target of the tunnel's order, as it can be reached now; null if it cannot. */
  found: (wanted: OrderTarget, tunnel: string) => Target | null;
  log: Pick<Log, "info" | "warn">;
}

/**
 * Owns one tunnel: its state, and the queue in which everything that may change it waits for its turn. If anything
 * fails, the firewall stays as it was or blocks everything.
 */
export class Controller {
  /** Takes up what an earlier process has left. */
  readonly start: TunnelStart;
  private readonly machine = new StateMachine();
  private readonly requests = new Requests();
  private readonly requested: RequestedTarget;
  private readonly automatic: AutomaticDials;
  private readonly reader: StatusReader;
  private readonly losses: Losses;
  private readonly parts: ConnectDeps;
  private removal: Promise<void> | null = null;

  constructor(private readonly deps: Deps) {
    const { machine, requests } = this;
    const wanted = new WantedConnection(deps);
    const reconciler = new LinkReconciler(deps, machine);
    const dialer = new TargetDialer({ ...deps, machine, wanted });
    this.requested = new RequestedTarget(machine, requests, wanted);
    this.parts = { ...deps, machine, requests, requested: this.requested, wanted, dialer, reconciler };
    this.start = new TunnelStart({ ...deps, ...this.parts });
    this.automatic = new AutomaticDials({ ...deps, ...this.parts });
    this.losses = new Losses({ ...deps, ...this.parts });
    this.reader = new StatusReader(deps);
  }

  get state(): State {
    return this.machine.state;
  }

  /** The state without regard to a dial: during a connect, that of the former tunnel, if there is one. */
  get standing(): State | null {
    return this.machine.standing;
  }

  /** Whether its server answers, even if only by handshakes. */
  get isAlive(): boolean {
    return this.machine.isAlive;
  }

  /** Whether packets that are sent into the tunnel are answered. */
  get carriesData(): boolean {
    return this.machine.carriesData;
  }

  /** Whether a connect is under way or waits for its turn. */
  get isAsked(): boolean {
    return this.requests.wanted !== null;
  }

  /** Whether it is being led elsewhere, which may take minutes. */
  get isMoving(): boolean {
    return this.isAsked || this.automatic.isMoving;
  }

  get network(): HostNetwork {
    return this.deps.killSwitch.network;
  }

  /** Set while the tunnel is being removed, and afterwards. */
  get ending(): Promise<void> | null {
    return this.removal;
  }

  /** Why the tunnel's links and routes may differ from what the state requires, or null. */
  get unsettled(): string | null {
    return this.parts.reconciler.unsettled;
  }

  /** Calls back after every change of state. */
  onChange(listener: StateListener): void {
    this.machine.onChange(listener);
  }

  /**
   * Connects to a server, or to the nearest one of a place, unless the tunnel leads there already; of several targets, to
   * the first that works. Resolves once traffic can flow. If it throws, the former tunnel is in place: `no_answer` if the
   * server is silent, `interrupted` if another connect or a disconnect came, or another code. With `asked`, a tunnel that
   * leads there moves too: to one of the servers that `wanted` has, which is saved as chosen for what was asked.
   */
  connect(wanted: Target | readonly Target[], asked?: Asked, rules: Rules = {}): Promise<void> {
    if (this.ending !== null) return Promise.reject(refused("interrupted_by_removal"));
    const targets = "length" in wanted ? wanted : [wanted];
    const move: Move = (signal, answer) =>
      new Connect(this.parts, targets, { signal, answer, asked, rules }).run();
    // Rules are of no meaning for one target. What the gateway itself asks for is not what a person does.
    return this.requests.connect(targets, move, asked ?? (targets.length > 1 ? rules : {}));
  }

  /** Throws if the database cannot be written: a restart would connect it again. */
  async disconnect(): Promise<void> {
    await this.requests.disconnect(() => this.endTunnel());
    this.deps.savedState.assertSaved();
  }

  private async endTunnel(): Promise<void> {
    const { machine, wanted, reconciler } = this.parts;
    const former = machine.session;
    wanted.clear();
    machine.enter({ type: "disconnect" }, null);
    try {
      wanted.save();
      await reconciler.end(former);
    } catch (error) {
      await reconciler.settle();
      throw error;
    }
  }

  /** Disconnects for good, and leaves nothing in the kernel. If it throws, the tunnel can be used again. */
  end(): Promise<void> {
    this.removal ??= this.leave().catch((error: unknown) => {
      this.removal = null;
      throw error;
    });
    return this.removal;
  }

  private async leave(): Promise<void> {
    await this.requests.disconnect(() => this.endTunnel());
    await this.settle();
    if (this.unsettled !== null) throw refused("tunnel_not_removed", { reason: this.unsettled });
    await this.parts.reconciler.withdraw();
  }

  /** Ends the present work and closes whatever was opened for it; the tunnel stays. */
  stop(): Promise<void> {
    return this.requests.stop();
  }

  /** Runs work that must not coincide with a change of the tunnel; the next connect or disconnect interrupts it. */
  beside<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.requests.beside(work);
  }

  /** Makes the kernel match the state, once a decision has been made. A failure is logged, and retried by `repair`. */
  settle(decide = () => {}): Promise<void> {
    return this.requests.add(async () => {
      decide();
      await this.parts.reconciler.settle();
    });
  }

  /** Retries what failed to apply. */
  async repair(): Promise<void> {
    if (this.unsettled !== null) await this.settle();
    await this.fit();
  }

  /** Gives the routes the MTU of the path, if it has become known since they were made. */
  async fit(): Promise<void> {
    const { requests, reconciler } = this.parts;
    if (!reconciler.fits) await requests.add(() => reconciler.fit());
  }

  /** See `AutomaticDials`. */
  redial(target: Target, attempt: AbortSignal, asked = this.asked): Promise<void> {
    return this.automatic.redial(target, asked, attempt);
  }

  moveBeside(
    others: readonly Candidate[],
    because: Moved["because"],
    attempt: AbortSignal,
  ): Promise<boolean> {
    return this.automatic.moveBeside(others, because, attempt);
  }

  /** See `Losses`. */
  lost(why: string, dead = true): void {
    this.losses.lost(why, dead);
  }

  recovered(): void {
    this.losses.recovered();
  }

  unanswered(): void {
    this.losses.unanswered();
  }

  answered(): void {
    this.losses.answered();
  }

  checkTunnel(): Promise<void> {
    return this.losses.checkLink();
  }

  dropUnusable(): Promise<void> {
    return this.losses.dropUnusable();
  }

  /** The status in the current state, or in one that has just been left; `stands` is the firewall, if it was read. */
  status(provider: Provider, state = this.state, stands?: boolean) {
    return this.reader.status(state, this.told, provider, stands);
  }

  /** The tunnel's own figures, in the current state or in one that has just been left. */
  row(state = this.state) {
    return this.reader.row(state, this.told);
  }

  /** The same without what only the kernel knows. */
  known(state = this.state) {
    return this.reader.known(state, this.told);
  }

  /** What the session has carried; zeros without one. */
  carried(): Promise<Bytes> {
    return this.reader.carried(this.state);
  }

  private get told(): TunnelIntent {
    const { spec, order } = this.requested;
    return { error: this.machine.error, spec, order };
  }

  /** What was requested, as it is saved with the server. */
  get asked(): Asked {
    return this.parts.wanted.asked;
  }

  /** Whether it leads nowhere, and should not. */
  get leadsNowhere(): boolean {
    return this.requested.spec === null;
  }

  /** Whether its keys should be safe from quantum computers, as was asked for with where it should lead. */
  get quantum(): TargetSpec["quantum"] {
    return this.requested.spec?.quantum;
  }

  /**
   * Whether this tunnel uses the server. The target of a failed connect does not count, because nothing is left that
   * needs it.
   */
  uses(provider: Provider, name: string): boolean {
    const candidates = (this.requests.wanted ?? []).flatMap((wanted) => candidatesOf(exitOf(wanted)));
    return [...candidates, ...this.servers].some(
      (server) => server.provider === provider && server.name === name,
    );
  }

  /** The servers that the tunnel has a session with, or has chosen. */
  get servers(): readonly Server[] {
    const { machine, dialer } = this.parts;
    const { state, session } = machine;
    const tried = state.name === "reconnecting" ? state.server : null;
    return [session?.server, tried, dialer.dialled].filter((server) => server != null);
  }
}
