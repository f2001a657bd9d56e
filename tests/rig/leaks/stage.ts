import { INTERNET, type NetworkCards, VPN } from "../../../src/sandbox/topology.ts";
import type { Relayed } from "../../../src/servers/schema.ts";
import { amneziaServers, relayServers, relaysAt } from "../peers/relayed-servers.ts";
import { type Answer, createLab, type Gateway, type Lab, type Ran } from "../tools/lab.ts";
import { Probe } from "../tools/probe.ts";
import { isNeighbourly, type Sniffer } from "../tools/sniffer.ts";
import type { Traffic } from "../tools/traffic.ts";
import { Devices } from "./devices.ts";
import { type Layer, starterFor } from "./layer.ts";
import { Network } from "./network.ts";
import { type Allowance, type Count, measured, type Row } from "./row.ts";
import { TokenBucket } from "./token-bucket.ts";

/**
 * One thing that happens to a gateway under constant traffic from the LAN and from the gateway itself. The stage
 * begins `from` a known state and brings the gateway back there afterwards, whatever the scenario did.
 */
export interface Scenario {
  /** A claim's subject, in words: `the tunnel link is deleted`. */
  name: string;
  cards: readonly NetworkCards[];
  from: "blocked" | "connected";
  /**
   * Runs while the sniffer and the traffic run; throws if what it observes is wrong. It uses `node:assert`, not the
   * test runner's `expect`, because the report plays it too.
   */
  run(stage: Stage): Promise<void>;
  /** The devices that it does not concern: they may not lose a packet. Needs both layers. */
  spares?: readonly number[];
  /** Packets that the scenario causes: handshakes to a dead endpoint, the lookup of a name. */
  allowed?: Allowance;
}

/** What happens to main alone. */
export function ofMain(scenarios: readonly Scenario[]): Scenario[] {
  return scenarios.map((scenario) => ({ ...scenario, spares: [1, 3] }));
}

/** Between two datagrams of each kind. More often, two stages take all the time of two processors. */
const OFTEN_MS = 10;
const SERVER = "box-vpn-1";
const PAGE = `http://${INTERNET.host4}/`;
const PAGE6 = `http://[${INTERNET.host6}]/`;
/** A dead tunnel is noticed within 5 s and dialled again; both are slower if other tests run at the same time. */
const MENDED_WITHIN_MS = 60_000;
/** What the service repairs at once is repaired by then; the stage repairs the rest itself, by a restart. */
const MENDED_SOON_MS = 400;

/** The catch of a sniffer before its first frame. */
const NOTHING = { frames: 0, wireguard: 0, arp: 0, ndp: 0, dhcp: 0, mdns: 0, leaks: [], missed: 0 };

/**
 * One lab with one running gateway, where scenarios play one after the other. Traffic from the LAN client, from three
 * devices with exits of their own, and from the gateway never pauses, and neither does the sniffer: what leaks between
 * two scenarios counts in the second.
 */
export class Stage {
  private turn: Promise<unknown> = Promise.resolve();
  private provider: string;
  private last: Count = { caught: NOTHING, traffic: [], sightings: [] };

  private constructor(
    readonly lab: Lab,
    readonly gateway: Gateway,
    readonly devices: Devices,
    private readonly pace: TokenBucket,
    private readonly layer: Layer,
    private readonly network: Network,
    private readonly sniffer: Sniffer,
    private readonly traffics: readonly Traffic[],
    /** Of main's tunnel. */
    readonly transport: Relayed | null,
  ) {
    this.provider = this.home;
  }

