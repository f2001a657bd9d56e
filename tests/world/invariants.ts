import type { Code, GatewayError } from "../../src/base/errors.ts";
import { NotTakenBack, Unsaved } from "../../src/base/unsaved.ts";
import { formatOrder } from "../../src/devices/exit-order.ts";
import { readNetworks } from "../../src/devices/network-record.ts";
import type { LanNetworkList } from "../../src/devices/network-schema.ts";
import { finalRulesStand } from "../../src/killswitch/listing.ts";
import { DestinationInvariants } from "./destinations.ts";
import { ForwardInvariants } from "./forwards.ts";
import { Kept } from "./kept.ts";
import { NONE, type Possible } from "./possible.ts";
import { givenIn, scheduleFaults } from "./schedules.ts";
import { MACS, type Request, type World } from "./world.ts";

/** What a device was given, as the interface takes it: a text of exits in order. */
type Exit = string;

/** What is true of the gateway at each moment and at rest, whatever has happened to it. */
export class Invariants {
  /** The firewall's table when it was last looked at. */
  private table: string | null = null;
  private exits: ReadonlyMap<string, Exit> = new Map();
  private isTableRemoved = true;
  private readonly kept: Kept<Saved>;
  private readonly destinations: DestinationInvariants;
  private readonly forwards: ForwardInvariants;

  constructor(private readonly world: World) {
    this.kept = new Kept(() => this.saved);
    this.destinations = new DestinationInvariants(world);
    this.forwards = new ForwardInvariants(world);
  }

  /** By another program. Until the gateway has loaded it again, there is none. */
  tableRemoved(): void {
    this.isTableRemoved = true;
  }

  /** By the kernel: a change of the firewall. */
  refused(): void {
    for (const kept of this.allKept) kept.refused();
  }

  /** To be called when a change of the firewall begins; what it returns, before that takes effect. */
  changeBegins(): () => void {
    // A port opens once its server has opened it, beside whatever else is decided.
    const forwardsChange = this.forwards.kept.begin();
    return () => {
      this.remember();
      forwardsChange();
    };
  }

  /** To be called before each change of the firewall: what it opens has to be saved by then. */
  remember(): void {
    for (const kept of this.allKept) kept.remember();
  }

  private get allKept() {
    return [this.kept, this.destinations.kept, this.forwards.kept];
  }

  /** These hold after each effect. */
  faults(): string[] {
    const { table } = this.world.machine;
    const keys = this.keyFaults();
    if (table === this.table) return keys;
    this.table = table;
    if (table === null)
      return this.isTableRemoved ? keys : ["the gateway has removed its own table", ...keys];
    this.isTableRemoved = false;
    const stands = finalRulesStand(table) ? [] : ["the final rules do not stand"];
    const rooms = [this.destinations, this.forwards].flatMap((room) => room.openedUnsaved(table));
    return [...stands, ...this.openedUnsaved(table), ...rooms, ...keys];
  }

