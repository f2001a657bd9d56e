import { LAN } from "../../../src/sandbox/topology.ts";
import {
  ALL_DEVICES,
  type Change,
  comparable,
  type Decisions,
  eachOf,
  exitsToHosts,
  HOST_NAME,
  isConsistent,
  lead,
  namedFor,
  outcomesOf,
  ownExit,
  ownExits,
  QUOTA_BYTES,
  serverOf,
} from "../judges/changes.ts";
import { contradictions, told } from "../judges/consistency.ts";
import { Judge } from "../judges/judge.ts";
import { CLEAR, Sightings } from "../judges/sightings.ts";
import { startChargen } from "../tools/chargen.ts";
import { type Answer, createLab, type Gateway, type GatewayOptions, type Lab } from "../tools/lab.ts";
import { LanDevice } from "../tools/lan-device.ts";
import { askGateway } from "../tools/question.ts";
import { call } from "../tools/request.ts";
import { isServed, Sender } from "../tools/sender.ts";
import type { Sniffer } from "../tools/sniffer.ts";
import { until } from "../tools/until.ts";

/** A tunnel is dialled again after seconds; on a busy machine later, and after an outage TCP waits as long once more. */
const AT_REST_WITHIN_MS = 180_000;

/** What a direct device's packets look like without their marks, which the judge reads. */
const FROM_SENDERS = /^(192\.168\.88\.[23]|fd88::[23]) > \S+ ((UDP|TCP) \d+ > (7|19|53)\b|ICMP)/;

/** No play lasts longer. Quotas of a day begin anew at its end. */
const PLAY_MS = 3_600_000;
/** For frames to reach the judge; it takes 5 ms where nothing else runs. */
const ARRIVES_WITHIN_MS = 1_000;

/** What most tests begin with. */
const FIRST: Decisions = {
  tunnels: { main: "box-vpn-1", second: "box-vpn-2", third: "custom-1" },
  exits: {},
  defaultExit: "main",
  rules: {},
  named: {},
  limits: {},
};

/**
 * A home with devices that send all the time, and a judge who knows by what was asked and answered where each packet may
 * leave. While a request is under way, both what was before and what it asks for are right.
 */
export class Home {
  /** More than one while it is not known which is true. */
  private possible: readonly Decisions[] = [FIRST];
  readonly judge = new Judge();
  /** Whether a device may have been direct since the last `settle`, so that not all that is seen in clear is a leak. */
  private wasDirect = false;
  /** The same for the time before: its frames may arrive late. */
  private wasDirectBefore = false;
  /** What was wrong, and how many packets were seen, before the last `settle`. */
  private readonly found: string[] = [];
  private settled = 0;
  /** Whose rules by name have addresses in the kernel for certain. */
  private led: ReadonlySet<number> = new Set();
  /** Whose quotas are used up for certain. */
  private readonly spent = new Set<number>();
  /** Whether no day ends while it plays, so that quotas stay used up. */
  isOneDay = true;

  private constructor(
    readonly lab: Lab,
    readonly gateway: Gateway,
    readonly devices: readonly LanDevice[],
    readonly senders: readonly Sender[],
    private readonly sightings: Sightings,
    private readonly sniffer: Sniffer,
  ) {}

