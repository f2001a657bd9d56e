import { switched } from "../base/alert.ts";
import { codeOf, GatewayError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { OtherFirewalls } from "../killswitch/other-firewalls.ts";
import type { Alarm, Repairs } from "../killswitch/repairs.ts";
import { faultIn, type Inspection, type Layers } from "../killswitch/report.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Slot } from "../network/slot.ts";
import { titleOf } from "../servers/hops.ts";
import type { Provider, Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { adopted, type Known, rememberedServer } from "./adoption.ts";
import type { Dialer, Former } from "./dialer.ts";
import type { Bytes, Kernel } from "./kernel.ts";
import { KeyConflicts } from "./key-conflicts.ts";
import type { Moved } from "./moved.ts";
import type { Order, OrderTarget, Rules } from "./order.ts";
import type { Probe } from "./probe.ts";
import { type Move, Requests } from "./requests.ts";
import type { SavedState } from "./saved-state.ts";
import type { TunnelRow } from "./schema.ts";
import { ServerPicker } from "./server-picker.ts";
import { lacksKeys, lastingClashOf, type Session, sameServer } from "./session.ts";
import {
  type Connected,
  carriedBy,
  type Event,
  isUnanswered,
  type Reconnecting,
  type State,
  transition,
} from "./state.ts";
import type { TunnelStatus } from "./status.ts";
import { StatusReader } from "./status-reader.ts";
import {
  type Asked,
  askedIn,
  type Candidate,
  candidatesOf,
  exitOf,
  isHops,
  isPlace,
  leadsTo,
  placesIn,
  type Target,
  type Words,
  wordsOf,
} from "./target.ts";
import { Upkeep } from "./upkeep.ts";
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
  alarm: Alarm;
}

/** The tunnel that an earlier process has left. */
export interface Left {
  /** Names of the interfaces that exist. */
  links: readonly string[];
  known: Known;
  network: HostNetwork;
}

/** How a connect is carried out. */
interface Moving {
  signal: AbortSignal;
  answer: () => void;
  asked: Asked | undefined;
  rules: Rules;
}

/** `error` says why the tunnel is in that state, if something failed. */
export type StateListener = (state: State, error: string | null) => void;

/**
 * Owns one tunnel: connects, disconnects, and handles what happens to it. If anything fails, the firewall stays as it
 * was or blocks everything.
 */
export class Controller {
  private current: State = { name: "disconnected" };
  /** Why the tunnel is in that state, if something failed. */
  private error: string | null = null;
  /** The server that is being dialled, which may differ from the state's server. */
  private dialled: Server | null = null;
  /** Where the last connect that failed should have led. */
  private failed: readonly Target[] = [];
  /** What the operator asked for last. */
  private switchWanted = true;
  /** The targets of a connect that has led to one of them, and may have work left to do. */
  private reached: readonly Target[] | null = null;
  private isMovingBeside = false;
  private readonly requests = new Requests();
  private readonly aim: WantedConnection;
  private readonly upkeep: Upkeep;
  private readonly keyConflicts: KeyConflicts;
  private readonly choice: ServerPicker;
  private readonly reader: StatusReader;
  private removal: Promise<void> | null = null;
  private readonly listeners = new Set<StateListener>();
  /** Whether the operator wants the kill switch, as far as that has been announced. */
  private switchTold: boolean;
  private readonly switchListeners = new Set<() => void>();

  constructor(private readonly deps: Deps) {
    this.switchTold = deps.savedState.killSwitchWanted();
    this.aim = new WantedConnection(deps);
    this.upkeep = new Upkeep(
      deps,
      () => carriedBy(this.current),
      () => !this.isDead,
    );
    this.keyConflicts = new KeyConflicts(deps.conflictOf);
    this.choice = new ServerPicker({ ...deps, keyConflicts: this.keyConflicts });
    this.reader = new StatusReader(deps);
  }

  get state(): State {
    return this.current;
  }

  /** The state without regard to a dial: during a connect, that of the former tunnel, if there is one. */
  get standing(): State | null {
    return this.current.name === "connecting" ? this.current.former : this.current;
  }

  /** Whether it is being led elsewhere, which may take minutes. */
  get isMoving(): boolean {
    return this.isAsked || this.isMovingBeside;
  }

  get network(): HostNetwork {
    return this.deps.killSwitch.network;
  }

  get lans(): HostNetwork["lans"] {
    return this.network.lans;
  }

  /** Set while the tunnel is being removed, and afterwards. */
  get ending(): Promise<void> | null {
    return this.removal;
  }

  /** Whether a connect is under way or waits for its turn. */
  get isAsked(): boolean {
    return this.requests.wanted !== null;
  }

  /** Whether its server answers, even if only by handshakes. */
  get isAlive(): boolean {
    return this.standing?.name === "connected";
  }

  /** Whether packets that are sent into the tunnel are answered. */
  get carriesData(): boolean {
    const state = this.standing;
    return state?.name === "connected" && !isUnanswered(state);
  }

  /** Whether its server is known not to answer. */
  private get isDead(): boolean {
    const state = this.standing;
    return state?.name === "reconnecting" && state.dead;
  }

  /** Calls back after every change of state. */
  onChange(listener: StateListener): void {
    this.listeners.add(listener);
  }

  /** Takes up the tunnel that an earlier process has left in the kernel. To be called before the kill switch is loaded. */
  async adopt({ links, known, network }: Left): Promise<void> {
    const present = links.filter((link) => this.deps.slot.links.includes(link));
    if (present.length > 0)
      this.current = (await adopted(this.deps, { present, known, network })) ?? this.current;
    const state = this.current;
    const server = state.name === "reconnecting" ? state.server : carriedBy(state)?.server;
    const { found, name } = this.deps;
    if (server !== undefined) this.aim.adopt(server, (wanted) => found(wanted, name));
    await this.upkeep.updateKillSwitch();
  }

  /**
   * Removes an interface that could not be adopted, and reconnects to the last server. To be called with the kill
   * switch in place.
   */
  async begin({ links, known, network }: Left): Promise<void> {
    const { kernel, autoconnect, host, log } = this.deps;
    const kept = carriedBy(this.current);
    if (kept !== null && !network.online) this.error = outageOf(network.uplink);
    await kernel.closeOthers(links, kept);
    if (kept !== null) {
      // A connect or a disconnect was interrupted. The state in the kernel counts, also after the next start.
      this.aim.saveIfChanged();
      return log.info(`the tunnel to ${titleOf(kept.server)} is up already: adopting it`);
    }
    if (this.current.name === "reconnecting")
      return log.info(
        `reconnecting to ${titleOf(this.current.server)}: its relay has ended with the service`,
      );
    const { saved } = this.aim;
    const last = autoconnect && saved !== null ? rememberedServer(saved, known) : null;
    if (last === null) return;
    const fault = this.keyConflicts.faultOf(last);
    if (fault !== null) return log.warn(`not reconnecting to ${titleOf(last)}: ${fault}`);
    log.info(`reconnecting to ${titleOf(last)}, as before the restart`);
    this.aim.resume();
    this.enter({ type: "resume", server: last, since: host.monotonic() });
  }

  /**
   * If the last server has left its list, or another tunnel has it now, connects to the best other target of the order.
   * To be called once all tunnels have begun: their own servers are not taken from them.
   */
  beginElsewhere(): void {
    const { autoconnect, host, log } = this.deps;
    const { saved } = this.aim;
    if (!autoconnect || saved?.order === undefined || this.current.name !== "disconnected") return;
    const next = this.firstInOrder(saved.order);
    if (next === null) return;
    log.info(`connecting to ${titleOf(next.server)}: ${saved.name} cannot be reached again`);
    this.aim.resume();
    this.aim.set(next.server, host.now(), next.asked);
    this.enter({ type: "resume", server: next.server, since: host.monotonic() });
  }

  /** The best target of an order that can be had, and a server of it; null without one. */
  private firstInOrder(order: Order): { server: Server; asked: Asked } | null {
    const { found, name } = this.deps;
    for (const [at, wanted] of order.targets.entries()) {
      const target = found(wanted, name);
      const server = target && this.freeOf(target);
      if (target && server) return { server, asked: { ...placesIn(target), order: { ...order, at } } };
    }
    return null;
  }

  /** The target's first server; null if other tunnels have all of them. */
  private freeOf(target: Target): Server | null {
    try {
      return this.choice.first(target) ?? null;
    } catch {
      return null;
    }
  }

  /**
   * Connects to a server, or to the nearest one of a place, unless the tunnel leads there already; of several targets, to
   * the first that works. Resolves once traffic can flow. If it throws, the former tunnel is in place: `no_answer` if the
   * server is silent, `interrupted` if another connect or a disconnect came, or another code. With `asked`, a tunnel that
   * leads there moves too: to one of the servers that `wanted` has, which is saved as chosen for what was asked.
   */
  connect(wanted: Target | readonly Target[], asked?: Asked, rules: Rules = {}): Promise<void> {
    if (this.ending !== null)
      return Promise.reject(new GatewayError("interrupted", "the tunnel is being removed"));
    const targets = "length" in wanted ? wanted : [wanted];
    const move: Move = (signal, answer) => this.moveTo(targets, { signal, answer, asked, rules });
    // Rules are of no meaning for one target. What the gateway itself asks for is not what a person does.
    return this.requests.connect(targets, move, asked ?? (targets.length > 1 ? rules : {}));
  }

  disconnect(): Promise<void> {
    return this.requests.disconnect(() => this.endTunnel());
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
    await this.disconnect();
    await this.requests.add(() => this.upkeep.settle());
    if (this.unsettled !== null)
      throw new GatewayError("kernel_refused", `the tunnel could not be removed: ${this.unsettled}`);
    await this.upkeep.withdraw();
  }

  /** Ends the present work and closes whatever was opened for it; the tunnel stays. */
  stop(): Promise<void> {
    return this.requests.stop();
  }

  /** For the operator only; HTTP clients cannot reach it. */
  setKillSwitch(wanted: boolean): Promise<void> {
    const { savedState, killSwitch, alarm } = this.deps;
    this.switchWanted = wanted;
    if (wanted) {
      // A connect that tries one target after the other may take minutes, and what closes does not wait for it.
      savedState.saveKillSwitch(true);
      void killSwitch.enforce().catch(() => {});
    }
    return this.requests.add(async () => {
      // One that waited for a connect must not open what has been closed since.
      if (!wanted && this.switchWanted)
        throw new GatewayError("interrupted", "interrupted by turning the kill switch on");
      savedState.saveKillSwitch(wanted);
      if (wanted !== this.switchTold) alarm(...switched(wanted));
      this.switchTold = wanted;
      // This also runs after a failure, because the kernel's state is what counts.
      await this.upkeep.settle().finally(() => this.switchListeners.forEach((listener) => void listener()));
      savedState.assertSaved();
    });
  }

  /** Calls back each time the operator has turned the kill switch on or off. */
  onKillSwitch(listener: () => void): void {
    this.switchListeners.add(listener);
  }

  /** Runs work that must not coincide with a change of the tunnel; the next connect or disconnect interrupts it. */
  beside<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.requests.beside(work);
  }

  /** One line that says why the kill switch cannot be relied on now, or null. */
  async fault(): Promise<string | null> {
    const { killSwitch, savedState } = this.deps;
    const { trouble } = this;
    if (trouble !== null) return `the network could not be configured: ${trouble}`;
    if (!savedState.killSwitchWanted()) return null;
    return faultIn(await killSwitch.inspection(this.trouble), killSwitch.foreignRule.message);
  }

  /** Each part of the kill switch, read from the kernel now, whatever its events say. */
  inspection(): Promise<Inspection> {
    const { killSwitch } = this.deps;
    killSwitch.changed();
    return killSwitch.inspection(this.trouble);
  }

  /** The kill switch's layers as the kernel has them, and why the last change did not reach it, or null. */
  async layers(): Promise<Layers & { direct: number; trouble: string | null }> {
    return { ...(await this.deps.killSwitch.layers()), trouble: this.trouble };
  }

  private get trouble(): string | null {
    return this.deps.killSwitch.fault ?? this.unsettled;
  }

  /** Why the tunnel's links and routes may differ from what the state requires, or null. */
  get unsettled(): string | null {
    return this.upkeep.unsettled;
  }

  /** The status in the current state, or in one that has just been left. */
  status(provider: Provider, state: State = this.current): Promise<TunnelStatus> {
    return this.reader.status(state, this.error, { provider, order: this.order });
  }

  /** The tunnel's own figures, in the current state or in one that has just been left. */
  row(state: State = this.current): Promise<Omit<TunnelRow, "devices">> {
    return this.reader.row(state, this.error, { words: this.words, order: this.order });
  }

  /** What the session has carried; zeros without one. */
  carried(): Promise<Bytes> {
    return this.reader.carried(this.current);
  }

  /** What was requested, as it is saved with the server. */
  get asked(): Asked {
    return this.aim.asked;
  }

  /** Whether it leads nowhere, and should not. */
  get leadsNowhere(): boolean {
    return this.words === null;
  }

  /** Whether its keys should be safe from quantum computers, as was asked for with where it should lead. */
  get quantum(): Words["quantum"] {
    return this.words?.quantum;
  }

  /** Where the tunnel should lead, or should have led if that failed, in the words of the client. */
  private get words(): (Words & { provider: Provider }) | null {
    const [wanted] = this.asking;
    return wanted === undefined ? this.aim.words : { provider: wanted.provider, ...wordsOf(wanted) };
  }

  /** The targets of which it should take the first that works; null if there is at most one. */
  private get order(): Order | null {
    return (this.asking.length > 0 ? askedIn(this.asking, 0, {}) : this.aim.asked).order ?? null;
  }

  /** What is being asked for, or was in vain. */
  private get asking(): readonly Target[] {
    const { wanted } = this.requests;
    if (wanted !== null && wanted !== this.reached) return wanted;
    return this.current.name === "failed" ? this.failed : [];
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
    const state = this.current;
    const tried = state.name === "reconnecting" ? state.server : null;
    return [carriedBy(state)?.server, tried, this.dialled].filter((server) => server != null);
  }

  /**
   * With `dead`, the server is known not to answer, and its devices are refused at once. Otherwise the session
   * continues until another one is up. Routes stay, so that nothing leaves outside the tunnel.
   */
  lost(why: string, dead = true): void {
    const before = this.standing;
    const isKnown = before?.name === "reconnecting" && (before.dead || !dead);
    if ((before?.name !== "connected" && before?.name !== "reconnecting") || isKnown) return;
    this.deps.log.warn(`${why}; reconnecting`);
    if (before.name === "connected") this.deps.probe.roundTrips.forget(before.session.server);
    this.error = why;
    this.enter({ type: "lost", dead });
    // A connect permits what it dials, and knows of the loss at its next target.
    if (dead && this.current.name !== "connecting") this.updateKillSwitch();
  }

  recovered(): void {
    if (this.current.name !== "reconnecting") return;
    this.error = null;
    this.enter({ type: "recovered" });
    this.updateKillSwitch();
  }

  /**
   * Data goes out, and only handshakes come back. The session stays, because only an answer through it can show that it
   * works again.
   */
  unanswered(): void {
    const state = this.current;
    if (state.name !== "connected" || state.unanswered !== null) return;
    this.error = unansweredText(state.session.server);
    this.deps.log.warn(this.error);
    this.enter({ type: "unanswered", since: this.deps.host.monotonic() });
  }

  answered(): void {
    const state = this.current;
    if (state.name !== "connected" || state.unanswered === null) return;
    if (this.error === unansweredText(state.session.server)) this.error = null;
    this.deps.log.info(`${titleOf(state.session.server)} carries data again`);
    this.enter({ type: "answered" });
  }

  private updateKillSwitch(): void {
    void this.upkeep.updateKillSwitch().catch(() => this.requests.add(() => this.upkeep.settle()));
  }

  /**
   * One attempt to leave `reconnecting`, or a server that carries nothing, with a new interface and a newly resolved
   * endpoint; throws if it fails.
   */
  redial(wanted: Target, attempt: AbortSignal, asked = this.aim.asked): Promise<void> {
    const signal = AbortSignal.any([this.requests.signal, attempt]);
    return this.requests.add(async () => {
      const state = this.current;
      if (!(state.name === "reconnecting" || isUnanswered(state)) || signal.aborted) return;
      const { session, since } = state;
      try {
        const former = session === null ? null : { session, alive: false, dead: this.isDead };
        const arrived = await this.reach(wanted, former, signal);
        const same = session !== null && sameServer(session.server, arrived.server);
        if (same) this.arrive(arrived, asked, { since });
        else this.arrive(arrived, asked, { moved: movedFrom(state) });
      } catch (error) {
        this.dialled = null;
        // While the uplink is down, or the tunnel carries nothing, that explains more than the failure of an attempt.
        const isSaid = isUnanswered(state) || !this.deps.killSwitch.network.online;
        if (!signal.aborted && (!isSaid || this.error === null)) this.error = messageOf(error);
        await this.upkeep.settle();
        throw error;
      }
      await this.upkeep.retire(session, signal);
    });
  }

  /**
   * One attempt to lead a live tunnel to one of these; returns whether it was. Its session carries traffic meanwhile, and
   * stays if none of them answers. Nobody is told of such an attempt: for devices, nothing has changed.
   */
  async moveBeside(
    others: readonly Candidate[],
    because: Moved["because"],
    attempt: AbortSignal,
  ): Promise<boolean> {
    // A connect that waits for its turn is what a person wants last.
    if (this.isMoving) return false;
    const signal = AbortSignal.any([this.requests.signal, attempt]);
    this.isMovingBeside = true;
    try {
      for (const each of others)
        if (await this.requests.add(() => this.tryBeside(each, because, signal))) return true;
      return false;
    } finally {
      this.isMovingBeside = false;
    }
  }

  private async tryBeside(
    { target, asked }: Candidate,
    because: Moved["because"],
    signal: AbortSignal,
  ): Promise<boolean> {
    const state = this.current;
    if (signal.aborted || state.name !== "connected" || isUnanswered(state)) return false;
    const { session } = state;
    try {
      const arrived = await this.reach(target, { session, alive: true, dead: false }, signal);
      this.arrive(arrived, asked, { moved: { from: session.server.name, because } });
    } catch (error) {
      this.dialled = null;
      // What was permitted for the attempt is closed again.
      await this.upkeep.settle();
      if (!signal.aborted) this.deps.log.info(`staying at ${titleOf(session.server)}: ${messageOf(error)}`);
      return false;
    }
    this.deps.log.info(movedText(session.server, target, because));
    await this.upkeep.retire(session, signal);
    return true;
  }

  /** Restores addresses and routes that another program has removed; without its interface the tunnel is lost. */
  checkTunnel(): Promise<void> {
    return this.requests.add(async () => {
      if (!(await this.upkeep.restoreMissing(this.checkLater))) this.lost("the tunnel's interface is gone");
    });
  }

  private readonly checkLater = () => void this.checkTunnel().catch(() => {});

  /**
   * Drops a tunnel if the LAN now uses one of its addresses. The server is tried again, because the LAN may change
   * back.
   */
  dropUnusable(): Promise<void> {
    return this.requests.add(async () => {
      const server = carriedBy(this.current)?.server;
      const clash = server === undefined ? null : lastingClashOf(this.network, server.config);
      if (server === undefined || clash === null) return;
      this.error = `the tunnel to ${titleOf(server)} had to be dropped: ${clash}`;
      this.deps.log.warn(this.error);
      this.enter({ type: "drop" });
      await this.upkeep.settle();
    });
  }

  /** Retries what failed to apply. */
  async repair(): Promise<void> {
    if (this.unsettled !== null) await this.requests.add(() => this.upkeep.settle());
    await this.fit();
  }

  /** Gives the routes the MTU of the path, if it has become known since they were made. */
  async fit(): Promise<void> {
    if (!this.upkeep.fits) await this.requests.add(() => this.upkeep.fit());
  }

  private async moveTo(targets: readonly Target[], moving: Moving): Promise<void> {
    const failures: string[] = [];
    for (const at of targets.keys())
      if (await this.requests.add(() => this.tryTarget(targets, at, failures, moving))) return;
  }

  /**
   * Whether the tunnel leads to this target now; throws if there is no other one. Each has a turn of its own, so that
   * other work for the tunnel waits for one dial at most.
   */
  private async tryTarget(
    targets: readonly Target[],
    at: number,
    failures: string[],
    { signal, answer, asked, rules }: Moving,
  ): Promise<boolean> {
    const wanted = targets[at] as Target;
    const as = asked ?? askedIn(targets, at, rules);
    const session = carriedBy(this.current);
    // Interrupted before its turn, it has changed nothing.
    if (this.current.name !== "connecting") signal.throwIfAborted();
    if (!signal.aborted && asked === undefined && leadsThere(this.standing, wanted)) {
      this.stayAs(as, failures);
      answer();
      return true;
    }
    try {
      await this.tryTo(targets, at, as, signal);
    } catch (error) {
      failures.push(messageOf(error));
      if (at < targets.length - 1 && !signal.aborted) await this.upkeep.settle();
      if (at < targets.length - 1 && !signal.aborted) return false;
      return this.fail(targets, failures, error, signal);
    }
    this.tell(failures);
    answer();
    await this.upkeep.retire(session, signal);
    return true;
  }

  /** Returns to where the tunnel was before, and throws why. */
  private async fail(
    targets: readonly Target[],
    failures: readonly string[],
    last: unknown,
    { aborted }: AbortSignal,
  ): Promise<never> {
    const error = targets.length === 1 || aborted ? last : noneOf(failures, last);
    this.error = messageOf(error);
    this.failed = targets;
    this.enter({ type: aborted ? "interrupt" : "fail" });
    await this.upkeep.settle();
    throw error;
  }

  private async tryTo(
    targets: readonly Target[],
    at: number,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = targets[at] as Target;
    signal.throwIfAborted();
    const carrying = carriedBy(this.current);
    const former = carrying && { session: carrying, alive: this.carriesData, dead: this.isDead };
    const first = this.choice.first(wanted);
    if (first !== undefined) this.enter({ type: "dial", server: first });
    try {
      const session = await this.reach(wanted, former, signal);
      this.reached = targets;
      this.arrive(session, asked);
    } catch (error) {
      this.dialled = null;
      throw error;
    }
  }

  /**
   * A request for the place that a live tunnel already leads to does not move the tunnel, unless it can get more there.
   * What is better in its order has failed.
   */
  private stayAs(asked: Asked, failures: readonly string[]): void {
    this.reached = this.requests.wanted;
    if (this.current.name === "connecting") this.enter({ type: "fail" });
    this.tell(failures);
    if (Bun.deepEquals(this.aim.asked.order, asked.order)) return;
    this.aim.reorder(asked);
    this.aim.save();
    // Its row has another order.
    for (const listener of this.listeners) listener(this.current, this.error);
  }

  private tell(failures: readonly string[]): void {
    for (const failure of failures) this.deps.log.warn(`${failure}; the next one of the order is taken`);
  }

  /** Finds a place's nearest server first. Listeners are not told of that choice. */
  private async reach(wanted: Target, former: Former | null, signal: AbortSignal): Promise<Session> {
    const { probe } = this.deps;
    if (!isHops(wanted) && !isPlace(wanted)) return this.dial(wanted, former, signal);
    const server = await probe.roundTrips.inTurn(async () => {
      this.dialled = await this.choice.nearest(wanted, former, signal);
      return this.dialled;
    }, signal);
    if (this.current.name === "connecting") this.current = transition(this.current, { type: "dial", server });
    return this.dial(server, former, signal).catch((error) => {
      if (!signal.aborted) probe.roundTrips.forget(server);
      throw error;
    });
  }

  private async dial(server: Server, former: Former | null, signal: AbortSignal): Promise<Session> {
    this.keyConflicts.assertNone(server);
    // In the same turn of the event loop, so that another tunnel finds it in use.
    this.dialled = server;
    return this.deps.dialer.dial(server, former, signal);
  }

  private arrive(
    session: Session,
    asked: Asked,
    { since = this.deps.host.monotonic(), moved }: { since?: number; moved?: Moved } = {},
  ): void {
    const { host } = this.deps;
    this.aim.set(session.server, host.now() - (host.monotonic() - since), asked);
    this.aim.save();
    this.dialled = null;
    this.error = null;
    this.enter({ type: "arrive", session, since, ...(moved !== undefined && { moved }) });
  }

  private async endTunnel(): Promise<void> {
    const former = carriedBy(this.current);
    this.error = null;
    this.aim.clear();
    this.enter({ type: "disconnect" });
    try {
      this.aim.save();
      await this.upkeep.end(former);
    } catch (error) {
      await this.upkeep.settle();
      throw error;
    }
  }

  private enter(event: Event): void {
    this.current = transition(this.current, event);
    for (const listener of this.listeners) listener(this.current, this.error);
  }
}

/** The message for an uplink that is down. */
export function outageOf(uplink: string | null): string {
  return uplink === null ? "the uplink is down" : `the uplink ${uplink} is down`;
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

function leadsThere(state: State | null, wanted: Target): boolean {
  return state?.name === "connected" && leadsTo(wanted, state.session.server) && !lacksKeys(state.session);
}

/** What is said if no target of an order works; the last one's failure decides its kind. */
function noneOf(failures: readonly string[], last: unknown): GatewayError {
  return new GatewayError(codeOf(last), `none of the ${failures.length} works: ${failures.join("; ")}`);
}

function unansweredText(server: Server): string {
  return `${titleOf(server)} answers handshakes, but nothing else comes back through it`;
}