  /** Once all is quiet, kernel, database and interface say the same, and what was answered holds. */
  async faultsAtRest(): Promise<string[]> {
    const { machine, requests, parts } = this.world;
    const unanswered = requests.filter(({ isLost, answers }) => (isLost ? answers > 1 : answers !== 1));
    const bugs = requests.filter(({ answer }) => answer instanceof Error && answer.message.startsWith("BUG"));
    if (machine.table === null) return ["there is no firewall"];
    const { devices, default_exit } = (await this.world.read("/api/devices")) as Listed;
    const faults = [
      ...unanswered.map((each) => `${each.path} was answered ${each.answers} times`),
      ...bugs.map((each) => `${each.path}: ${(each.answer as Error).message}`),
    ];
    const inKernel = exitsIn(machine.table);
    const saved = new Map(parts.store.devices().map(({ id, exit }) => [id, exit]));
    const scheduled = givenIn(this.world);
    const tunnels = parts.tunnels.all().filter(({ controller }) => controller.state.name === "connected");
    const up: ReadonlySet<string> = new Set(["direct", ...tunnels.map(({ name }) => name)]);
    const network = await networkExit(this.world);
    const exits = [
      default_exit,
      ...network,
      ...devices.flatMap(({ exit, exit_order = [] }) => [exit, ...exit_order]),
    ];
    faults.push(...(await missingExits(this.world, exits)));
    for (const { id, exit, exit_order, assigned, rate } of devices) {
      const shown = assigned ? (exit_order ?? [exit]).join(",") : null;
      const kept = saved.get(id) ?? null;
      const byTime = scheduled.get(id);
      if (byTime === undefined ? shown !== kept : exit !== byTime)
        faults.push(`${id}: the interface says ${shown}, and ${byTime ?? kept} is saved`);
      const has = inKernel.get(id) ?? null;
      // A tunnel that is down is none to the kernel.
      const isDown = has === "blocked" && !up.has(exit);
      if (!isDown && (assigned ? has !== exit : has !== null && has !== exit))
        faults.push(`${id}: the interface says ${exit}, and the kernel has ${has}`);
      const exits = this.possibleOfDevice((each, held) => exitGivenBy(each, id, held), NONE);
      if (!exits.has(textOfExit(kept))) faults.push(`${id}: ${kept} is saved, and was given ${[...exits]}`);
      const rates = this.possibleOfDevice((each) => rateGivenBy(each, id), JSON.stringify(NONE));
      if (!rates.has(JSON.stringify(rate ?? NONE)))
        faults.push(`${id}: the rate is ${JSON.stringify(rate)}, and was given ${[...rates]}`);
    }
    const { server, killswitch_active } = (await this.world.read("/api/status")) as Shown;
    if (!killswitch_active) faults.push("the kill switch is not whole");
    const targets = this.possible(mainGivenBy, "", mayLead);
    if (!targets.has(server)) faults.push(`main leads to ${server}, and was given ${[...targets]}`);
    const possible = this.possible(defaultGivenBy, "main");
    if (!possible.has(default_exit))
      faults.push(`the default exit is ${default_exit}, and was given ${[...possible]}`);
    const ofNetwork = this.possible(networkGivenBy, NONE);
    if (!ofNetwork.has(network[0] ?? NONE))
      faults.push(`the network has ${network[0]}, and was given ${[...ofNetwork]}`);
    const [standard, inForce] = [network[0] ?? default_exit, defaultIn(machine.table)];
    if (inForce !== standard && !(inForce === "blocked" && !up.has(standard)))
      faults.push(`the network has ${standard}, and the kernel has ${inForce}`);
    const given: Possible = (...of) => this.possible(...of);
    for (const room of [this.destinations, this.forwards])
      faults.push(...(await room.faultsAtRest(machine.table, given)));
    return [...faults, ...(await scheduleFaults(this.world, given))];
  }

  /** No device gets an exit from the kernel that it does not have from the database: a power cut could not keep it. */
  private openedUnsaved(table: string): string[] {
    const before = this.exits;
    const own = exitsIn(table);
    this.exits = new Map(MACS.map((id) => [id, own.get(id) ?? defaultIn(table)]));
    return [...this.exits].flatMap(([id, exit]) => {
      if (exit === "blocked" || before.get(id) === exit) return [];
      const orders = this.kept.possible.map(({ orders }) => orders.get(id) ?? "");
      // What was direct and no longer is counts as closed, also if the uplink was down.
      if (before.get(id) === "direct" || (exit !== "direct" && orders[0] === "direct")) return [];
      if (exit === "direct" && this.kept.possible.every(({ isDirectAllowed }) => !isDirectAllowed))
        return [`${id} is direct, which is not allowed`];
      return orders.some((order) => order.split(",").includes(exit))
        ? []
        : [`${id} leaves through ${exit}, and ${orders[0]} is saved`];
    });
  }

  private get saved(): Saved {
    const { store } = this.world.parts;
    const own = store.devices().map(({ id, exit }) => [id, exit] as const);
    const exits = new Map<string, string | null>([...own, ...givenIn(this.world)]);
    const ofNetwork = readNetworks(store)?.get("lan0")?.exit;
    const unset = ofNetwork ? formatOrder(ofNetwork) : (store.read("default_exit") ?? "main");
    return {
      orders: new Map(MACS.map((id) => [id, exits.get(id) ?? unset])),
      isDirectAllowed: store.read("direct") === "on",
    };
  }

  /** Two interfaces with one key would take each other's handshakes. */
  private keyFaults(): string[] {
    const keys = [...this.world.machine.links.values()].flatMap(({ device }) =>
      device?.peer ? `${device.privateKey} at ${device.peer.publicKey}` : [],
    );
    return new Set(keys).size === keys.length ? [] : ["two interfaces have one key"];
  }

  /** The values that may hold now: what the answered requests have made of the first, and the others may have. */
  private possible<T>(
    given: (request: Request, held: T) => T | undefined,
    first: T,
    isOpen: (error: GatewayError, request: Request) => boolean = mayHold,
    requests: readonly Request[] = this.world.requests,
  ): Set<T> {
    let possible = new Set([first]);
    for (const request of requests) {
      const { answer } = request;
      if (answer instanceof Error && !isOpen(answer, request)) continue;
      const changed = [...possible].map((held) => given(request, held) ?? held);
      possible = new Set(answer === "done" && !isUndone(request) ? changed : [...possible, ...changed]);
    }
    return possible;
  }

