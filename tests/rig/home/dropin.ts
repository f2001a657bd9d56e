import type { NetworkCards } from "../../../src/sandbox/topology.ts";
import { Dnsmasq } from "../peers/dnsmasq.ts";
import { CLIENT_KINDS, type ClientKind } from "../tools/client-programs.ts";
import { createLab, type Gateway, type Lab } from "../tools/lab.ts";
import type { Sniffer } from "../tools/sniffer.ts";
import { isNeighbourly } from "../tools/sniffer.ts";
import { until } from "../tools/until.ts";
import { HomeClient } from "./home-client.ts";
import { addPrefixes, gatewayConfig, HOME6, type RouterServes, routerConfig, ULA } from "./home-routers.ts";
import { HomeTraffic, type Served } from "./home-traffic.ts";

/** A second, if nothing else runs. */
const ROUNDS = 10;
/** A DHCP client that had no answer asks again after seconds, and NetworkManager after more. */
const SERVED_WITHIN_MS = 90_000;

/** Frames of one client at the home router's port that should have taken the tunnel, by family. */
export interface Leaked {
  v4: number;
  v6: number;
}

export type ByKind<Value> = Record<ClientKind, Value>;

/** A home with its router, three computers that know nothing of a gateway, and a gateway that is put in front of it. */
export class DropIn {
  private router: Dnsmasq | null = null;
  private before = 0;
  private readonly server: Dnsmasq;

  private constructor(
    readonly lab: Lab,
    readonly gateway: Gateway,
    readonly clients: readonly HomeClient[],
    private readonly traffics: ByKind<HomeTraffic>,
    private readonly sniffer: Sniffer,
  ) {
    this.server = new Dnsmasq(lab, lab.namespaces.gateway, gatewayConfig(lab));
  }

  /** The gateway serves nothing yet, and the clients are off. */
  static async open(cards: NetworkCards): Promise<DropIn> {
    const lab = await createLab({ cards, computers: cards === 2 ? 3 : 1 });
    try {
      await addPrefixes(lab);
      const gateway = await lab.startGateway({ flags: ["--dhcp", "on", "--ula", ULA] });
      const clients = await Promise.all(
        CLIENT_KINDS.map((kind) => HomeClient.plugIn(lab, kind, cards === 1 ? "switch" : "home")),
      );
      const traffics = await Promise.all(
        clients.map(async ({ kind, namespace }) => [kind, await HomeTraffic.start(namespace)] as const),
      );
      const byKind = Object.fromEntries(traffics) as ByKind<HomeTraffic>;
      return new DropIn(lab, gateway, clients, byKind, await lab.sniff());
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.lab.close();
  }

  /** The home router from now on. */
  async routerServes(serves: RouterServes): Promise<void> {
    await this.router?.stop();
    this.router = new Dnsmasq(this.lab, this.lab.namespaces.router, routerConfig(serves));
    this.router.start();
  }

  /** Starts the gateway if it was killed, connects it, and starts its DHCP server. */
  async connect(): Promise<void> {
    if (this.gateway.pid === 0) await this.gateway.start();
    const { status, body } = await this.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
    if (status !== 200) throw new Error(body.error);
    this.server.start();
  }

  /** The same after a stop as systemd does it. */
  async serveAgain(): Promise<void> {
    await this.server.stop("SIGTERM");
    this.server.start();
  }

  /** How often the gateway has given or renewed this client's lease. */
  leases({ mac }: HomeClient): number {
    return this.server
      .log()
      .split("\n")
      .filter((line) => line.includes("DHCPACK") && line.includes(mac)).length;
  }

  /** Power is gone: nothing runs, and no cable has a carrier. */
  async cutPower(): Promise<void> {
    await Promise.all([this.server.stop("SIGKILL"), this.gateway.kill("SIGKILL"), this.cables("down")]);
  }

  async powerUp(): Promise<void> {
    await this.cables("up");
    await this.gateway.start();
    this.server.start();
  }

  /** So many rounds of traffic of each client: what was answered. */
  rounds(more: number): Promise<ByKind<Served>> {
    return this.each(({ kind }) => this.traffics[kind].rounds(more));
  }

  /** Returns once the host on the internet answers each client over both families, or over IPv4 alone. */
  async served(families: 4 | 46 = 46): Promise<void> {
    let last: ByKind<Served> | null = null;
    const isServed = async () => {
      last = await this.rounds(ROUNDS);
      return Object.values(last).every(
        ({ answered4, answered6 }) => answered4 > 0 && (families === 4 || answered6 > 0),
      );
    };
    await until(isServed, SERVED_WITHIN_MS, 0).catch((cause) => {
      throw new Error(`not served: ${JSON.stringify(last)}`, { cause });
    });
  }

  /** Makes the clients notice a dead router within 10 s; with Linux's own settings it takes up to 50 s. */
  async noticesSoon(): Promise<void> {
    await this.each((client) =>
      client.exec("sysctl", "-qw", "net.ipv6.neigh.lan0.base_reachable_time_ms=2000"),
    );
  }

  /** Returns once each client has an address of the home router's prefix and one of the gateway's. */
  async knowBothRouters(): Promise<void> {
    await until(async () => {
      const all = Object.values(await this.each((client) => client.addresses()));
      return all.every((own) =>
        [HOME6, "fd12:"].every((start) => own.some((each) => each.startsWith(start))),
      );
    });
  }

  /** From now on nothing may be seen in clear. */
  async mark(): Promise<void> {
    this.before = (await this.seen()).length;
  }

  /** What was seen in clear at the home router's port since the mark, a line for each kind of packet. */
  async leaks(): Promise<string[]> {
    const kinds = (await this.seen()).slice(this.before).map((leak) => leak.replace(/ \d+ > /, " "));
    return [...Map.groupBy(kinds, (kind) => kind)].map(([kind, { length }]) => `${kind}: ${length}`);
  }

  /** The same, as numbers of each client's packets. */
  async leaked(): Promise<ByKind<Leaked>> {
    const senders = (await this.seen()).slice(this.before).map((leak) => leak.split(" ", 1)[0] ?? "");
    return this.each(async (client) => {
      const own = new Set(await client.addresses());
      const sent = senders.filter((sender) => own.has(sender));
      const v6 = sent.filter((sender) => sender.includes(":")).length;
      return { v4: sent.length - v6, v6 };
    });
  }

  async each<Value>(work: (client: HomeClient) => Promise<Value>): Promise<ByKind<Value>> {
    const entries = this.clients.map(async (client) => [client.kind, await work(client)] as const);
    return Object.fromEntries(await Promise.all(entries)) as ByKind<Value>;
  }

  private async seen(): Promise<readonly string[]> {
    const { leaks, missed } = await this.sniffer.count();
    if (missed > 0) throw new Error(`the sniffer missed ${missed} frames`);
    return leaks.filter((leak) => !isOnCable(leak) && !isNeighbourly(leak));
  }

  private async cables(state: "up" | "down"): Promise<void> {
    const { sandbox, namespaces } = this.lab;
    for (const port of sandbox.cards === 1 ? ["gateway"] : ["gateway", "lan"])
      await this.lab.exec(namespaces.switch, ["ip", "link", "set", "dev", port, state]);
  }
}

/** Multicast to the cable itself. */
function isOnCable(leak: string): boolean {
  return / > (ff02:|224\.0\.0\.)/.test(leak);
}
