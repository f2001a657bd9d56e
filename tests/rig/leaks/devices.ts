import { INTERNET, LAN, RESOLVERS, UPLINK } from "../../../src/sandbox/topology.ts";
import { type Arrival, Arrivals } from "../judges/arrivals.ts";
import type { Answer, Gateway, Lab } from "../tools/lab.ts";
import { LanDevice } from "../tools/lan-device.ts";
import { labelOf, type Mark, Marker, markInLeak, type Turn } from "../tools/marker.ts";
import { until } from "../tools/until.ts";
import type { TokenBucket } from "./token-bucket.ts";

type Request = (method: string, path: string, body?: unknown) => Promise<Answer>;

export type Exit = "main" | "second" | "blocked" | "direct";
/** The exit of each device on a stage; the first has number 1. */
const EXITS: readonly Exit[] = ["second", "blocked", "direct"];
/** The server of the second tunnel, with a key that main never uses. */
const SECOND = { provider: "imported", server: "second" };

/** Of each family: with the other kinds, each device sends some 40 packets a second. More only heats the machine. */
const EVERY_MS = 100;
/** What takes a tenth of a second if nothing else runs. */
const SERVED_WITHIN_MS = 60_000;
/** Each look starts two programs and reads what all devices sent. */
const LOOK_MS = 120;
/** For datagrams under way; what has not arrived by then is lost. */
const ARRIVED_WITHIN_MS = 3_000;
const SERVED_KINDS: readonly Mark["kind"][] = ["udp4", "udp6", "tcp4", "tcp6", "dns4", "ping4", "ping6"];

/** Where a device sends what it asks names for, if not where it sends the rest. */
type DnsExit = { dns?: Exit };

/** Packets of one mark that were seen in one place, from the start on. */
export interface Sighting extends Mark {
  /** An exit, or, in words, none. */
  place: string;
  /** Not inside a tunnel: one of the sniffer's own lines. */
  isClear: boolean;
  packets: number;
}

/** What one device sent by its exit, and how much was seen elsewhere. */
export interface Served {
  device: number;
  exit: Exit;
  served: number;
  wrong: number;
}

/**
 * Three devices on the LAN, each with an exit of its own, that send marked packets without a pause. Each VPN server
 * counts what it gets, by the address inside the tunnel, and the sniffer at the router sees the rest.
 */
export class Devices {
  /** By device: the exit that it had in each epoch, and what it sent in it. */
  private readonly exits = new Map<number, { all: Exit; dns: Exit }[]>();
  private readonly sent = new Map<number, Turn["sent"][]>();
  /** What the sniffer has seen, and how many of its lines. */
  private readonly atRouter = new Map<string, Sighting>();
  private read = 0;
  /** The devices that have several exits. */
  private readonly ordered = new Set<number>();

  private constructor(
    private readonly lab: Lab,
    private readonly gateway: Gateway,
    private readonly request: Request,
    private readonly leaks: () => readonly string[],
    readonly all: readonly LanDevice[],
    private readonly markers: readonly Marker[],
    private readonly servers: readonly Arrivals[],
  ) {
    for (const [index, exit] of EXITS.entries()) this.exits.set(index + 1, [{ all: exit, dns: exit }]);
  }

  /** Makes the second tunnel and gives the devices their exits; `leaks` are the sniffer's lines so far. */
  static async plugIn(
    lab: Lab,
    gateway: Gateway,
    pace: TokenBucket,
    leaks: () => readonly string[],
  ): Promise<Devices> {
    const { namespaces, sandbox } = lab;
    const request: Request = async (method, path, body) => {
      await pace.turn(path);
      return gateway.api(method, path, body);
    };
    const all = await Promise.all(EXITS.map((_, index) => LanDevice.plugIn(lab, index + 1)));
    const servers = await Promise.all(
      (["vpn1", "vpn2"] as const).map((role) =>
        Arrivals.start(lab, namespaces[role], sandbox.serverInterfaces[role]),
      ),
    );
    const [other, { importText }] = sandbox.servers;
    // With a resolver that main does not use.
    const config = importText.replace(`DNS = ${RESOLVERS.vpn2.v4}`, `DNS = ${INTERNET.dns4}`);
    for (const body of [other.importBody, { name: SECOND.server, config }])
      await ask(request, "POST", "/api/import", body);
    await ask(request, "PUT", "/api/tunnels/second", SECOND);
    await allowDirect(gateway, "on");
    for (const [index, { mac }] of all.entries())
      await ask(request, "PUT", `/api/devices/${mac}`, { exit: EXITS[index] });
    const markers = await Promise.all(
      all.map(({ namespace, number }) => Marker.start(namespace, number, EVERY_MS)),
    );
    return new Devices(lab, gateway, request, leaks, all, markers, servers);
  }

