import { rmSync } from "node:fs";
import type { Scheduler } from "fast-check";
import { type Parts, partsOn } from "../../src/app/parts.ts";
import { GatewayError } from "../../src/base/errors.ts";
import type { Mac } from "../../src/base/mac.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import type { Destination } from "../../src/destinations/schema.ts";
import { withdrawDirect } from "../../src/destinations/withdraw-direct.ts";
import type { Domain } from "../../src/http/domain.ts";
import { routesOf } from "../../src/http/routes.ts";
import { TIME_ZONE } from "../../src/schedules/zone.ts";
import { Store } from "../../src/store/store.ts";
import { ip } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { newDirectory } from "../tunnel/directory.ts";
import { SERVERS } from "../tunnel/gateway.ts";
import { Invariants } from "./invariants.ts";
import { type ParkedHost, parkedHost } from "./parked-host.ts";

export const MACS = ["02:00:00:00:00:10", "02:00:00:00:00:20"] as const;
export type KnownMac = (typeof MACS)[number];
const FLAGS = { interface: "wg", logLevel: "error" } as const;
/** The date when the machine starts, in milliseconds since 1970, and how long it has been up. */
const EPOCH_MS = 1_700_000_000_000;
const UP_MS = 250;
/** Turns of the event loop in which a process does all that it can do without the machine. */
const TURNS = 3;
/** Longer than any time-out of the gateway's, and than a device waits before it returns to a better exit. */
const REST_MS = 3 * 60_000;
/** The gateway's periods are parts of it. */
const BEAT_MS = 15_000;
const SECOND_MS = 1_000;
/** No start takes more. */
const MAX_START_TURNS = 2_000;

/** Of all commands, and of what is done instead of one. */
const CHANGES_FIREWALL = /^nft .*-f -$|^\(change elements\)$/;
/** The same of what waits for its turn. */
const FIREWALL_LABEL = /^nft -[ef] |^changeElements$/;

const ROUTES = new Map(routesOf(false).map((route) => [`${route.method} ${route.path}`, route]));

export interface Asked {
  method: string;
  path: string;
  params?: Record<string, string>;
  body?: object | undefined;
  /** The rule for destinations that it makes, changes or removes. */
  rule?: Pick<Destination, "devices" | "prefixes">;
}

/** What somebody asked of the gateway, and what came of it. */
export interface Request extends Asked {
  /** Null while it is not answered. */
  answer: "done" | GatewayError | null;
  /** How often it was answered. */
  answers: number;
  /** Whether the process that it was made to is gone. */
  isLost: boolean;
  /** Whether the disk was full before it was answered. */
  isUnsaved: boolean;
}

/**
 * One home. Its gateway is real and its machine is fake; of all that waits for the machine, the scheduler says what goes on
 * next, so that one seed is one interleaving, each time.
 */
export class World {
  readonly machine = new FakeHost(UP_MS);
  readonly requests: Request[] = [];
  /** Those that are, in the order of their answers. */
  readonly answered: Request[] = [];
  readonly story: string[] = [];
  parts!: Parts;
  private process!: ParkedHost;
  private watching = new AbortController();
  private readonly directory = newDirectory();
  private readonly invariants = new Invariants(this);
  /** Of processes that were killed. */
  private readonly former: Store[] = [];
  private readonly faults: string[] = [];
  private isUp = false;
  private isDiskFull = false;

  constructor(private readonly turns: Scheduler) {
    const { machine } = this;
    machine.patient = true;
    machine.setClock(EPOCH_MS);
    machine.links.get("lan0")?.addresses.push("192.168.7.1/24", "fe80::1/64");
    const store = Store.open(this.directory, machine.now());
    for (const server of SERVERS) store.insert(server);
    TIME_ZONE.write(store, "UTC");
    store.close();
  }

  /** A new process on the same machine and the same disk. Resolves once it could answer. */
  async start(): Promise<void> {
    this.process = parkedHost(this.machine, this.turns, (label) => this.called(label));
    this.isUp = false;
    const starting = this.begin();
    let failure: unknown = null;
    starting.catch((error) => {
      failure = error;
    });
    for (let turn = 0; !this.isUp; turn++) {
      if (failure !== null || turn > MAX_START_TURNS) this.fail(`the start fails: ${failure}`);
      if (this.turns.count() > 0) await this.next();
      else await this.machine.pass(SECOND_MS);
    }
  }