  /** A change that waits for a slow part, as the limits are, is overtaken by those that need not wait. */
  private possibleOfDevice(...[given, first]: Parameters<Possible>): Set<string> {
    const { requests, answered } = this.world;
    const late = requests.filter((request) => !answered.includes(request));
    return this.possible(given, first).union(this.possible(given, first, mayHold, [...answered, ...late]));
  }
}

/** Whatever has an exit keeps the tunnel that it leaves by. */
async function missingExits(world: World, ofDevices: readonly Exit[]): Promise<string[]> {
  const { tunnels } = (await world.read("/api/tunnels")) as { tunnels: { name: string }[] };
  const { destinations } = (await world.read("/api/destinations")) as { destinations: { exit: Exit }[] };
  const existing = new Set(["blocked", "direct", ...tunnels.map(({ name }) => name)]);
  const used = new Set([...ofDevices, ...destinations.map(({ exit }) => exit)]);
  return [...used.difference(existing)].map((exit) => `${exit} is an exit, and there is no such tunnel`);
}

/** What the database says of devices. */
interface Saved {
  /** Of each, with the default exit for those without one. */
  orders: ReadonlyMap<string, Exit>;
  isDirectAllowed: boolean;
}

/** After these, a tunnel may have what was asked for all the same, or get it later. */
const UNDECIDED: ReadonlySet<Code> = new Set([
  "no_answer",
  "interrupted",
  "unable",
  "kernel_refused",
  "timed_out",
]);

/** What is in force unsaved is saved later, and what is saved in vain is removed, unless the process is killed before. */
const mayHold = (error: GatewayError): boolean => error instanceof Unsaved || error instanceof NotTakenBack;
/** A disconnect that is not saved holds until a restart. */
const mayLead = (error: GatewayError, { path }: Request): boolean =>
  mayHold(error) ||
  UNDECIDED.has(error.code) ||
  (path === "/api/disconnect" && error.code === "storage_full");

interface Shown {
  server: string;
  killswitch_active: boolean;
}

interface Listed {
  devices: { id: string; exit: Exit; exit_order?: Exit[]; assigned: boolean; rate?: object }[];
  default_exit: Exit;
}

/** The exit that a request gives a device; undefined if it leaves that as it is. */
function exitGivenBy({ method, params, body }: Request, id: string, held: Exit): Exit | undefined {
  if (method === "operator")
    return held === "direct" && !(body as { isAllowed: boolean }).isAllowed ? NONE : undefined;
  if (params?.id !== id) return undefined;
  if (method === "delete") return NONE;
  const { exit } = body as { exit?: Exit | Exit[] | null };
  return exit === undefined ? undefined : textOfExit(exit);
}

/** The same for the rate. */
function rateGivenBy({ method, params, body }: Request, id: string): string | undefined {
  if (params?.id !== id) return undefined;
  if (method === "delete") return JSON.stringify(NONE);
  const { rate } = body as { rate?: object | null };
  return rate === undefined ? undefined : JSON.stringify(rate ?? NONE);
}

function textOfExit(exit: Exit | readonly Exit[] | null): Exit {
  return exit === null ? NONE : [exit].flat().join(",");
}

function defaultGivenBy({ path, body }: Request): Exit | undefined {
  return path === "/api/default-exit" ? (body as { exit: Exit }).exit : undefined;
}

/** The exit of the only network; none if it has the home's. */
async function networkExit(world: World): Promise<Exit[]> {
  const { networks } = (await world.read("/api/networks")) as LanNetworkList;
  return networks.flatMap(({ assigned, exit }) => (assigned ? exit : []));
}

function networkGivenBy({ path, body }: Request): Exit | undefined {
  return path === "/api/networks/:interface" ? ((body as { exit: Exit | null }).exit ?? NONE) : undefined;
}

/** A tunnel connects without the disk, as the status and an alert say: a restart leads it where it led before. */
const isUndone = ({ path, isUnsaved }: Request): boolean => isUnsaved && path === "/api/connect";

/** Where main leads; empty without a target. */
function mainGivenBy({ path, body }: Request): string | undefined {
  if (path === "/api/disconnect") return "";
  return path === "/api/connect" ? (body as { server: string }).server : undefined;
}

/** By device that has one of its own. */
function exitsIn(table: string): Map<string, Exit> {
  const elements = /map exit_of \{[^}]*?elements = \{ ([^}]*) \}/.exec(table)?.[1] ?? "";
  const pairs = [...elements.matchAll(/([0-9a-f:]{17}) : goto exit_(\w+)/g)];
  return new Map(pairs.map(([, id = "", exit = ""]) => [id, exit]));
}

/** Of the devices without one: their network's, or the home's. */
function defaultIn(table: string): Exit {
  const found =
    /iifname "lan0" goto exit_(\w+) comment "the network's default exit"/.exec(table) ??
    /@assigned goto exit_(\w+) comment "the default exit/.exec(table);
  return found?.[1] ?? "blocked";
}
