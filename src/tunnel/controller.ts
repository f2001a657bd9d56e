import { GatewayError, messageOf } from "../errors.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { OtherFirewalls } from "../killswitch/other-firewalls.ts";
import { MAIN, type PolicyPart } from "../killswitch/policy.ts";
import type { Repairs } from "../killswitch/repairs.ts";
import type { Inspection, Layers } from "../killswitch/report.ts";
import type { Log } from "../log.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Slot } from "../network/slot.ts";
import { Queue } from "../queue.ts";
import { type Hops, placeVia, reachedVia, titleOf } from "../servers/hops.ts";
import type { Place } from "../servers/place.ts";
import type { Provider, Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { adopted, type Known, rememberedServer } from "./adoption.ts";
import { type Dialer, type Former, together } from "./dialer.ts";
import type { Bytes, Kernel } from "./kernel.ts";
import { mtuOf } from "./mtu.ts";
import type { Probe } from "./probe.ts";
import type { Connection, SavedState } from "./saved-state.ts";
import type { TunnelRow } from "./schema.ts";
import { clashOf, partOf, type Session, sameServer } from "./session.ts";
import { carriedBy, type Event, type State, transition } from "./state.ts";
import { rowOf, statusOf, type TunnelStatus } from "./status.ts";
import {
  candidatesOf,
  connectionTo,
  exitOf,
  isHops,
  isPlace,
  isTo,
  leadsTo,
  type Places,
  placesIn,
  sameTarget,
  type Target,
  type Words,
  wordsOf,
} from "./target.ts";

/** How long the old tunnel stays after a switch, for answers still in flight; by satellite they take 0.7 s. */
const FORMER_STAYS_MS = 1_000;

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
  rivalOf: (server: Server) => string | null;
  /** Whether a start reconnects to the last server. */
  autoconnect: boolean;
  log: Pick<Log, "info" | "warn">;
}

/** What an earlier process has left. */
export interface Left {
  /** Names of the interfaces that exist. */
  links: readonly string[];
  known: Known;
  network: HostNetwork;
}

/** `error` says why the tunnel is in that state, if something failed. */
export type StateListener = (state: State, error: string | null) => void;

/**
 * Owns one tunnel. One queue puts all work in order; a new connect or disconnect interrupts whatever is under way, so
 * that disconnect always wins. If anything fails, the firewall stays as it was or blocks everything.
 */
export class Controller {
  private current: State = { name: "disconnected" };
  private readonly queue = new Queue();
  private wish = new AbortController();
  private pending: { wanted: Target; outcome: Promise<void> } | null = null;
  /** The server that is dialled, which may be another than the state's. */
  private dialled: Server | null = null;
  /** Where the tunnel should lead, as saved; null if nowhere. */
  private aim: Connection | null = null;
  /** Why the tunnel's links and routes may differ from what the state requires, or null. */
  unsettled: string | null = null;
  private error: string | null = null;
  private removal: Promise<void> | null = null;
  private readonly listeners = new Set<StateListener>();
  private readonly switchListeners = new Set<() => void>();

  constructor(private readonly deps: Deps) {}

  get state(): State {
    return this.current;
  }

  get network(): HostNetwork {
    return this.deps.killSwitch.network;
  }

  get lans(): HostNetwork["lans"] {
    return this.network.lans;
  }

  /** Bytes of the longest packet that is sent into the tunnel; null without one. */
  mtuIn(state: State = this.current): number | null {
    const session = carriedBy(state);
    return session && mtuOf(session, this.network, this.deps.savedState);
  }

  /** Set while the tunnel is being removed, and afterwards. */
  get ending(): Promise<void> | null {
    return this.removal;
  }

  /** Whether a connect is under way or waits for its turn. */
  get isAsked(): boolean {
    return this.pending !== null;
  }

  /** Whether traffic that is sent into the tunnel is answered. */
  get isAlive(): boolean {
    const state = this.current;
    return (state.name === "connecting" ? state.former : state)?.name === "connected";
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
    const server = carriedBy(this.current)?.server;
    const { saved } = this;
    if (server !== undefined)
      this.aim = saved !== null && isTo(saved, server) ? saved : connectionTo(server, this.deps.host.now());
    await this.updateKillSwitch();
  }

