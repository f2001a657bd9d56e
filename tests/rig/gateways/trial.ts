import { INTERNET, LAN, type NetworkCards, VPN } from "../../../src/sandbox/topology.ts";
import { network, plugged } from "../leaks/boot.ts";
import { createLab, type Lab } from "../tools/lab.ts";
import type { Sniffer } from "../tools/sniffer.ts";
import type { Traffic } from "../tools/traffic.ts";
import { until } from "../tools/until.ts";
import { type Cables, meet, plugIn } from "./cables.ts";
import type { Gateway, Running } from "./gateway.ts";
import { type Families, Place, type ServerNumber } from "./place.ts";

const CARDS: NetworkCards = 2;
/** `wg-quick` and the first handshake take half a second where nothing else runs. */
const SERVES_WITHIN_MS = 60_000;
/** The kernel asks once a second for a neighbour that was away; these take 1.5 s where nothing else runs. */
const OBSERVED_DATAGRAMS = 300;
/** The gateway itself sends nothing but these, so that they tell its packets from those of devices. */
const OWN_PACKETS = ["ping"] as const;
const OF_DEVICES = ["udp", "udp6", "flow", "web", "dns"] as const;

/** What happens to a gateway from outside, or by what every gateway can do. */
export interface Event {
  name: string;
  /** `off`: the machine boots, and all is judged from the first packet on. `connected`: from when a device is served. */
  from: "off" | "connected";
  /** Played only with a gateway that claims to survive it. */
  claim?: "a flush";
  /** It needs nothing on the gateway itself but what a person asks of it: another machine can be judged by it. */
  isOutside?: true;
  run(trial: Trial): Promise<unknown>;
}

/** How many packets were where they may not be. */
export interface Verdict {
  /** Of devices, outside the tunnel on the uplink's cable; and what came in by it and reached one. */
  devices: number;
  /** Of the gateway itself: echo requests, and ICMP errors about the packets of others. */
  own: number;
  /** The first of them, in words. */
  examples: readonly string[];
}

/** Plays it in a lab that is gone afterwards. Throws where the gateway does not work before the event. */
export async function judged(gateway: Gateway, event: Event, cables: Cables | null = null): Promise<Verdict> {
  const trial = await Trial.open(gateway, cables);
  try {
    return await trial.play(event);
  } finally {
    await trial.close();
  }
}

/** One gateway in a home whose device sends all the time, with a sniffer on the uplink's cable. */
export class Trial {
  readonly place: Place;
  /** Frames that came to a device and should not have, in words. */
  readonly entered: string[] = [];
  private running: Running | null = null;
  private traffics: readonly Traffic[] = [];
  private others = new Set<string>();

  private constructor(
    readonly lab: Lab,
    private readonly gateway: Gateway,
    private readonly sniffer: Sniffer,
    /** Gives the cards back; null if the gateway is in the lab. */
    private readonly unplugCards: (() => Promise<void>) | null,
  ) {
    this.place = new Place(lab);
  }