  /**
   * With a transport, main's tunnel has a relay. No list has servers by AmneziaWG: main's are servers of one's own then,
   * with the names of the managed ones. A new page is a connection each time, so it is ten times as rare as a datagram.
   */
  static async open(
    cards: NetworkCards,
    layer: Layer = "both",
    transport: Relayed | null = null,
    oftenMs = OFTEN_MS,
  ): Promise<Stage> {
    const lab = await createLab({ cards });
    try {
      if (transport !== null && transport !== "amnezia") await relayServers(lab, {}, [transport]);
      const gateway = await lab.startGateway({ starter: await starterFor(lab, layer) });
      const pace = new TokenBucket();
      const sniffer = await lab.sniff(transport === null ? [] : relaysAt(transport));
      const devices = await Devices.plugIn(lab, gateway, pace, () => sniffer.leaks);
      const network = await Network.remember(lab);
      // A resolver on the internet answers outside the tunnel too, and then tells whom it saw.
      const options = { resolver: INTERNET.dns4, intervalMs: oftenMs, rarelyMs: 10 * oftenMs };
      const senders = [lab.namespaces.client, lab.namespaces.gateway];
      const traffics = await Promise.all(senders.map((sender) => lab.traffic(sender, options)));
      const stage = new Stage(lab, gateway, devices, pace, layer, network, sniffer, traffics, transport);
      if (transport === "amnezia") await stage.addAmnezia();
      return stage;
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  /** The provider of main's servers. */
  private get home(): "managed" | "custom" {
    return this.transport === "amnezia" ? "custom" : "managed";
  }

  get cards(): NetworkCards {
    return this.lab.sandbox.cards;
  }

  /** Whether it has both layers. Without one nothing is served, and what counts is that nothing leaks. */
  get isWhole(): boolean {
    return this.layer === "both";
  }

  /** Scenarios play one after the other, even if they are started together. */
  play(scenario: Scenario): Promise<Row> {
    const row = this.turn.then(() => this.playNow(scenario));
    this.turn = row.catch(() => {});
    return row;
  }

  async connect(server = SERVER): Promise<Answer> {
    const isManaged = this.lab.sandbox.servers.some(({ hostname }) => hostname === server);
    const how = this.transport !== null && isManaged ? { transport: this.transport } : {};
    return this.request("/api/connect", { server, ...how });
  }

  async disconnect(): Promise<Answer> {
    return this.request("/api/disconnect");
  }

  /** A request to the interface, as soon as its limits allow it. */
  async request(path: string, body?: unknown, method = "POST"): Promise<Answer> {
    await this.pace.turn(path);
    const [, provider] = /^\/api\/provider\/(\w+)$/.exec(path) ?? [];
    this.provider = provider ?? this.provider;
    return this.gateway.api(method, path, body);
  }

  /** The body of /api/status. */
  async status(): Promise<Answer["body"]> {
    return (await this.request("/api/status", undefined, "GET")).body;
  }

  /** A command in the gateway's namespace. */
  inside(...argv: string[]): Promise<Ran> {
    return this.lab.exec(this.lab.namespaces.gateway, argv);
  }

  /** The page of the internet as the client gets it, or null. */
  browse(): Promise<string | null> {
    return this.lab.fetchFrom(this.lab.namespaces.client, PAGE);
  }

  /** Throws unless the internet sees the client come from there, or null: not at all. Needs both layers. */
  async sees(address: string | null): Promise<void> {
    if (!this.isWhole) return;
    const page = await this.browse();
    const right = address === null ? page === null : page?.includes(address) === true;
    if (!right) throw new Error(`the client should be seen as ${address}, but the page is ${page}`);
  }

  /** Returns once the client and the gateway have each sent so many more datagrams: 250 ms if nothing else runs. */
  async observe(datagrams = 25): Promise<void> {
    await Promise.all(this.traffics.map((traffic) => traffic.sends(datagrams)));
  }

  /** Brings the gateway into a state from which scenarios begin; connected is connected over IPv4 and IPv6. */
  async bring(state: Scenario["from"]): Promise<void> {
    const body = await this.status();
    if (state === "blocked") {
      if (body.state !== "disconnected") await this.disconnect();
      return;
    }
    const live = body.state === "connected" && body.server === SERVER;
    if (live && (await this.carries())) return;
    if (live) await this.disconnect();
    const answer = await this.connect();
    if (answer.status !== 200) throw new Error(`cannot connect before a scenario: ${answer.body.error}`);
  }

  /** Returns once the service itself has repaired everything; throws if it does not. */
  async mended(): Promise<void> {
    const broken = await this.brokenAfter(MENDED_WITHIN_MS);
    if (broken !== null) throw new Error(`the service does not repair what was broken: ${broken}`);
    await this.served();
  }

  /** Returns once each device whose exit is open is served by it. Needs both layers. */
  async served(): Promise<void> {
    if (this.isWhole) await this.devices.served();
  }

  /** What the sniffer has caught outside the tunnels until now, the direct device's packets included. */
  async leaks(): Promise<readonly string[]> {
    return (await this.sniffer.count()).leaks;
  }

  /** Throws if the sniffer missed frames. */
  async close(): Promise<void> {
    try {
      await Promise.all([...this.traffics.map((traffic) => traffic.stop()), this.devices.stop()]);
      const { missed } = await this.sniffer.stop();
      if (missed !== 0) throw new Error(`the sniffer missed ${missed} frames`);
    } finally {
      await this.lab.close();
    }
  }

  private async addAmnezia(): Promise<void> {
    for (const server of await amneziaServers(this.lab)) {
      const { status, body } = await this.request("/api/custom/add", server);
      if (status !== 200) throw new Error(`a server by AmneziaWG is refused: ${body.error}`);
    }
    await this.request(`/api/provider/${this.home}`);
  }

  private async playNow(scenario: Scenario): Promise<Row> {
    await this.bring(scenario.from);
    await this.devices.sumUp();
    const begin = await this.count();
    const epochs = await this.devices.turn();
    const failure = await failureOf(this.act(scenario, epochs));
    await this.endProbes();
    await this.restore();
    const unserved = await failureOf(this.serves(epochs));
    const end = await this.count();
    // What leaked since the last scenario counts in this one.
    const before = { ...begin, caught: this.last.caught, sightings: this.last.sightings };
    this.last = end;
    const { cards, layer, devices } = this;
    const allowed = (leak: string) =>
      scenario.allowed?.(leak) === true || (cards === 1 && isNeighbourly(leak));
    const row = measured(before, end, { allowed, devices });
    return { scenario: scenario.name, cards, layer, ...row, failure: failure ?? unserved };
  }

  private async act(scenario: Scenario, epochs: readonly number[]): Promise<void> {
    await scenario.run(this);
    if (this.isWhole && scenario.spares !== undefined)
      await this.devices.lostNothing(scenario.spares, epochs);
  }

  /** Without a layer a scenario may fail halfway, and what its probes send would count in the next. */
  private endProbes(): Promise<void> {
    const { namespaces, sandbox } = this.lab;
    const ofComputers = sandbox.computers.map(({ namespace }) => namespace);
    return Probe.endIn([...Object.values(namespaces), ...ofComputers]);
  }

  /** Throws unless each device has sent something since, and each that has an exit is served again. */
  private async serves(epochs: readonly number[]): Promise<void> {
    if (this.isWhole) await this.served();
    else await this.devices.turn();
    this.devices.assertSent(epochs);
  }

  /** Whatever a scenario did: the gateway's network as it was, the service running, both layers whole. */
  private async restore(): Promise<void> {
    if (this.gateway.pid !== 0) process.kill(this.gateway.pid, "SIGCONT");
    const changed = await this.network.restore();
    if (this.gateway.pid === 0) await this.gateway.start();
    // First of all, because a direct device has routing rules; what is broken may need a restart first.
    const unrestored = await failureOf(this.devices.restore());
    if (changed || (await this.brokenAfter(MENDED_SOON_MS)) !== null) {
      await this.gateway.restart();
      if ((await this.brokenAfter(MENDED_SOON_MS)) !== null) await this.disconnect();
      await this.mended();
    }
    if (this.provider !== this.home) await this.request(`/api/provider/${this.home}`);
    if (unrestored !== null) await this.devices.restore();
  }

  private async brokenAfter(ms: number): Promise<string | null> {
    const deadline = performance.now() + ms;
    for (let pause = 20; ; pause = Math.min(pause * 2, 200)) {
      const broken = await this.broken();
      if (broken === null || performance.now() + pause > deadline) return broken;
      await Bun.sleep(pause);
    }
  }

  /** What is wrong, as far as this stage has the layers, or null. */
  private async broken(): Promise<string | null> {
    if (!(await this.network.rulesStand())) return "the routing rules are not as they were";
    const health = await this.gateway.api("GET", "/health").catch(() => null);
    if (health?.status !== 200) return `the service is not healthy: ${health?.body}`;
    const { state } = await this.status();
    if (!this.isWhole) return null;
    if (state === "connected") return (await this.carries()) ? null : "the tunnel carries nothing";
    if (state !== "disconnected" && state !== "failed") return `the service is ${state}`;
    return (await this.browse()) === null ? null : "the client is not blocked";
  }

  /** Whether the client's questions take a tunnel, over IPv4 and IPv6. */
  private async carries(): Promise<boolean> {
    if (!this.isWhole) return true;
    const pages = await Promise.all(
      [PAGE, PAGE6].map((url) => this.lab.fetchFrom(this.lab.namespaces.client, url)),
    );
    return pages.every((page) =>
      Object.values(VPN).some(({ v4, v6 }) => page?.includes(v4) || page?.includes(v6)),
    );
  }

  private async count(): Promise<Count> {
    const traffic = await Promise.all(this.traffics.map((each) => each.count()));
    return { caught: await this.sniffer.count(), traffic, sightings: await this.devices.count() };
  }
}

function failureOf(work: Promise<unknown>): Promise<string | null> {
  return work.then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}