  /** Every packet that is sent after it returns counts for the exit, and no other. */
  async assign(device: number, exit: Exit): Promise<void> {
    await ask(this.request, "PUT", `/api/devices/${this.numbered(device).mac}`, { exit });
    this.ordered.delete(device);
    await this.next(device, exit);
  }

  /** Gives it several exits; in force is this one of them. */
  async assignOrder(device: number, exits: readonly Exit[], exit: Exit): Promise<void> {
    this.ordered.add(device);
    await ask(this.request, "PUT", `/api/devices/${this.numbered(device).mac}`, { exit: exits });
    await this.next(device, exit);
  }

  /** Makes a rule for what the device asks for by name. It is in force for addresses once the device has asked. */
  async ruleNames(device: number, names: readonly string[], exit: Exit): Promise<void> {
    const { mac } = this.numbered(device);
    await ask(this.request, "POST", "/api/destinations", { names, devices: [mac], exit });
  }

  /** Makes a rule for these prefixes, of these devices or of all. Returns its id. */
  async rulePrefixes(
    prefixes: readonly string[],
    exit: Exit,
    devices: readonly number[] = [],
  ): Promise<string> {
    const macs = devices.map((device) => this.numbered(device).mac);
    const body = { prefixes, devices: macs, exit };
    return (await ask(this.request, "POST", "/api/destinations", body)).id;
  }

  /** What the device sends from now on counts for this exit, to which rules lead it. */
  async areLed(device: number, exit: Exit, dns: DnsExit = {}): Promise<void> {
    await this.next(device, exit, dns);
  }

  /** Removes the rules; what the device sends after it returns counts for the exit that it has of its own. */
  async forgetRules(device: number, exit: Exit): Promise<void> {
    await this.removeRules();
    await this.next(device, exit);
  }

  private async removeRules(): Promise<void> {
    const { body } = await this.request("GET", "/api/destinations");
    for (const { id } of body.destinations) await ask(this.request, "DELETE", `/api/destinations/${id}`);
  }

  /** The operator withdraws the exit `direct`: its device has the default exit then. */
  async withdrawDirect(): Promise<void> {
    await allowDirect(this.gateway, "off");
    for (const { number } of this.all) if (this.exitOf(number) === "direct") await this.next(number, "main");
  }

  /** Leads the second tunnel to a server, its own by default, over the interface. */
  async lead(server = SECOND.server): Promise<void> {
    await ask(this.request, "PUT", "/api/tunnels/second", { ...SECOND, server });
  }

  /** Ends the second tunnel; `restore` leads it back. */
  async disconnect(): Promise<void> {
    await ask(this.request, "POST", "/api/tunnels/second/disconnect");
  }

  /** The second tunnel as the interface describes it, if there is one. */
  // biome-ignore lint/suspicious/noExplicitAny: the answer's type is the interface's.
  async second(): Promise<any> {
    const { body } = await this.request("GET", "/api/tunnels");
    return body.tunnels.find(({ name }: { name: string }) => name === "second");
  }

  /** Whatever a scenario did: no rules for destinations, the second tunnel at its own server, and each device with its first exit. */
  async restore(): Promise<void> {
    await this.removeRules();
    const second = await this.second();
    if (second?.server !== SECOND.server || second.state === "disconnected") await this.lead();
    for (const [index, exit] of EXITS.entries()) {
      const { all, dns } = this.present(index + 1);
      if (all === exit && dns === exit && !this.ordered.has(index + 1)) continue;
      if (exit === "direct") await allowDirect(this.gateway, "on");
      await this.assign(index + 1, exit);
    }
  }

  numbered(device: number): LanDevice {
    const found = this.all[device - 1];
    if (found === undefined) throw new Error(`there is no device ${device}`);
    return found;
  }

  /** What the device's questions for names begin with now. */
  labelOf(device: number): string {
    return labelOf(device, this.epochOf(device));
  }

  epochOf(device: number): number {
    return (this.exits.get(device) ?? []).length - 1;
  }

  /** Begins a new epoch of each device, with the exit that it has, and returns the numbers. */
  async turn(): Promise<number[]> {
    return Promise.all(
      this.all.map(({ number }) => {
        const { all, dns } = this.present(number);
        return this.next(number, all, { dns });
      }),
    );
  }