  static async open(gateway: Gateway, cables: Cables | null): Promise<Trial> {
    const lab = await createLab({ cards: CARDS });
    try {
      const unplugCards = cables === null ? null : await plugIn(lab, cables);
      return new Trial(lab, gateway, await lab.sniff(), unplugCards);
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  async play({ from, run }: Event): Promise<Verdict> {
    const off = await (this.unplugCards === null ? this.boots(from) : this.meets(from));
    await this.connects();
    const before = from === "off" ? off : (await this.count()).length;
    await run(this);
    await this.observe();
    return this.verdict((await this.count()).slice(before));
  }

  /** Returns once a device is served by that server. */
  async connects(server: ServerNumber = 0, families: Families = "IPv4 and IPv6"): Promise<void> {
    await this.running?.connect(server, families);
    const { v4 } = server === 0 ? VPN.vpn1 : VPN.vpn2;
    const { client } = this.lab.namespaces;
    await until(async () => {
      const page = await this.lab.fetchFrom(client, `http://${INTERNET.host4}/`);
      return page?.includes(v4) === true;
    }, SERVES_WITHIN_MS).catch(() => {
      throw new Error(`${this.gateway.name} serves no device`);
    });
  }

  async disconnects(): Promise<void> {
    await this.running?.disconnect();
  }

  /** The uplink's cable, which the kernel of the lab's gateway looks at when it is asked. */
  async plugs(): Promise<void> {
    await this.lab.plug();
    if (this.unplugCards === null) await this.place.run("cat /sys/class/net/$UPLINK/carrier");
  }

  /** A command in the gateway's namespace; throws if it fails. */
  async inside(argv: readonly string[], stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await this.lab.exec(this.lab.namespaces.gateway, argv, stdin);
    if (code !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
    return stdout;
  }

  /** Returns once the device has sent so much that a leak has been seen. */
  observe(): Promise<void> {
    const [ofDevice] = this.traffics;
    if (ofDevice === undefined) throw new Error("nothing is sent yet");
    return ofDevice.sends(OBSERVED_DATAGRAMS);
  }

  /** All programs on the gateway get the signal, but the judge's own. */
  async end(signal: NodeJS.Signals): Promise<void> {
    for (const pid of await this.processes())
      if (!this.others.has(pid)) await this.lab.outside(["kill", "-s", signal.replace("SIG", ""), pid]);
  }

  async close(): Promise<void> {
    await Promise.all(this.traffics.map((traffic) => traffic.stop()));
    try {
      await this.sniffer.stop();
      await this.unplugCards?.();
    } finally {
      await this.lab.close();
    }
  }

  /** Returns how many packets were outside when the machine was off, with all that sends. */
  private async installs(): Promise<number> {
    await this.gateway.prepare(this.place);
    await network(this, "down");
    await this.findGateway();
    await this.startTraffic();
    this.others = new Set(await this.processes());
    return (await this.count()).length;
  }

  /** Returns how many packets were outside before. */
  private async boots(from: Event["from"]): Promise<number> {
    const off = await this.installs();
    await this.gateway.boot(this.place);
    await network(this, "up");
    await plugged(this.lab, [this.lab.namespaces.client]);
    if (from === "off") await this.observe();
    this.running = await this.gateway.start(this.place);
    return off;
  }

  /** Another machine is there already, and whatever it lets out before it is connected counts. */
  private async meets(from: Event["from"]): Promise<number> {
    await this.gateway.prepare(this.place);
    this.lab.otherGateway = await meet(this.lab);
    this.running = await this.gateway.start(this.place);
    this.traffics = [await this.lab.traffic(this.lab.namespaces.client, { kinds: OF_DEVICES })];
    if (from === "connected") return 0;
    await this.running.reboot?.();
    await this.observe();
    return 0;
  }

  private verdict(leaks: readonly string[]): Verdict {
    const own = leaks.filter((leak) => / ICMP(v6)? /.test(leak));
    const ofDevices = [...leaks.filter((leak) => !own.includes(leak)), ...this.entered];
    const examples = [...ofDevices.slice(0, 3), ...own.slice(0, 2)];
    return { devices: ofDevices.length, own: own.length, examples };
  }

  /** Nothing of it has passed the gateway before: a machine that boots knows no connections. */
  private async startTraffic(): Promise<void> {
    const { client, gateway } = this.lab.namespaces;
    this.traffics = await Promise.all([
      this.lab.traffic(client, { kinds: OF_DEVICES }),
      this.lab.traffic(gateway, { kinds: OWN_PACKETS }),
    ]);
  }

  /** What the device sends never waits for the gateway's MAC address, so that a leak shows in time. */
  private async findGateway(): Promise<void> {
    const { client } = this.lab.namespaces;
    const mac = (await this.inside(["cat", `/sys/class/net/${this.lab.sandbox.lan}/address`])).trim();
    for (const address of [LAN.gateway4, LAN.gateway6]) {
      const neighbour = ["ip", "neigh", "replace", address, "lladdr", mac, "nud", "permanent", "dev", "lan0"];
      await this.lab.exec(client, neighbour);
    }
  }

  private async processes(): Promise<string[]> {
    const { stdout } = await this.lab.outside(["ip", "netns", "pids", this.lab.namespaces.gateway]);
    return stdout.split("\n").filter((pid) => pid !== "" && pid !== `${process.pid}`);
  }

  private async count(): Promise<readonly string[]> {
    const { leaks, missed } = await this.sniffer.count();
    if (missed !== 0) throw new Error(`the sniffer missed ${missed} frames`);
    return leaks;
  }
}