  /** The process ends with SIGKILL, whatever it was doing, and a new one starts. */
  async kill(): Promise<void> {
    await settled();
    this.note("kill -9");
    for (const request of this.requests) if (request.answer === null) request.isLost = true;
    this.stopProcess();
    this.former.push(this.parts.store);
    // A failure that was meant for a command of the former process.
    this.machine.fails = () => null;
    await this.start();
    if (this.isDiskFull) this.fillDisk(true);
  }

  /** Somebody asks for a change, and does not wait. */
  ask(asked: Asked): void {
    this.follow(asked, () => this.run(asked));
  }

  /** Somebody changes one of the rules for destinations, if there is one, or removes it if no exit is given. */
  changeRule(which: number, exit: string | null): void {
    const { destinations } = this.parts.destinations.list();
    const rule = destinations[which % destinations.length];
    if (rule === undefined) return;
    const method = exit === null ? "delete" : "patch";
    const body = exit === null ? undefined : { exit };
    this.ask({ method, path: "/api/destinations/:id", params: { id: rule.id }, body, rule });
  }

  /** The operator allows the exit `direct`, or takes it from all who have it. */
  allowDirect(isAllowed: boolean): void {
    this.follow({ method: "operator", path: "direct", body: { isAllowed } }, () =>
      isAllowed ? this.parts.devices.setDirect(true) : withdrawDirect(this.parts),
    );
  }

  /** What was asked for before the operator asked for the end of the exit `direct`, and still waits; otherwise nothing. */
  get askedBeforeWithdrawal(): readonly Request[] {
    const at = this.requests.findIndex(
      ({ method, body, answer, isLost }) =>
        method === "operator" && answer === null && !isLost && !(body as { isAllowed: boolean }).isAllowed,
    );
    return this.requests.slice(0, Math.max(at, 0));
  }

  /** What the interface answers. */
  async read(path: string, params: Record<string, string> = {}): Promise<unknown> {
    return this.run({ method: "get", path, params });
  }

  /** The disk takes nothing more, or everything again. */
  fillDisk(isFull: boolean): void {
    this.note(isFull ? "the disk is full" : "the disk has room");
    this.isDiskFull = isFull;
    for (const request of this.requests) if (isFull && request.answer === null) request.isUnsaved = true;
    const { database } = this.parts.store as unknown as { database: { run(statement: string): void } };
    database.run(`PRAGMA query_only = ${isFull ? "ON" : "OFF"}`);
  }

  /** The next changes of the firewall fail: before their effect, after it, or they are killed at their time-out after it. */
  refuse(count: number, how: "before" | "after" | "late"): void {
    this.note(`the next ${count} changes of the firewall fail ${how} their effect`);
    let left = count;
    this.machine.fails = (number) => {
      const command = this.machine.commands[number - 1] ?? "";
      if (left === 0 || !CHANGES_FIREWALL.test(command)) return null;
      left -= 1;
      this.invariants.refused();
      return how;
    };
  }

  /** A server answers nothing from now on. */
  silence(address: string): void {
    this.note(`${address} is silent`);
    this.machine.silent.add(`${address}:51820`);
  }

  plug(isPlugged: boolean): void {
    this.note(isPlugged ? "the uplink's cable is plugged in" : "the uplink's cable is pulled");
    this.machine.plug(isPlugged);
  }

  /** Another program removes the firewall's table. */
  removeTable(): void {
    this.note("the table is removed");
    this.invariants.tableRemoved();
    this.machine.removeTable();
  }

  endWatches(): void {
    this.note("the programs that watch end");
    this.machine.endWatches();
  }

  /** So much of what waits goes on, in the scheduler's order. */
  async go(count: number): Promise<void> {
    for (let turn = 0; turn < count && this.turns.count() > 0; turn++) await this.next();
  }

  /** Time goes by while what waits still waits. */
  async pass(ms: number): Promise<void> {
    this.note(`${ms} ms`);
    await this.machine.pass(ms);
    this.judge();
  }

