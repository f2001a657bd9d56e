import { INTERNET, type NetworkCards } from "../../../src/sandbox/topology.ts";
import type { WireguardEndpoint } from "../tools/frame.ts";
import { createLab, type Gateway, type Lab } from "../tools/lab.ts";
import type { Sniffer } from "../tools/sniffer.ts";
import type { Traffic } from "../tools/traffic.ts";
import { Devices } from "./devices.ts";
import { type Allowance, type Count, measured, type Row } from "./row.ts";
import { TokenBucket } from "./token-bucket.ts";

/** Leaks show within milliseconds, and later if other tests run at the same time. */
const CONTROL_WITHIN_MS = 60_000;

/** A scenario that begins before there is a gateway, or needs one without its service: it has a lab of its own. */
export interface FreshScenario {
  name: string;
  cards: readonly NetworkCards[];
  /** What WireGuard packets may go to or come from, beside the servers. */
  endpoints?: readonly WireguardEndpoint[];
  /** What else may leave. */
  allowed?: Allowance;
  /** Proves its detector on the way; throws if what it observes is wrong. */
  run(fresh: Fresh): Promise<void>;
}

/** Plays one in a lab that is gone afterwards. */
export async function playFresh(scenario: FreshScenario, cards: NetworkCards): Promise<Row> {
  const fresh = await Fresh.open(cards, scenario);
  try {
    const failure = await scenario.run(fresh).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    return { scenario: scenario.name, cards, layer: "both", ...fresh.total, failure };
  } finally {
    await fresh.close();
  }
}

type Measured = ReturnType<typeof measured>;

/** A lab in which the gateway is a plain router, with a sniffer, and with traffic once it is started. */
export class Fresh {
  readonly total: Measured = {
    ...{ sent: 0, tunnelled: 0, refused: 0, devices: [], leaked: 0, leaks: [], missed: 0 },
  };
  devices: Devices | undefined;
  private traffics: Traffic[] = [];

  private constructor(
    readonly lab: Lab,
    private readonly sniffer: Sniffer,
    private readonly allowed: Allowance,
  ) {}

  static async open(
    cards: NetworkCards,
    { endpoints = [], allowed = () => false }: Pick<FreshScenario, "endpoints" | "allowed"> = {},
  ): Promise<Fresh> {
    const lab = await createLab({ cards });
    try {
      return new Fresh(lab, await lab.sniff(endpoints), allowed);
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  get cards(): NetworkCards {
    return this.lab.sandbox.cards;
  }

  /** A command in the gateway's namespace; throws if it fails. */
  async inside(argv: readonly string[], stdin?: string): Promise<string> {
    const ran = await this.lab.exec(this.lab.namespaces.gateway, argv, stdin);
    if (ran.code !== 0) throw new Error(`${argv.join(" ")}: ${ran.stderr}`);
    return ran.stdout;
  }

  /** The page of the internet as the client gets it, or null. */
  browse(): Promise<string | null> {
    return this.lab.fetchFrom(this.lab.namespaces.client, `http://${INTERNET.host4}/`);
  }

  /** Constant traffic from the LAN client and from the gateway; it ends with the lab. */
  async startTraffic(): Promise<void> {
    const { client, gateway } = this.lab.namespaces;
    this.traffics = await Promise.all([client, gateway].map((sender) => this.lab.traffic(sender)));
  }

  /** Makes a second tunnel, and three devices on the LAN that are assigned and send; they end with the lab. */
  async plugInDevices(gateway: Gateway): Promise<Devices> {
    this.devices = await Devices.plugIn(this.lab, gateway, new TokenBucket(), () => this.sniffer.leaks);
    return this.devices;
  }

  /** Returns once the client and the gateway have each sent a hundred more datagrams: 500 ms if nothing else runs. */
  async observe(): Promise<void> {
    await Promise.all(this.traffics.map((traffic) => traffic.sends(100)));
  }

  /** Nothing may leak while `work` is done. Returns what was counted meanwhile. */
  async guarded(work: () => Promise<unknown>): Promise<Measured> {
    const part = await this.during(work);
    const { total } = this;
    for (const key of ["sent", "tunnelled", "refused", "leaked", "missed"] as const) total[key] += part[key];
    total.leaks.push(...part.leaks);
    total.devices = part.devices;
    return part;
  }

  /** What is counted while `work` is done, and is not part of the result. */
  async during(work: () => Promise<unknown>): Promise<Measured> {
    const before = await this.count();
    await work();
    const { allowed, devices } = this;
    return measured(before, await this.count(), { allowed, ...(devices && { devices }) });
  }

  /** The positive control: throws unless the same sniffer sees leaks soon after the start of `work`. */
  async control(work: () => Promise<unknown>): Promise<void> {
    const before = await this.count();
    await work();
    const deadline = performance.now() + CONTROL_WITHIN_MS;
    while (measured(before, await this.count()).leaked === 0) {
      if (performance.now() > deadline)
        throw new Error("positive control: no leak, though there must be some");
      await Bun.sleep(50);
    }
  }

  async close(): Promise<void> {
    try {
      await Promise.all([...this.traffics.map((traffic) => traffic.stop()), this.devices?.stop()]);
      await this.sniffer.stop();
    } finally {
      await this.lab.close();
    }
  }

  private async count(): Promise<Count> {
    const traffic = await Promise.all(this.traffics.map((each) => each.count()));
    return { caught: await this.sniffer.count(), traffic, sightings: (await this.devices?.count()) ?? [] };
  }
}

/** With one card the plain router sends the client an ICMP redirect, which the client remembers for minutes. */
export async function forgetRedirects(lab: Lab): Promise<void> {
  for (const family of ["-4", "-6"])
    await lab.exec(lab.namespaces.client, ["ip", family, "route", "flush", "cache"]);
}