  /** Sums up the epochs that are over for longer than a packet may be under way. */
  async sumUp(): Promise<void> {
    const isOver = ({ device, epoch }: Mark) => epoch < this.epochOf(device) - 1;
    await Promise.all(this.servers.map((server) => server.forget(isOver)));
  }

  /** All that was seen until now. */
  async count(): Promise<Sighting[]> {
    const arrivals = (await Promise.all(this.servers.map((server) => server.count()))).flat();
    const lines = this.leaks();
    for (const line of lines.slice(this.read)) this.noteAtRouter(line);
    this.read = lines.length;
    const inTunnels = new Map<string, Sighting>();
    for (const arrival of arrivals) note(inTunnels, this.inTunnel(arrival));
    // Copies, because these go on counting.
    return [...inTunnels.values(), ...this.atRouter.values()].map((one) => ({ ...one }));
  }

  /** Returns once what each device sends from now on arrives by its exit; throws if it does not. */
  async served(): Promise<void> {
    const epochs = await this.turn();
    let missing: string[] = [];
    const met = async () => {
      const sightings = await this.count();
      missing = this.all.flatMap(({ number }, index) => {
        const exits = this.present(number);
        const own = sightings.filter((one) => one.device === number && one.epoch === epochs[index]);
        const isMissing = (kind: Mark["kind"]) => {
          const exit = exitFor(kind, exits);
          return exit !== "blocked" && !own.some((one) => one.kind === kind && one.place === exit);
        };
        const unseen = SERVED_KINDS.filter(isMissing);
        return unseen.length === 0
          ? []
          : [`device ${number} is not served by ${exits.all}: no ${unseen.join(", no ")}`];
      });
      return missing.length === 0;
    };
    await until(met, SERVED_WITHIN_MS, LOOK_MS).catch(() => {
      throw new Error(missing.join("; "));
    });
  }

  /** Throws if a device has sent nothing in the epochs from `first` on, by device, that are over. */
  assertSent(first: readonly number[]): void {
    for (const { number } of this.all) {
      const counts = (this.sent.get(number) ?? []).slice(first[number - 1]);
      if (sum(counts.flatMap(({ udp4, udp6 }) => [udp4, udp6])) === 0)
        throw new Error(`device ${number} has sent nothing`);
    }
  }

  /** Whether the router has seen packets of each device, in these epochs by device, outside the tunnels. */
  async areInClear(epochs: readonly number[]): Promise<boolean> {
    const sightings = await this.count();
    return this.all.every(({ number }, index) =>
      sightings.some((one) => one.isClear && one.device === number && one.epoch === epochs[index]),
    );
  }

  /** Throws if one of these devices lost a datagram in the epochs from `first` on, by device, to the last that is over. */
  async lostNothing(devices: readonly number[], first: readonly number[]): Promise<void> {
    const last = await this.turn();
    let lost: string[] = [];
    const met = async () => {
      const sightings = await this.count();
      lost = devices.flatMap((device) => {
        const [from, to] = [first[device - 1] ?? 0, last[device - 1] ?? 0];
        return (["udp4", "udp6"] as const).flatMap((kind) => {
          const sent = sum((this.sent.get(device) ?? []).slice(from, to).map((counts) => counts[kind]));
          const within = ({ epoch }: Sighting) => epoch >= from && epoch < to;
          const own = sightings.filter((one) => one.device === device && one.kind === kind && within(one));
          const arrived = sum(own.map(({ packets }) => packets));
          return arrived === sent ? [] : [`device ${device}: of ${sent} ${kind}, ${arrived} arrived`];
        });
      });
      return lost.length === 0;
    };
    await until(met, ARRIVED_WITHIN_MS, LOOK_MS).catch(() => {
      throw new Error(lost.join("; "));
    });
  }

  /** Whether it was seen where its device may be seen: at the exit of its epoch, or at the one it then moved to. */
  isRight({ device, epoch, kind, place }: Mark & Pick<Sighting, "place">): boolean {
    const exits = this.exits.get(device)?.slice(epoch, epoch + 2) ?? [];
    return exits.some((each) => exitFor(kind, each) === place);
  }

  /** Whether a line of the sniffer's is a packet of a device that is direct, from the uplink's own address. */
  isDirect(line: string): boolean {
    const mark = markInLeak(line);
    return mark !== null && this.isRight({ ...mark, place: this.placeAtRouter(mark.from) });
  }

