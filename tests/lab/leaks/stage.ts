import { type Arms, INTERNET, VPN } from "../../../src/sandbox/topology.ts";
import { type Answer, createLab, type Gateway, type Lab, type Ran } from "../lab.ts";
import type { Sniffer } from "../sniffer.ts";
import type { Traffic } from "../traffic.ts";
import { type Layer, starterFor } from "./layer.ts";
import { Network } from "./network.ts";
import { type Count, measured, type Row } from "./row.ts";
import type { Scenario } from "./scenario.ts";

const SERVER = "box-vpn-1";
const PAGE = `http://${INTERNET.host4}/`;
/** A dead tunnel is noticed within 5 s and dialled anew, each slower while tests run beside. */
const MENDED_WITHIN_MS = 20_000;
/** What mends at once does so by then; the rest is what the stage mends itself, by a restart. */
const MENDED_SOON_MS = 400;
/** The interface allows five connection requests in any second; a little more for two clocks. */
const PACE = { requests: 5, withinMs: 1_050 };

/**
 * One lab with one running gateway, where scenarios play one after the other. Traffic from the LAN client and from
 * the gateway never pauses, and neither does the sniffer: what leaks between two scenarios counts in the second.
 */
export class Stage {
  private requests: number[] = [];
  private last: Count | null = null;

  private constructor(
    readonly lab: Lab,
    readonly gateway: Gateway,
    private readonly layer: Layer,
    private readonly network: Network,
    private readonly sniffer: Sniffer,
    private readonly traffics: readonly Traffic[],
  ) {}

  static async open(arms: Arms, layer: Layer = "both"): Promise<Stage> {
    const lab = await createLab({ arms });
    try {
      const gateway = await lab.startGateway({ starter: await starterFor(lab, layer) });
      const network = await Network.remember(lab);
      const sniffer = await lab.sniff();
      // A resolver on the internet answers outside the tunnel too, and then tells whom it saw.
      const options = { resolver: INTERNET.dns4 };
      const senders = [lab.namespaces.client, lab.namespaces.gateway];
      const traffics = await Promise.all(senders.map((sender) => lab.traffic(sender, options)));
      return new Stage(lab, gateway, layer, network, sniffer, traffics);
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  get arms(): Arms {
    return this.lab.sandbox.arms;
  }

  async play(scenario: Scenario): Promise<Row> {
    this.last ??= await this.count();
    await this.bring(scenario.from);
    const failure = await scenario.run(this).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    await this.restore();
    const [before, after] = [this.last, await this.count()];
    this.last = after;
    const { arms, layer } = this;
    return { scenario: scenario.name, arms, layer, ...measured(before, after, scenario.allowed), failure };
  }

  async connect(server = SERVER): Promise<Answer> {
    return this.request("/api/connect", { server });
  }

  async disconnect(): Promise<Answer> {
    return this.request("/api/disconnect");
  }

  /** A request that the interface counts as one about the connection, once it may be made. */
  async request(path: string, body?: unknown): Promise<Answer> {
    const [oldest = 0] = this.requests.slice(-PACE.requests);
    if (this.requests.length >= PACE.requests) await Bun.sleep(oldest + PACE.withinMs - performance.now());
    this.requests = [...this.requests.slice(1 - PACE.requests), performance.now()];
    return this.gateway.api("POST", path, body);
  }

  /** A command in the gateway's namespace. */
  inside(...argv: string[]): Promise<Ran> {
    return this.lab.exec(this.lab.namespaces.gateway, argv);
  }

  /** The page of the internet as the client gets it, or null. */
  browse(): Promise<string | null> {
    return this.lab.fetchFrom(this.lab.namespaces.client, PAGE);
  }

  /** Whether both layers are whole, as far as this stage has them, and the client sees what the state promises. */
  async whole(): Promise<boolean> {
    const health = await this.gateway.api("GET", "/health").catch(() => null);
    if (health?.status !== 200 || !(await this.network.rulesStand())) return false;
    if (this.layer !== "both") return true;
    const { connected } = (await this.gateway.api("GET", "/api/status")).body;
    const page = await this.browse();
    return connected ? Object.values(VPN).some(({ v4 }) => page?.includes(v4)) : page === null;
  }

  /** Returns once the service itself has repaired everything; throws where it does not. */
  async mended(): Promise<void> {
    if (!(await this.wholeWithin(MENDED_WITHIN_MS)))
      throw new Error("the service does not mend what was broken");
  }

  /** Throws where the sniffer has not seen all. */
  async close(): Promise<void> {
    try {
      await Promise.all(this.traffics.map((traffic) => traffic.stop()));
      const { missed } = await this.sniffer.stop();
      if (missed !== 0) throw new Error(`the sniffer missed ${missed} frames`);
    } finally {
      await this.lab.close();
    }
  }

  private async bring(state: Scenario["from"]): Promise<void> {
    const { body } = await this.gateway.api("GET", "/api/status");
    if (state === "blocked") {
      if (body.state !== "disconnected") await this.disconnect();
      return;
    }
    if (body.state === "connected" && body.server === SERVER) return;
    if (body.provider !== "managed") await this.request("/api/provider/managed");
    const answer = await this.connect();
    if (answer.status !== 200) throw new Error(`cannot connect before a scenario: ${answer.body.error}`);
  }

  /** Whatever a scenario did: the gateway's network as it was, the service running, both layers whole. */
  private async restore(): Promise<void> {
    if (this.gateway.pid !== 0) process.kill(this.gateway.pid, "SIGCONT");
    const changed = await this.network.restore();
    if (this.gateway.pid === 0) await this.gateway.start();
    if (!changed && (await this.wholeWithin(MENDED_SOON_MS))) return;
    await this.gateway.restart();
    if (await this.wholeWithin(MENDED_SOON_MS)) return;
    await this.disconnect();
    await this.mended();
  }

  private async wholeWithin(ms: number): Promise<boolean> {
    const deadline = performance.now() + ms;
    for (let pause = 20; ; pause = Math.min(pause * 2, 200)) {
      if (await this.whole()) return true;
      if (performance.now() + pause > deadline) return false;
      await Bun.sleep(pause);
    }
  }

  private async count(): Promise<Count> {
    const traffic = await Promise.all(this.traffics.map((each) => each.count()));
    return { caught: await this.sniffer.count(), traffic };
  }
}
