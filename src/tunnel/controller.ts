import { isIpv4, isIpv6 } from "../address.ts";
import { GatewayError, messageOf } from "../errors.ts";
import { finalRulesStand } from "../firewall/audit.ts";
import { FWMARK, type Lookup, type Policy } from "../firewall/policy.ts";
import { openRulesetOf, rulesetOf } from "../firewall/ruleset.ts";
import type { Links } from "../routing/links.ts";
import { lookupRules, type Rule, rulesFor, withoutBarrier } from "../routing/rules.ts";
import { applySysctls, sysctlsFor } from "../routing/sysctls.ts";
import type { Provider, Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import type { Device } from "../wireguard/device.ts";
import { publicKeyOf } from "../wireguard/key.ts";
import type { Kernel } from "./kernel.ts";
import type { Memory } from "./memory.ts";
import { resolversOf } from "./resolvers.ts";
import type { Status } from "./schema.ts";
import { exitOf, linksOfBase, type Session, sameServer, sessionFor } from "./session.ts";
import { type Carrying, carriedBy, type State } from "./state.ts";
import { statusOf } from "./status.ts";

/** How long a server may take to answer the handshake; WireGuard itself retries after 5 s. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** WireGuard gives a session up this long after its handshake (REJECT_AFTER_TIME, white paper 6.1). */
const SESSION_DEAD_AFTER_MS = 180_000;
/** How often a live tunnel is looked at. */
const WATCH_INTERVAL_MS = 5_000;
/** Between a deletion in the firewall and its repair: bounds a fight with a program that deletes again and again. */
const TAMPER_PAUSE_MS = 10;
/** First pause between two attempts to reach a dead server again, and the longest. */
const RETRY_MS = { first: 5_000, longest: 60_000 };
/** The old tunnel stays this long after a switch, for the answers that are on their way. */
const FORMER_STAYS_MS = 300;
/** First pause between two looks for the handshake, and the longest. */
const POLL_MS = { first: 2, longest: 100 };
/** Source ports for the lookup of a server's name; below the kernel's own choice (32768), so no program has it by chance. */
const LOOKUP_PORTS = { first: 20_000, count: 10_000 };

export interface Log {
  info(message: string): void;
  warn(message: string): void;
}

interface Parts {
  host: Host;
  kernel: Kernel;
  memory: Memory;
  /** The machine's own network, looked up anew while it has no uplink. */
  findLinks: () => Promise<Links>;
  /** Base name of the tunnel's interfaces. */
  base: string;
  log: Log;
}

/**
 * Owns the tunnel. One queue decides when; a new wish (connect or disconnect) interrupts whatever is under way,
 * so that disconnect always wins. Whatever fails, the firewall stays as it was or goes to blocked.
 */
export class Controller {
  private state: State = { name: "disconnected" };
  private links: Links = { lans: [], uplink: null, uplinkMtu: 1500, ipv6: true };
  private queue: Promise<unknown> = Promise.resolve();
  private wish = new AbortController();
  private pending: { server: Server; outcome: Promise<void> } | null = null;
  /** Why the kernel may not be as the state wants it; the next look tries again. */
  private unsettled: string | null = null;
  private error: string | null = null;
  private retry = { attempts: 0, notBefore: 0 };
  private readonly listeners = new Set<() => void>();

  constructor(private readonly parts: Parts) {}

  /** Calls back after every change of state. */
  onChange(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** Raises the kill switch; takes over the tunnel that the kernel has, or clears it. */
  async start(known: readonly Server[]): Promise<void> {
    const { kernel, base, log, findLinks } = this.parts;
    this.links = await findLinks();
    const present = (await kernel.links()).filter((link) => linksOfBase(base).includes(link));
    const adopted = present.length === 0 ? null : await this.adopt(present, known);
    if (adopted !== null) this.enter(adopted);
    await this.enforce();
    for (const link of present) if (link !== adopted?.session.link) await kernel.close(link);
    if (adopted !== null) log.info(`the tunnel to ${adopted.session.server.name} is up already: taken over`);
    const changed = await applySysctls(this.parts.host, sysctlsFor(this.links));
    for (const { path, value, why } of changed) log.info(`set net/${path} to ${value}: ${why}`);
  }

  /** Settles when the outcome is known; throws `GatewayError("unable")`, and then the former tunnel is in place. */
  connect(server: Server): Promise<void> {
    if (this.pending !== null && sameServer(this.pending.server, server)) return this.pending.outcome;
    const signal = this.interrupt(`interrupted by a connect to ${server.name}`);
    const answer = Promise.withResolvers<void>();
    const pending = { server, outcome: answer.promise };
    this.pending = pending;
    this.enqueue(() => this.moveTo(server, signal, answer.resolve))
      .catch(answer.reject)
      .finally(() => {
        if (this.pending === pending) this.pending = null;
      });
    return answer.promise;
  }

  disconnect(): Promise<void> {
    this.interrupt("interrupted by a disconnect");
    this.pending = null;
    return this.enqueue(() => this.hangUp());
  }

  /** The operator's switch; there is no way to it over HTTP. */
  setKillSwitch(wanted: boolean): Promise<void> {
    return this.enqueue(async () => {
      this.parts.memory.saveKillSwitch(wanted);
      this.parts.log.warn(`the operator has taken the kill switch ${wanted ? "up" : "down"}`);
      await this.settle();
    });
  }

  /** Whether the kill switch stands, as the kernel tells. */
  async killSwitchActive(): Promise<boolean> {
    const table = await this.parts.kernel.table();
    return table !== null && finalRulesStand(table);
  }

  /** One line that says why the kill switch's promise cannot be kept now, or null. */
  async fault(): Promise<string | null> {
    if (this.unsettled !== null) return `the network could not be set as it must be: ${this.unsettled}`;
    if (!this.parts.memory.killSwitch() || (await this.killSwitchActive())) return null;
    return "the kill switch's rules are not in the kernel";
  }

  async status(provider: Provider): Promise<Status> {
    const session = carriedBy(this.state);
    const [device, killSwitch] = await Promise.all([
      session === null ? null : this.parts.kernel.device(session.link),
      this.killSwitchActive(),
    ]);
    return statusOf(this.state, {
      provider,
      device,
      killSwitch,
      error: this.error,
      now: this.parts.host.now(),
    });
  }

  uses(provider: Provider, name: string): boolean {
    const servers = [this.pending?.server, carriedBy(this.state)?.server];
    return servers.some((server) => server?.provider === provider && server.name === name);
  }

  get lans(): Links["lans"] {
    return this.links.lans;
  }

  /** Looks at the tunnel now and then, and at once when the firewall is touched, until `signal` says stop. */
  async watch(signal: AbortSignal): Promise<void> {
    const { host, kernel, log } = this.parts;
    const look = () => this.look().catch((error) => log.warn(messageOf(error)));
    // A table is deleted in many events; one look answers all that come before it begins.
    let waiting = false;
    const firewall = kernel.watchFirewall(async () => {
      if (waiting) return;
      waiting = true;
      await host.sleep(TAMPER_PAUSE_MS, signal);
      waiting = false;
      if (!signal.aborted) await look();
    });
    while (!signal.aborted) {
      await host.sleep(WATCH_INTERVAL_MS, signal);
      if (!signal.aborted) await look();
    }
    firewall.stop();
  }

  /** One look: repairs what failed to apply, notices a dead session, and tries it again. */
  async look(): Promise<void> {
    if (this.unsettled === null && (await this.fault()) !== null) {
      this.parts.log.warn("someone else has removed or altered the kill switch's rules: putting them back");
      this.unsettled = "its rules were removed or altered";
    }
    if (this.unsettled !== null) await this.enqueue(() => this.settle());
    const state = this.state;
    if (state.name !== "connected" && state.name !== "reconnecting") return;
    const { host, kernel } = this.parts;
    const handshake = (await kernel.device(state.session.link))?.peer?.latestHandshake ?? 0;
    if (this.state !== state) return;
    const alive = handshake > 0 && host.now() - handshake < SESSION_DEAD_AFTER_MS;
    if (alive && state.name === "reconnecting") this.revive(state);
    if (alive) return;
    if (state.name === "connected") {
      this.retry = { attempts: 0, notBefore: 0 };
      this.error = `${state.session.server.name} no longer answers`;
      this.enter({ ...state, name: "reconnecting" });
    }
    const { signal } = this.wish;
    if (host.monotonic() >= this.retry.notBefore) await this.enqueue(() => this.redial(signal));
  }

  private revive(state: Carrying): void {
    this.error = null;
    this.enter({ ...state, name: "connected" });
  }

  private async moveTo(server: Server, signal: AbortSignal, answer: () => void): Promise<void> {
    assertWanted(signal);
    const former = this.state.name === "connected" || this.state.name === "reconnecting" ? this.state : null;
    if (this.state.name === "connected" && sameServer(this.state.session.server, server)) return answer();
    this.enter({ name: "connecting", server, former });
    try {
      const session = await this.dial(server, former?.session ?? null, signal);
      this.arrive(session, this.parts.host.now());
    } catch (error) {
      this.error = messageOf(error);
      this.enter(former ?? (signal.aborted ? { name: "disconnected" } : { name: "failed", server }));
      await this.settle();
      throw error;
    }
    answer();
    await this.retire(former?.session ?? null, signal).catch(() => this.settle());
  }

  /** A dead session gets a new interface and a newly resolved endpoint; WireGuard goes on trying on the old one. */
  private async redial(signal: AbortSignal): Promise<void> {
    const state = this.state;
    if (state.name !== "reconnecting" || signal.aborted) return;
    const pause = Math.min(RETRY_MS.first * 2 ** this.retry.attempts, RETRY_MS.longest);
    this.retry = { attempts: this.retry.attempts + 1, notBefore: this.parts.host.monotonic() + pause };
    try {
      const session = await this.dial(state.session.server, state.session, signal);
      this.arrive(session, state.since);
      await this.retire(state.session, signal);
    } catch (error) {
      await this.settle();
      throw error;
    }
  }

  /** Brings a tunnel up beside the former one, and leads traffic into it once the server has answered. */
  private async dial(server: Server, former: Session | null, signal: AbortSignal): Promise<Session> {
    const { kernel, findLinks, base } = this.parts;
    if (this.links.uplink === null) this.links = await findLinks();
    if (this.links.uplink === null)
      throw new GatewayError("unable", "there is no default route: is the uplink's cable in?");
    const { host, port } = server.config.peer.endpoint;
    const session = sessionFor(
      base,
      this.usable(server),
      { address: await this.resolve(host, signal), port },
      former,
    );
    const before = former === null ? [] : [former];
    await together([
      this.setFirewall({ dialing: [...before, session], carrying: former === null ? [] : [former, session] }),
      kernel.setRules(this.rules([session])),
      kernel.open(session, this.links.uplinkMtu),
    ]);
    await this.handshake(session, signal);
    await kernel.settle(session);
    await together([
      kernel.route(session, former?.server.config ?? null),
      former === null ? this.setFirewall({ dialing: [session], carrying: [session] }) : null,
    ]);
    return session;
  }

  /** The server as this machine can use it: without IPv6 only the tunnel's IPv4 addresses. */
  private usable(server: Server): Server {
    if (this.links.ipv6) return server;
    const addresses = server.config.interface.addresses.filter((address) => !address.includes(":"));
    if (addresses.length === 0) {
      throw new GatewayError(
        "unable",
        `${server.name} has IPv6 addresses alone, and IPv6 is turned off on this machine`,
      );
    }
    return { ...server, config: { ...server.config, interface: { ...server.config.interface, addresses } } };
  }

  private async handshake(session: Session, signal: AbortSignal): Promise<void> {
    const { host, kernel } = this.parts;
    const deadline = host.monotonic() + HANDSHAKE_TIMEOUT_MS;
    for (
      let pause = POLL_MS.first;
      host.monotonic() < deadline;
      pause = Math.min(pause * 1.2, POLL_MS.longest)
    ) {
      assertWanted(signal);
      if (((await kernel.device(session.link))?.peer?.latestHandshake ?? 0) > 0) return;
      await host.sleep(pause, signal);
    }
    assertWanted(signal);
    throw new GatewayError(
      "unable",
      `${session.server.name} did not answer the WireGuard handshake within ${HANDSHAKE_TIMEOUT_MS / 1000} s: is it up, and are the keys right?`,
    );
  }

  /** The server's address. Its name is asked for through the tunnel, or through a hole of one port for one moment. */
  private async resolve(name: string, signal: AbortSignal): Promise<string> {
    if (isIpv4(name) || isIpv6(name)) return name;
    const { host, kernel, memory, log } = this.parts;
    const sourcePort = LOOKUP_PORTS.first + Math.floor(Math.random() * LOOKUP_PORTS.count);
    const session = carriedBy(this.state);
    const resolvers = await resolversOf(host);
    try {
      if (this.state.name !== "connected" && session === null) {
        log.info(`the name ${name} is looked up outside the tunnel, at ${resolvers.join(" and ")}`);
        await this.setFirewall({ dialing: [], carrying: [], lookup: { resolvers, sourcePort } });
        await kernel.setRules([...this.rules([]), ...lookupRules(sourcePort)]);
      }
      const [address] = await Promise.race([host.lookup(name, resolvers, sourcePort), untilUnwanted(signal)]);
      if (address === undefined) throw new GatewayError("unable", `the name ${name} does not resolve`);
      memory.saveAddress(name, address);
      return address;
    } catch (error) {
      const known = memory.address(name);
      if (signal.aborted || known === null) throw error;
      log.warn(`${messageOf(error)}: using its last known address ${known}`);
      return known;
    } finally {
      if (session === null) await kernel.setRules(this.rules([]));
    }
  }

  /** Ends the former tunnel once its last answers have had time to arrive. */
  private async retire(former: Session | null, signal: AbortSignal): Promise<void> {
    if (former === null) return;
    await this.parts.host.sleep(FORMER_STAYS_MS, signal);
    await this.enforce();
    await this.parts.kernel.close(former.link);
  }

  private arrive(session: Session, since: number): void {
    const { provider, name } = session.server;
    this.parts.memory.saveConnection({ provider, name, since });
    this.error = null;
    this.enter({ name: "connected", session, since });
  }

  private async hangUp(): Promise<void> {
    const former = carriedBy(this.state);
    this.error = null;
    this.enter({ name: "disconnected" });
    try {
      this.parts.memory.saveConnection(null);
      await together([this.enforce(), former === null ? null : this.parts.kernel.close(former.link)]);
    } catch (error) {
      await this.settle();
      throw error;
    }
  }

  /** Makes the kernel what the state says, trusting nothing that was applied before. What fails is tried again by `look`. */
  private async settle(): Promise<void> {
    const { kernel, base, log } = this.parts;
    kernel.forget();
    try {
      await this.enforce();
      const session = carriedBy(this.state);
      const present = await kernel.links();
      for (const link of linksOfBase(base)) {
        if (present.includes(link) && link !== session?.link) await kernel.close(link);
      }
      if (session !== null && present.includes(session.link)) await kernel.route(session, null);
      this.unsettled = null;
    } catch (error) {
      this.unsettled = messageOf(error);
      log.warn(`${this.unsettled}; trying again in ${WATCH_INTERVAL_MS / 1000} s`);
    }
  }

  /** Both layers as the state wants them. */
  private async enforce(): Promise<void> {
    const session = carriedBy(this.state);
    const sessions = session === null ? [] : [session];
    await this.setFirewall({ dialing: sessions, carrying: sessions });
    await this.parts.kernel.setRules(this.rules(sessions));
  }

  private async setFirewall(tunnels: {
    dialing: Session[];
    carrying: Session[];
    lookup?: Lookup;
  }): Promise<void> {
    const policy: Policy = {
      lans: this.links.lans,
      uplink: this.links.uplink,
      dialing: tunnels.dialing.map(exitOf),
      carrying: tunnels.carrying.map(exitOf),
      lookup: tunnels.lookup ?? null,
    };
    await this.parts.kernel.setFirewall(
      this.parts.memory.killSwitch() ? rulesetOf(policy) : openRulesetOf(policy),
    );
  }

  private rules(sessions: readonly Session[]): Rule[] {
    const rules = rulesFor(this.links.lans);
    if (this.parts.memory.killSwitch()) return rules;
    return sessions.length === 0 ? [] : withoutBarrier(rules);
  }

  private async adopt(present: readonly string[], known: readonly Server[]): Promise<Carrying | null> {
    const { kernel, memory, host, base } = this.parts;
    const routed = await kernel.routedLinks();
    const remembered = memory.connection();
    for (const link of present.filter((name) => routed.includes(name))) {
      const device = await kernel.device(link);
      const candidates = device === null ? [] : known.filter((server) => isServerOf(device, server));
      const server =
        candidates.find((one) => one.provider === remembered?.provider && one.name === remembered.name) ??
        candidates[0];
      const endpoint = parseEndpoint(device?.peer?.endpoint ?? "");
      if (server === undefined || endpoint === null || device?.peer == null) continue;
      const since =
        remembered?.name === server.name ? remembered.since : device.peer.latestHandshake || host.now();
      const alive = host.now() - device.peer.latestHandshake < SESSION_DEAD_AFTER_MS;
      const zone = linksOfBase(base).indexOf(link) + 1;
      return {
        name: alive ? "connected" : "reconnecting",
        session: { server: this.usable(server), link, zone, endpoint },
        since,
      };
    }
    return null;
  }

  private enter(state: State): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }

  private interrupt(reason: string): AbortSignal {
    this.wish.abort(new GatewayError("unable", reason));
    this.wish = new AbortController();
    return this.wish.signal;
  }

  private enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => {});
    return done;
  }
}

/** Waits for all of them even when one fails: what is still under way must not meet the repair. */
async function together(works: readonly (Promise<unknown> | null)[]): Promise<void> {
  const outcomes = await Promise.allSettled(works);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}

function assertWanted(signal: AbortSignal): void {
  if (signal.aborted) throw signal.reason;
}

function untilUnwanted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}

/** Whether an interface is a tunnel of ours to that server: both keys and the mark agree. */
function isServerOf(device: Device, { config }: Server): boolean {
  return (
    device.fwmark === FWMARK &&
    device.peer?.publicKey === config.peer.publicKey &&
    device.publicKey === publicKeyOf(config.interface.privateKey)
  );
}

function parseEndpoint(text: string): Session["endpoint"] | null {
  const match = /^\[?([0-9a-f.:]+?)\]?:([0-9]+)$/.exec(text);
  return match?.[1] === undefined ? null : { address: match[1], port: Number(match[2]) };
}