  /** What each device sent between two counts, by its exit and elsewhere. */
  between(before: readonly Sighting[], after: readonly Sighting[]): Served[] {
    const then = new Map(before.map((one) => [keyOf(one), one.packets]));
    const news = after.map((one) => ({ ...one, packets: one.packets - (then.get(keyOf(one)) ?? 0) }));
    return this.all.map(({ number: device }) => {
      const own = news.filter((one) => one.device === device);
      const total = (right: boolean) =>
        sum(own.filter((one) => this.isRight(one) === right).map(({ packets }) => packets));
      return { device, exit: this.exitOf(device), served: total(true), wrong: total(false) };
    });
  }

  /** In words: what arrived inside a tunnel that is not its device's exit. */
  astray(before: readonly Sighting[], after: readonly Sighting[]): string[] {
    const then = new Map(before.map((one) => [keyOf(one), one.packets]));
    return after
      .filter((one) => !one.isClear && !this.isRight(one) && one.packets > (then.get(keyOf(one)) ?? 0))
      .map(({ device, epoch, kind, place }) => {
        const exits = (this.exits.get(device)?.slice(epoch, epoch + 2) ?? []).map((each) =>
          exitFor(kind, each),
        );
        return `device ${device}, whose exit is ${[...new Set(exits)].join(", then ")}: ${kind} on ${place}`;
      });
  }

  async stop(): Promise<void> {
    await Promise.all(this.markers.map((marker) => marker.stop()));
  }

  private present(device: number): { all: Exit; dns: Exit } {
    return this.exits.get(device)?.at(-1) ?? { all: "blocked", dns: "blocked" };
  }

  private exitOf(device: number): Exit {
    return this.present(device).all;
  }

  private async next(device: number, all: Exit, { dns = all }: DnsExit = {}): Promise<number> {
    // From before the marker's answer on, packets of the new epoch may be on their way.
    const exits = this.exits.get(device) ?? [];
    exits.push({ all, dns });
    const turn = await this.markers[device - 1]?.next();
    if (turn === undefined) throw new Error(`there is no device ${device}`);
    this.sent.set(device, [...(this.sent.get(device) ?? []), turn.sent]);
    return turn.epoch;
  }

  private noteAtRouter(line: string): void {
    const mark = markInLeak(line);
    if (mark === null) return;
    const sighting = { ...mark, place: this.placeAtRouter(mark.from), isClear: true, packets: 1 };
    note(this.atRouter, sighting);
  }

  private placeAtRouter(from: string): string {
    return uplinkAddresses(this.lab).includes(from) ? "direct" : `the router, from ${from}`;
  }

  private inTunnel({ from, ...mark }: Arrival): Sighting {
    const customers = this.lab.sandbox.servers.flatMap(({ managed, custom, imported }) => [
      ...[managed, custom].map(({ address }) => ({ address, place: "main" })),
      { address: imported.address, place: "second" },
    ]);
    const place = customers.find(({ address }) =>
      address.split(",").some((one) => one.split("/")[0] === from),
    )?.place;
    return { ...mark, place: place ?? `a server, from ${from}`, isClear: false };
  }
}

function exitFor(kind: Mark["kind"], { all, dns }: { all: Exit; dns: Exit }): Exit {
  return kind.startsWith("dns") ? dns : all;
}

/** All that the gateway's uplink has in one scenario or another. */
function uplinkAddresses({ sandbox }: Lab): string[] {
  const own =
    sandbox.cards === 2
      ? [UPLINK.gateway4, UPLINK.gateway6, "192.168.88.3"]
      : [LAN.gateway4, LAN.gateway6, "192.168.77.3"];
  return [...own, "203.0.113.200", "2001:db8:113::200", "2001:db8:77::1"];
}

async function allowDirect(gateway: Gateway, wanted: "on" | "off"): Promise<void> {
  const { code, stderr } = await gateway.operate("direct", wanted);
  if (code !== 0) throw new Error(`direct ${wanted}: ${stderr}`);
}

/** The body of an answer that has to be 200. */
async function ask(request: Request, method: string, path: string, body?: unknown): Promise<Answer["body"]> {
  const answer = await request(method, path, body);
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** One tunnel may have had two servers. */
function note(all: Map<string, Sighting>, sighting: Sighting): void {
  const known = all.get(keyOf(sighting));
  if (known === undefined) all.set(keyOf(sighting), sighting);
  else known.packets += sighting.packets;
}

function keyOf({ device, epoch, kind, place }: Sighting): string {
  return [device, epoch, kind, place].join();
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