  /** Time goes by, and whatever waits for the machine is answered at once. */
  async live(ms: number): Promise<void> {
    this.note(`${ms} ms, undisturbed`);
    this.process.isCalm = true;
    while (this.turns.count() > 0) await this.next();
    for (let past = 0; past < ms; past += BEAT_MS) {
      await this.machine.pass(BEAT_MS);
      this.judge();
    }
    this.process.isCalm = false;
  }

  /** Nothing fails any longer, and time goes by until nothing is left to do: then everything says the same. */
  async rest(): Promise<void> {
    this.note("rest");
    this.machine.fails = () => null;
    this.machine.silent.clear();
    this.machine.plug(true);
    if (this.isDiskFull) this.fillDisk(false);
    await this.live(REST_MS);
    this.process.isCalm = true;
    for (const fault of await this.invariants.faultsAtRest()) this.fail(fault);
  }

  /** Leaves nothing behind. */
  end(): void {
    this.stopProcess();
    for (const store of [...this.former, this.parts.store]) store.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private async begin(): Promise<void> {
    const settings = settingsFrom({ ...FLAGS, stateDir: this.directory });
    this.parts = await partsOn(this.process.host, settings);
    const { tunnels, devices, destinations, schedules, forwards, catalogue } = this.parts;
    await tunnels.start(catalogue);
    const { signal } = this.watching;
    tunnels.watch(signal);
    for (const each of [devices, destinations, schedules, forwards]) void each.watch(signal);
    for (const mac of MACS) {
      const address = ip(addressOf(mac));
      devices.saw({ interface: "lan0", address, mac: mac as Mac, heardMsAgo: 0, isLost: false });
    }
    this.isUp = true;
    this.invariants.remember();
  }

  private follow(asked: Asked, run: () => Promise<unknown>): void {
    const request: Request = {
      ...asked,
      answer: null,
      answers: 0,
      isLost: false,
      isUnsaved: this.isDiskFull,
    };
    this.requests.push(request);
    this.note(textOf(request));
    const answered = (answer: Request["answer"]) => {
      request.answer = answer;
      request.answers += 1;
      this.answered.push(request);
      this.note(`${textOf(request)}: ${answer instanceof GatewayError ? answer.message : answer}`);
    };
    run().then(
      () => answered("done"),
      (error) => answered(error instanceof GatewayError ? error : new GatewayError("unable", `BUG ${error}`)),
    );
  }

  private async run({ method, path, params = {}, body }: Asked): Promise<unknown> {
    const route = ROUTES.get(`${method} ${path}`);
    if (route === undefined) throw new Error(`there is no route ${method} ${path}`);
    const request = new Request("http://gateway/");
    return route.run(this.parts as unknown as Domain, { params, query: {}, body, request } as never);
  }

  private stopProcess(): void {
    this.process.kill();
    this.machine.kill();
    this.watching.abort();
    this.watching = new AbortController();
  }

  private async next(): Promise<void> {
    await this.turns.waitNext(1, settled);
    this.judge();
  }

  /** Follows a call from here to its effect. */
  private called(label: string): () => () => void {
    const takesEffect = FIREWALL_LABEL.test(label) && this.isUp ? this.invariants.changeBegins() : null;
    return () => {
      takesEffect?.();
      return () => this.look();
    };
  }

  /** What is wrong is kept: whoever waits for the machine must not get an error of the test's. */
  private look(): void {
    if (this.isUp) this.faults.push(...this.invariants.faults());
  }

  /** What holds at every moment. */
  private judge(): void {
    this.look();
    for (const fault of this.faults) this.fail(fault);
  }

  private note(line: string): void {
    this.story.push(line);
  }

  private fail(fault: string): never {
    throw new Error([fault, ...this.story].join("\n"));
  }
}

/** Of a device on the LAN. */
export function addressOf(mac: string): string {
  return `192.168.7.${mac.slice(-2)}`;
}

export function textOf({ method, path, params, body }: Asked): string {
  return [method, path, ...Object.values(params ?? {}), body === undefined ? "" : JSON.stringify(body)].join(
    " ",
  );
}

/** The process does all that it can do before it waits for the machine again. */
async function settled(work?: () => Promise<void>): Promise<void> {
  await work?.();
  for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
}