  /** Removes what could not be adopted, and reconnects to the last server. To be called with the kill switch in place. */
  async begin({ links, known, network }: Left): Promise<void> {
    const { kernel, autoconnect, host, log } = this.deps;
    const kept = carriedBy(this.current);
    if (kept !== null && !network.online) this.error = outageOf(network.uplink);
    await kernel.closeOthers(links, kept);
    const { saved } = this;
    if (kept !== null) {
      // A connect or a disconnect was interrupted: what is in the kernel counts, also after the next start.
      if (!Bun.deepEquals(this.aim, saved))
        this.deps.savedState.saveConnection(this.aim, this.deps.name, this.deps.slot.number);
      return log.info(`the tunnel to ${titleOf(kept.server)} is up already: adopting it`);
    }
    const server = autoconnect && saved !== null ? rememberedServer(saved, known) : null;
    if (server === null) return;
    const rival = this.deps.rivalOf(server);
    if (rival !== null) return log.warn(`not reconnecting to ${titleOf(server)}: ${rivalText(rival)}`);
    log.info(`reconnecting to ${titleOf(server)}, as before the restart`);
    this.aim = saved;
    this.enter({ type: "resume", server, since: host.monotonic() });
  }

  /**
   * Connects to a server, or to the nearest one of a place, unless the tunnel leads there already. Resolves once traffic
   * can flow. If it throws, the former tunnel is in place: `no_answer` if the server is silent, `interrupted` if another
   * connect or a disconnect came, or another code. With `places`, a tunnel that leads there moves too: to one of the
   * servers that `wanted` has, which is saved as chosen for these places.
   */
  connect(wanted: Target, places?: Places): Promise<void> {
    if (this.ending !== null)
      return Promise.reject(new GatewayError("interrupted", "the tunnel is being removed"));
    if (this.pending !== null && sameTarget(this.pending.wanted, wanted)) return this.pending.outcome;
    const signal = this.interrupt(`interrupted by a connect to ${wanted.name}`);
    const answer = Promise.withResolvers<void>();
    const pending = { wanted, outcome: answer.promise };
    this.pending = pending;
    this.queue
      .add(() => this.moveTo(wanted, { signal, answer: answer.resolve, places }))
      .finally(() => {
        if (this.pending === pending) this.pending = null;
      })
      .catch(answer.reject);
    return answer.promise;
  }

  disconnect(): Promise<void> {
    this.interrupt("interrupted by a disconnect");
    this.pending = null;
    return this.queue.add(() => this.endTunnel());
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
    await this.queue.add(() => this.settle());
    if (this.unsettled !== null)
      throw new GatewayError("kernel_refused", `the tunnel could not be removed: ${this.unsettled}`);
    await this.deps.killSwitch.update(this.deps.name, null);
  }

  /** Ends what is under way and closes whatever was opened for it; the tunnel stays. */
  stop(): Promise<void> {
    this.interrupt("the service stops");
    return this.queue.drained();
  }

  /** For the operator only; HTTP clients cannot reach it. */
  setKillSwitch(wanted: boolean): Promise<void> {
    const { savedState, log } = this.deps;
    return this.queue.add(async () => {
      savedState.saveKillSwitch(wanted);
      log.warn(`the operator has turned the kill switch ${wanted ? "on" : "off"}`);
      // Also if it fails: the kernel has what it has.
      await this.settle().finally(() => this.switchListeners.forEach((listener) => void listener()));
      savedState.assertSaved();
    });
  }

  /** Calls back each time the operator has turned the kill switch on or off. */
  onKillSwitch(listener: () => void): void {
    this.switchListeners.add(listener);
  }