  /**
   * With three tunnels to different servers, `direct` allowed, and devices without exits of their own, which send
   * `slower` times fewer packets than usual. `wire` may add to the lab; it returns how the gateway is started.
   */
  static async open(
    count: number,
    wire = async (_: Lab): Promise<GatewayOptions> => ({}),
    slower = 1,
  ): Promise<Home> {
    const lab = await createLab({ cards: 2 });
    try {
      const [options] = await Promise.all([wire(lab), startChargen(lab, slower)]);
      const gateway = await lab.startGateway(options);
      const { code, stderr } = await gateway.operate("direct", "on");
      if (code !== 0) throw new Error(stderr);
      const devices: LanDevice[] = [];
      for (let number = 1; number <= count; number += 1) devices.push(await plugIn(lab, number));
      // Otherwise the kernel sends one ICMP error a second to each device.
      for (const path of ["ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"])
        await lab.exec(lab.namespaces.gateway, ["sysctl", "-qw", `net/${path}=0`]);
      await prepare(lab, gateway);
      const [sightings, sniffer] = [await Sightings.start(lab), await lab.sniff()];
      const senders = await Promise.all(devices.map((device) => Sender.start(device, slower)));
      const home = new Home(lab, gateway, devices, senders, sightings, sniffer);
      for (const { number } of devices) home.ruleOn(number, 0, [FIRST]);
      return home;
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  /** One that is possible. */
  get decisions(): Decisions {
    return this.possible[0] ?? FIRST;
  }

  device(number: number): LanDevice {
    const device = this.devices[number - 1];
    if (device === undefined) throw new Error(`there is no device ${number}`);
    return device;
  }

  sender(number: number): Sender {
    const sender = this.senders[number - 1];
    if (sender === undefined) throw new Error(`there is no device ${number}`);
    return sender;
  }

  /** Makes a change and expects that it succeeds; returns the milliseconds from the request to the answer. */
  async change(change: Change): Promise<number> {
    const start = performance.now();
    const [answer] = await this.attempt([change]);
    const ms = performance.now() - start;
    if (answer?.status !== 200)
      throw new Error(`${change.method} ${change.path}: ${JSON.stringify(answer?.body ?? "no answer")}`);
    return ms;
  }

  /**
   * Makes changes at once, which may fail; null is the answer of a service that did not live
   * to give one. `takeUp` finds out what is so if that leaves more than one possibility.
   */
  async attempt(
    changes: readonly Change[],
    meanwhile: () => Promise<unknown> = async () => {},
  ): Promise<(Answer | null)[]> {
    const before = this.possible;
    // A crash beside a flush forgets the addresses until devices ask again.
    this.led = new Set();
    await this.rule(
      outcomesOf(
        before,
        changes.map((change) => ({ change, status: null })),
      ),
    );
    const [answers] = await Promise.all([
      Promise.all(changes.map(({ method, path, body }) => call(this.gateway.port, method, path, body))),
      meanwhile(),
    ]);
    const made = changes.map((change, index) => ({ change, status: answers[index]?.status ?? null }));
    this.possible = outcomesOf(before, made);
    await this.rule(this.possible);
    return answers;
  }

  /** The firewall may be gone for a moment: then a quota holds nobody. */
  quotasMayOpen(): void {
    this.spent.clear();
  }

  /** From now on packets may leave by the exits of any of these decisions, and by no other. */
  async rule(decisions: readonly Decisions[]): Promise<void> {
    this.wasDirect ||= this.mayBeDirect(decisions);
    await Promise.all(
      this.devices.map(async ({ number }) =>
        this.ruleOn(number, (await this.sender(number).now()).number, decisions),
      ),
    );
  }

  private ruleOn(number: number, after: number, decisions: readonly Decisions[]): void {
    // Another quota begins anew.
    if (decisions.some(({ limits }) => limits[number] !== "a quota")) this.spent.delete(number);
    const isSpent = this.spent.has(number);
    const places = this.placesOf(number, decisions);
    // The gateway may ask for the device, which costs it nothing. What its connection could not send meanwhile it sends
    // once the quota has ended, with the numbers that it had.
    this.judge.rule(number, after, isSpent ? [] : places, this.askedAt(number, decisions), places);
  }

  /** Takes up what the gateway says, which has to be possible. */
  async takeUp(): Promise<void> {
    const said = this.decided(await told(this.gateway));
    const found = this.possible.find((decisions) => comparable(decisions) === comparable(said));
    if (found === undefined || !isConsistent(found)) {
      const others = this.possible.map(comparable).join("; ");
      throw new Error(`the gateway says ${comparable(said)}, where it may be: ${others}`);
    }
    this.possible = [{ ...found, rules: said.rules, named: said.named }];
    await this.rule(this.possible);
  }

  /** Waits until interface, database and kernel agree, and each device is served by its exit, or refused. */
  async comesToRest(): Promise<void> {
    let wrong: string[] = [];
    await until(async () => {
      wrong = await contradictions(this.lab, this.gateway).catch((error) => [String(error)]);
      return wrong.length === 0;
    }, AT_REST_WITHIN_MS).catch((error) => {
      throw new Error(`${error.message}: ${wrong.join("; ")}`);
    });
    await this.askNames();
    await Promise.all(this.devices.map(({ number }) => this.isRight(number)));
  }

  /**
   * Each device asks for the hosts' name if a rule is for it. From then on the rule holds for what it sends, or the name is
   * refused because the rule's exit is down.
   */
  private async askNames(): Promise<void> {
    const { decisions } = this;
    const led = await Promise.all(
      this.devices.map(async ({ number, namespace }) => {
        const whose = namedFor(decisions, number);
        const exit = whose === null ? undefined : decisions.named[whose]?.exit;
        if (whose === null || exit === undefined) return [];
        const isOpen = placesOf(exit, decisions).length > 0;
        for (const type of ["A", "AAAA"] as const)
          await until(async () => {
            const [first = ""] = await askGateway(namespace, HOST_NAME, type);
            return isOpen ? /[.:]/.test(first) : first === "REFUSED";
          }, AT_REST_WITHIN_MS).catch(() => {
            throw new Error(`device ${number} is not answered as the rule by name to ${exit} says`);
          });
        return isOpen ? [whose] : [];
      }),
    );
    this.led = new Set(led.flat());
    await this.rule(this.possible);
  }

  /** Waits until the device is served by its exit, or refused, or has used up its quota. */
  async isRight(number: number): Promise<void> {
    const { decisions } = this;
    const sender = this.sender(number);
    const { number: after, refused } = await sender.now();
    const own = ownExit(decisions, number);
    const exits = exitsToHosts(decisions, number, this.led, [own]);
    const places = exits.flatMap((exit) => placesOf(exit, decisions));
    const isCertain = exits.length === 1;
    const isAnswered = placesOf(own, decisions).length > 0;
    if (decisions.limits[number] === "a quota" && places.length > 0)
      return isCertain ? this.usesUpQuota(number) : undefined;
    await sender
      .until(
        (progress) =>
          (places.length > 0 && isServed(progress, after, isAnswered)) ||
          ((places.length === 0 || !isCertain) && progress.refused > refused),
        AT_REST_WITHIN_MS,
      )
      .catch(async () => {
        const progress = JSON.stringify(await sender.now());
        throw new Error(
          `device ${number} should be at ${places[0] ?? "no place"} since ${after}: ${progress}`,
        );
      });
  }

  /** From then on nothing of the device may leave, until the quota ends. */
  private async usesUpQuota(number: number): Promise<void> {
    await until(async () => {
      const { devices } = await told(this.gateway);
      const used = devices.find(({ id }) => id === this.device(number).mac)?.quota?.used_bytes;
      return used !== undefined && used >= QUOTA_BYTES;
    }, AT_REST_WITHIN_MS).catch(() => {
      throw new Error(`device ${number} does not use up its quota`);
    });
    if (!this.isOneDay || endsSoon(new Date())) return;
    this.spent.add(number);
    await this.rule(this.possible);
  }

  /** What was seen so far where it may not be, and in clear. */
  wrong(): string[] {
    return [...this.found, ...this.judge.wrong(this.sightings.all), ...this.leaksIn(this.sniffer.leaks)];
  }

  /** Judges what was seen so far and forgets the packets: a long run sees millions. Only at a quiet moment. */
  settle(): void {
    const sightings = this.sightings.take();
    this.found.push(...this.judge.wrong(sightings), ...this.leaksIn(this.sniffer.take()));
    this.settled += sightings.length;
    this.wasDirectBefore = this.wasDirect;
    this.wasDirect = this.mayBeDirect([this.decisions]);
  }

  /** How many marked packets were seen, and how many frames outside the tunnels. */
  get judged(): { packets: number; frames: number } {
    return { packets: this.settled + this.sightings.all.length, frames: this.sniffer.peek().frames };
  }

  /** Returns what was wrong and forgets it, for a positive control. Waits for the frames that have passed. */
  async forgive(): Promise<string[]> {
    const { missed } = await this.sniffer.count();
    if (missed > 0) throw new Error(`the sniffer missed ${missed} frames`);
    await Bun.sleep(ARRIVES_WITHIN_MS);
    this.settle();
    return this.found.splice(0);
  }

  /** How many packets of a device were seen at a place, of those after a number. */
  seen(device: number, place: string, after = 0): number {
    return this.sightings.all.filter(
      (each) => each.device === device && each.place === place && each.number > after,
    ).length;
  }

  /** Waits for all packets under way; what was wrong, and how each device fared. */
  async finish() {
    const progress = await Promise.all(this.senders.map((sender) => sender.stop()));
    await this.sightings.stop();
    const { missed } = await this.sniffer.stop();
    return { progress, missed, wrong: this.wrong() };
  }

  close(): Promise<void> {
    return this.lab.close();
  }

  private leaksIn(inClear: readonly string[]): readonly string[] {
    const isWrong = (line: string) => (!this.wasDirect && !this.wasDirectBefore) || !FROM_SENDERS.test(line);
    return inClear.filter(isWrong).map((line) => `leak: ${line}`);
  }

  private mayBeDirect(decisions: readonly Decisions[]): boolean {
    // One that a rule leads elsewhere still asks for names outside.
    return this.devices.some(({ number }) =>
      [...this.placesOf(number, decisions), ...this.askedAt(number, decisions)].includes(CLEAR),
    );
  }

  private placesOf(device: number, possible: readonly Decisions[]): string[] {
    return possible.flatMap((decisions) =>
      exitsToHosts(decisions, device, this.led).flatMap((exit) => placesOf(exit, decisions)),
    );
  }

  /** Where its questions for names may be seen: rules for networks do not lead them. */
  private askedAt(device: number, possible: readonly Decisions[]): string[] {
    return possible.flatMap((decisions) =>
      ownExits(decisions, device).flatMap((exit) => placesOf(exit, decisions)),
    );
  }

  private decided(said: Awaited<ReturnType<typeof told>>): Decisions {
    const { tunnels, devices, default_exit, destinations } = said;
    const assigned = devices.filter((each) => each.assigned);
    const numberOf = (id: string) => this.devices.find(({ mac }) => mac === id)?.number ?? id;
    const byDevice = (some: typeof destinations) =>
      Object.fromEntries(
        some.map(({ id, exit, devices: [device] }) => [
          device === undefined ? ALL_DEVICES : numberOf(device),
          { id, exit },
        ]),
      );
    return {
      tunnels: Object.fromEntries(
        tunnels.map(({ name, wanted, order }) => {
          const servers = order?.targets.map(({ server }) => serverOf(server)).join();
          return [name, servers ?? (wanted && serverOf(wanted))];
        }),
      ),
      exits: Object.fromEntries(
        assigned.map(({ id, exit, exit_order }) => [numberOf(id), exit_order?.join() ?? exit]),
      ),
      limits: Object.fromEntries(
        devices.flatMap(({ id, rate, quota }) => {
          const what = quota !== undefined ? "a quota" : rate !== undefined ? "a rate" : null;
          return what === null ? [] : [[numberOf(id), what]];
        }),
      ),
      defaultExit: default_exit,
      rules: byDevice(destinations.filter(({ names }) => names.length === 0)),
      named: byDevice(destinations.filter(({ names }) => names.length > 0)),
    };
  }
}

function placesOf(exit: string, { tunnels }: Decisions): string[] {
  return exit === "direct" ? [CLEAR] : eachOf(tunnels[exit]);
}

/** Its packets never wait for the gateway's address: they leave in the order of their numbers. */
async function plugIn(lab: Lab, number: number): Promise<LanDevice> {
  const device = await LanDevice.plugIn(lab, number);
  const { stdout } = await lab.exec(lab.namespaces.gateway, ["cat", "/sys/class/net/lan0/address"]);
  for (const gateway of [LAN.gateway4, LAN.gateway6])
    await lab.exec(device.namespace, [
      ...["ip", "neigh", "replace", gateway, "lladdr", stdout.trim(), "nud", "permanent", "dev", "lan0"],
    ]);
  return device;
}

/** The custom servers, and the three tunnels. */
async function prepare(lab: Lab, gateway: Gateway): Promise<void> {
  const bodies = lab.sandbox.servers.map(
    ({ customBody }) => ["/api/custom/add", "POST", customBody] as const,
  );
  const leads = Object.entries(FIRST.tunnels).map(([tunnel, server]) => {
    const { path, method, body } = lead(tunnel, server ?? "");
    return [path, method, body] as const;
  });
  for (const [path, method, body] of [...bodies, ...leads]) {
    const answer = await call(gateway.port, method, path, body);
    if (answer?.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer?.body)}`);
  }
}

/** Whether a play that has begun may see the day's end. */
function endsSoon(now: Date): boolean {
  return new Date(now.getTime() + PLAY_MS).getDate() !== now.getDate();
}