  /** Runs work that must not coincide with a change of the tunnel; the next connect or disconnect interrupts it. */
  beside<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = this.wish;
    return this.queue.add(async () => {
      signal.throwIfAborted();
      return work(signal);
    });
  }

  /** One line that says why the kill switch cannot be relied on now, or null. */
  async fault(): Promise<string | null> {
    const { killSwitch, savedState } = this.deps;
    const { trouble } = this;
    if (trouble !== null) return `the network could not be configured: ${trouble}`;
    if (!savedState.killSwitchWanted()) return null;
    const { firewall, stands, parts } = await killSwitch.inspection(this.trouble);
    if (!firewall)
      return "the kill switch's rules are not in the kernel, or another program has altered them";
    if (killSwitch.foreignRule.message !== null) return killSwitch.foreignRule.message;
    const broken = parts.find((part) => !part.holds);
    return stands ? null : `a part of the kill switch is not in place: ${broken?.name}: ${broken?.found}`;
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

  /** The status in the current state, or in one that has just been left. */
  async status(provider: Provider, state: State = this.current): Promise<TunnelStatus> {
    const { kernel, killSwitch, otherFirewalls, host } = this.deps;
    const troubles = [this.error, killSwitch.foreignRule.message, otherFirewalls.notice.message];
    const error = troubles.filter((trouble) => trouble !== null).join("; ") || null;
    const session = carriedBy(state);
    const [device, stands] = await Promise.all([
      session === null ? null : kernel.shown(session.link),
      killSwitch.stands(),
    ]);
    return statusOf(state, {
      provider,
      device,
      killSwitch: stands,
      error,
      mtu: this.mtuIn(state),
      now: host.monotonic(),
    });
  }

  /** The tunnel's own figures, in the current state or in one that has just been left. */
  async row(state: State = this.current): Promise<Omit<TunnelRow, "devices">> {
    const { kernel, host, name } = this.deps;
    const session = carriedBy(state);
    const device = session === null ? null : await kernel.shown(session.link);
    const status = statusOf(state, {
      provider: "managed",
      device,
      killSwitch: false,
      error: this.error,
      mtu: this.mtuIn(state),
      now: host.monotonic(),
    });
    const { wanted } = this;
    return rowOf(status, {
      name,
      provider: wanted?.provider ?? null,
      wanted: wanted?.server ?? null,
      ...(wanted?.via !== undefined && { wanted_via: wanted.via }),
    });
  }

  /** What the session has carried; zeros without one. */
  async carried(): Promise<Bytes> {
    const session = carriedBy(this.current);
    return session === null ? { rx_bytes: 0, tx_bytes: 0 } : this.deps.kernel.carried(session.link);
  }

  /** The places that were asked for, as they are saved with the server. */
  get places(): Places {
    const { wanted, wanted_via } = this.aim ?? {};
    return { ...(wanted !== undefined && { wanted }), ...(wanted_via !== undefined && { wanted_via }) };
  }

  /** Where the tunnel should lead, in the words of the client. */
  private get wanted(): (Words & { provider: Provider }) | null {
    if (this.pending !== null)
      return { provider: this.pending.wanted.provider, ...wordsOf(this.pending.wanted) };
    if (this.aim === null) return null;
    const { provider, name, wanted = name, via, wanted_via = via } = this.aim;
    return { provider, server: wanted, ...(wanted_via !== undefined && { via: wanted_via }) };
  }

  /** Of a server that could not be reached nothing is left that would need it. */
  uses(provider: Provider, name: string): boolean {
    const wanted = this.pending === null ? [] : candidatesOf(exitOf(this.pending.wanted));
    return [...wanted, ...this.servers].some(
      (server) => server.provider === provider && server.name === name,
    );
  }

  /** The servers that the tunnel has a session with, or has chosen. */
  get servers(): readonly Server[] {
    const state = this.current;
    const tried = state.name === "reconnecting" ? state.server : null;
    return [carriedBy(state)?.server, tried, this.dialled].filter((server) => server != null);
  }

  /** The session is dead; routes and firewall stay, so that nothing leaves outside the tunnel. */
  lost(why: string): void {
    if (this.current.name !== "connected") return;
    this.deps.log.warn(`${why}; reconnecting`);
    this.deps.probe.roundTrips.forget(this.current.session.server);
    this.error = why;
    this.enter({ type: "lost" });
  }

  recovered(): void {
    if (this.current.name !== "reconnecting") return;
    this.error = null;
    this.enter({ type: "recovered" });
  }

  /** One attempt to leave `reconnecting`, with a new interface and a newly resolved endpoint; throws if it fails. */
  redial(server: Server, attempt: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([this.wish.signal, attempt]);
    return this.queue.add(async () => {
      const state = this.current;
      if (state.name !== "reconnecting" || signal.aborted) return;
      const { session, since } = state;
      const same = session !== null && sameServer(session.server, server);
      try {
        const former = session === null ? null : { session, alive: false };
        const arrived = await this.dial(server, former, signal);
        this.arrive(arrived, this.aim ?? {}, same ? since : undefined);
      } catch (error) {
        this.dialled = null;
        // While the uplink is down, that it is down says more than why an attempt failed.
        if (!signal.aborted && (this.deps.killSwitch.network.online || this.error === null))
          this.error = messageOf(error);
        await this.settle();
        throw error;
      }
      await this.retire(session, signal).catch(() => this.settle());
    });
  }

  /** Restores addresses and routes that another program has removed; without its interface the tunnel is lost. */
  checkTunnel(): Promise<void> {
    return this.queue.add(async () => {
      const { kernel, killSwitch, repairs } = this.deps;
      const session = carriedBy(this.current);
      if (session === null) return;
      const missing = await kernel.missingOf(session);
      if (missing.includes("link")) return this.lost("the tunnel's interface is gone");
      const tunnel = this.deps.name === MAIN ? "the tunnel" : `the tunnel ${this.deps.name}`;
      const message = `Another program has removed ${missing.join(" and ")} of ${tunnel}.`;
      await repairs.repair(
        missing.length === 0 ? [] : [{ layer: "routing", message }],
        () =>
          missing.length === 0 ? Promise.resolve() : kernel.restore(session, killSwitch.network.uplinkMtu),
        this.checkLater,
      );
    });
  }

  private readonly checkLater = () => void this.checkTunnel().catch(() => {});

  /** Drops a tunnel one of whose addresses the LAN now uses. The server is tried again, for the LAN may change back. */
  dropUnusable(): Promise<void> {
    return this.queue.add(async () => {
      const server = carriedBy(this.current)?.server;
      const clash = server === undefined ? null : clashOf(this.network, server.config);
      if (server === undefined || clash === null) return;
      this.error = `the tunnel to ${titleOf(server)} had to be dropped: ${clash}`;
      this.deps.log.warn(this.error);
      this.enter({ type: "drop" });
      await this.settle();
    });
  }

  /** Retries what failed to apply. */
  async repair(): Promise<void> {
    if (this.unsettled !== null) await this.queue.add(() => this.settle());
    await this.fit();
  }

  /** Gives the routes the MTU of the path, if it has become known since they were made. */
  async fit(): Promise<void> {
    const isDue = (session: Session | null) => session !== null && !this.deps.kernel.fits(session);
    if (!isDue(carriedBy(this.current))) return;
    await this.queue.add(async () => {
      const session = carriedBy(this.current);
      if (session !== null && isDue(session)) await this.deps.kernel.restore(session, this.network.uplinkMtu);
    });
  }

  private async moveTo(
    wanted: Target,
    { signal, answer, places }: { signal: AbortSignal; answer: () => void; places: Places | undefined },
  ): Promise<void> {
    signal.throwIfAborted();
    const state = this.current;
    // Asking again for the place that a live tunnel leads to does not move the tunnel.
    const isThere = state.name === "connected" && leadsTo(wanted, state.session.server);
    if (isThere && places === undefined) return answer();
    const session = carriedBy(state);
    const former: Former | null = session && { session, alive: state.name === "connected" };
    const [first] = candidatesOf(this.withoutRivals(exitOf(wanted)));
    if (first !== undefined) this.enter({ type: "dial", server: first });
    try {
      this.arrive(await this.reach(wanted, former, signal), places ?? placesIn(wanted));
    } catch (error) {
      this.dialled = null;
      this.error = messageOf(error);
      this.enter({ type: signal.aborted ? "interrupt" : "fail" });
      await this.settle();
      throw error;
    }
    answer();
    await this.retire(session, signal).catch(() => this.settle());
  }

  /** Finds a place's nearest server first; listeners are not told of that choice. */
  private async reach(wanted: Target, former: Former | null, signal: AbortSignal): Promise<Session> {
    const { probe } = this.deps;
    if (!isHops(wanted) && !isPlace(wanted)) return this.dial(wanted, former, signal);
    const server = await probe.roundTrips.inTurn(async () => {
      this.dialled = await this.choose(wanted, former, signal);
      return this.dialled;
    }, signal);
    this.current = transition(this.current, { type: "dial", server });
    return this.dial(server, former, signal).catch((error) => {
      if (!signal.aborted) probe.roundTrips.forget(server);
      throw error;
    });
  }

  /** Chooses the entry first, by its own round trip; that of an exit is measured through it. */
  private async choose(wanted: Place | Hops, former: Former | null, signal: AbortSignal): Promise<Server> {
    const { probe } = this.deps;
    if (isPlace(wanted)) return probe.nearest(this.withoutRivals(wanted), former, signal);
    const { exit, entry } = wanted;
    const nearest = isPlace(entry) ? await probe.nearest(entry, former, signal) : entry;
    if (!isPlace(exit)) return reachedVia(exit, nearest);
    return probe.nearest(this.withoutRivals(placeVia(exit, nearest)), former, signal);
  }

  private async dial(server: Server, former: Former | null, signal: AbortSignal): Promise<Session> {
    assertNoRival(this.deps.rivalOf(server));
    // By the same turn of the event loop, so that another tunnel finds it taken.
    this.dialled = server;
    return this.deps.dialer.dial(server, former, signal);
  }

  /** The target without the servers that another tunnel uses with the same key; throws if nothing is left. */
  private withoutRivals<T extends Server | Place>(wanted: T): T {
    const { rivalOf } = this.deps;
    const servers = candidatesOf(wanted).filter((server) => rivalOf(server) === null);
    if (servers.length === 0) assertNoRival(candidatesOf(wanted).map(rivalOf)[0] ?? null);
    return isPlace(wanted) ? { ...wanted, servers } : wanted;
  }

  /** Removes the former tunnel once its last answers have had time to arrive. */
  private async retire(former: Session | null, signal: AbortSignal): Promise<void> {
    if (former === null) return;
    await this.deps.host.sleep(FORMER_STAYS_MS, signal);
    await this.updateKillSwitch();
    await this.deps.kernel.close(former.link);
  }

  /** With the countries and cities that were asked for, if any. */
  private arrive(session: Session, places: Places, since = this.deps.host.monotonic()): void {
    const { savedState, host, slot } = this.deps;
    this.aim = connectionTo(session.server, host.now() - (host.monotonic() - since), places);
    savedState.saveConnection(this.aim, this.deps.name, slot.number);
    this.dialled = null;
    this.error = null;
    this.enter({ type: "arrive", session, since });
  }

  private async endTunnel(): Promise<void> {
    const { savedState, name, slot } = this.deps;
    const former = carriedBy(this.current);
    this.error = null;
    this.aim = null;
    this.enter({ type: "disconnect" });
    try {
      savedState.saveConnection(null, name, slot.number);
      await together([this.updateKillSwitch(), former === null ? null : this.deps.kernel.close(former.link)]);
    } catch (error) {
      await this.settle();
      throw error;
    }
  }

  /** Makes the kernel match the state. `repair` retries what fails. */
  private async settle(): Promise<void> {
    const { kernel, killSwitch, log } = this.deps;
    try {
      await this.updateKillSwitch();
      const session = carriedBy(this.current);
      const present = await kernel.links();
      await kernel.closeOthers(present, session);
      if (session !== null && present.includes(session.link)) {
        await kernel.restore(session, killSwitch.network.uplinkMtu);
      }
      this.unsettled = null;
    } catch (error) {
      this.unsettled = messageOf(error);
      log.warn(`${this.unsettled}; trying again`);
    }
  }

  /** Permits what the state needs, and no more. */
  private updateKillSwitch(): Promise<void> {
    return this.deps.killSwitch.update(this.deps.name, this.part);
  }

  private get saved(): Connection | null {
    return this.deps.savedState.connection(this.deps.name);
  }

  private get part(): PolicyPart {
    const session = carriedBy(this.current);
    return partOf(session === null ? [] : [session]);
  }

  private enter(event: Event): void {
    this.current = transition(this.current, event);
    for (const listener of this.listeners) listener(this.current, this.error);
  }

  private interrupt(reason: string): AbortSignal {
    this.wish.abort(new GatewayError("interrupted", reason));
    this.wish = new AbortController();
    return this.wish.signal;
  }
}

function assertNoRival(rival: string | null): void {
  if (rival !== null) throw new GatewayError("bad_request", `server: ${rivalText(rival)}`);
}

/** WireGuard servers know a client by its key: of two sessions with one key, each would end the other. */
function rivalText(rival: string): string {
  return `the tunnel ${rival} leads there with the same key; choose another server, or one with a key of its own`;
}

/** The message for an uplink that is down. */
export function outageOf(uplink: string | null): string {
  return uplink === null ? "the uplink is down" : `the uplink ${uplink} is down`;
}
