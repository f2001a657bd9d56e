import { GatewayError, Unsaved } from "../base/errors.ts";
import { isName } from "../base/name.ts";
import { nextTurn, Queue } from "../base/queue.ts";
import { Saved, SavedChoice, type Texts } from "../base/saved.ts";
import {
  type AssignedDevice,
  type DecidedPrefix,
  type DefaultExit,
  type Exit,
  MAIN,
  type PolicyPart,
} from "../killswitch/policy.ts";
import { EXITS_LOST } from "../store/exits.ts";
import type { StoredDevice } from "../store/store.ts";
import { formatExit, parseDefaultExit } from "./exit.ts";
import { asOrder, type ExitOrder, formatOrder, parseOrder } from "./exit-order.ts";
import type { ExitsInForce } from "./exits-in-force.ts";
import { type DeviceId, isPrefixId, isRemoteId, parseDeviceId } from "./id.ts";

/** What a person has given a device; null for what they have not given. */
export interface Assignment {
  name: string | null;
  exit: ExitOrder | null;
}

/** Everything that people have decided about devices. */
export interface Decisions {
  assigned: ReadonlyMap<DeviceId, Assignment>;
  defaultExit: DefaultExit;
  /** Whether the operator lets devices leave outside the tunnel. */
  directAllowed: boolean;
  /**
   * The temporary exits of devices, by schedules that people have made. They take precedence over the assigned ones.
   */
  scheduled: ReadonlyMap<DeviceId, Exit>;
  /** One sentence if the exits were lost, and nobody has chosen the default exit since; else null. */
  exitsLost: string | null;
}

/** The place where decisions are kept. */
export interface DeviceStorage extends Texts {
  devices(): StoredDevice[];
  saveDevice(device: StoredDevice): void;
  forget(key: string): void;
  atomically(work: () => void): void;
}

/** Anyone on the LAN may assign devices, so the disk and the kernel's memory are limited. */
export const MAX_ASSIGNED = 1_000;
/** Each one needs some rules in the firewall and in routing, which every packet passes. */
export const MAX_PREFIXES = 32;

/** The owner of the exits in the kill switch; never a tunnel's name. */
const OWNER = "DEVICES";

export const DEFAULT_EXIT = new SavedChoice(
  "default_exit",
  "default exit",
  MAIN,
  (text) => parseDefaultExit(text) !== null,
);
/** Whether the exit of this name is allowed: `on`, or nothing. A restore allows it only if that is permitted. */
export const DIRECT = new SavedChoice("direct", "exit direct", "not allowed", (text) => text === "on", true);
/** Id and exit of each device. */
const SCHEDULED = new Saved("scheduled_exits", scheduledIn, scheduledText);

const NONE: Assignment = { name: null, exit: null };

/** The decisions, in the database and in the kernel. */
export class Assignments {
  private decisions: Decisions;
  /** Whether the database lacks more than the next change. */
  private isUnsaved = false;
  private readonly queue = new Queue();

  constructor(
    private readonly store: DeviceStorage,
    private readonly killSwitch: { update(owner: string, part: PolicyPart): Promise<void> },
    /** Gets the decisions before and after each change that the kernel has. */
    private readonly onChange: (before: Decisions, after: Decisions) => void,
    private readonly inForce: Pick<ExitsInForce, "of" | "keep">,
    /** Whether it is a device on the road: those have a limit of their own. */
    private readonly isRemote: (id: DeviceId) => boolean = () => false,
  ) {
    this.decisions = decisionsIn(store);
  }

  get current(): Decisions {
    return this.decisions;
  }

  /** Whether the database has what is in force. */
  get isSaved(): boolean {
    return !this.isUnsaved;
  }

  of(id: DeviceId): Assignment {
    return this.decisions.assigned.get(id) ?? NONE;
  }

  /** The exit in force. */
  exitOf(id: DeviceId): Exit {
    return this.inForce.of(this.orderOf(id));
  }

  orderOf(id: DeviceId): ExitOrder {
    return decidedOrder(this.decisions, id);
  }

  /** Gives the kill switch the exits that are in force now. A change that is under way does the same. */
  move(): void {
    // The kill switch tells of a failure, and keeps trying.
    void this.apply().catch(() => {});
  }

  /** Hands the decisions to the kill switch, after the start or after another writer has changed the database. */
  load(): Promise<void> {
    return this.queue.add(async () => {
      const before = this.decisions;
      this.decisions = decisionsIn(this.store);
      this.isUnsaved = false;
      await this.apply();
      this.changed(before);
    });
  }

  /**
   * Resolves once the new decisions are saved and the kernel has them. If either fails, both are as before. But a
   * change that only blocks takes effect even if it cannot be saved, and `Unsaved` is thrown. Changes run one after
   * another.
   */
  change(edit: (decisions: Decisions) => Decisions): Promise<void> {
    return this.queue.add(async () => {
      const before = this.decisions;
      const after = edit(before);
      this.refuseTooMany(before, after);
      this.decisions = after;
      const applied = Bun.deepEquals(this.partOf(before), this.partOf(after))
        ? Promise.resolve()
        : this.apply();
      applied.catch(() => {});
      let isSaved = false;
      try {
        // The kernel's tools start in this turn, and run while the disk works.
        await nextTurn();
        this.save(before, after);
        isSaved = true;
        await applied;
      } catch (error) {
        if (!isSaved && (onlyCloses(before, after) || (this.isUnsaved && Bun.deepEquals(before, after)))) {
          this.isUnsaved = true;
          await applied;
          this.changed(before);
          throw new Unsaved(error);
        }
        this.decisions = before;
        this.keepOrders();
        // The kill switch keeps trying to load the last decisions.
        await this.apply().catch(() => {});
        if (isSaved) this.takeBack(after, before);
        throw error;
      }
      this.changed(before);
    });
  }

  /** Throws what `change` would throw before it changes anything. */
  assertPossible(edit: (decisions: Decisions) => Decisions): void {
    this.refuseTooMany(this.decisions, edit(this.decisions));
  }

  /** Saves what is in effect and could not be saved, if that is possible now. */
  async saveAgain(): Promise<void> {
    if (!this.isUnsaved) return;
    // The client that made the change was told.
    await this.queue.add(async () => this.save(this.decisions, this.decisions)).catch(() => {});
  }

  /** Runs work that no change overlaps. */
  betweenChanges(work: () => Promise<void>): Promise<void> {
    return this.queue.add(work);
  }

  private refuseTooMany(before: Decisions, after: Decisions): void {
    const prefixes = (decisions: Decisions) =>
      idsIn(decisions).filter((id) => isPrefixId(id) && !this.isRemote(id)).length;
    if (idsIn(after).length > idsIn(before).length) refuseTooManyDevices(after);
    if (prefixes(after) <= MAX_PREFIXES || prefixes(after) <= prefixes(before)) return;
    throw new GatewayError(
      "bad_request",
      `id: ${MAX_PREFIXES} prefixes already have a name or an exit, the maximum; remove one first`,
    );
  }

  private apply(): Promise<void> {
    return this.killSwitch.update(OWNER, this.partOf(this.decisions));
  }

  private changed(before: Decisions): void {
    this.keepOrders();
    this.onChange(before, this.decisions);
  }

  private keepOrders(): void {
    this.inForce.keep(idsIn(this.decisions).map((id) => this.orderOf(id)));
  }

  private partOf(decisions: Decisions): PolicyPart {
    const devices: AssignedDevice[] = [];
    const routed: DecidedPrefix[] = [];
    for (const id of idsIn(decisions)) {
      const exit = this.inForce.of(decidedOrder(decisions, id));
      if (isPrefixId(id)) routed.push({ prefix: id, exit });
      else if (isDecided(decisions, id)) devices.push({ id, exit });
    }
    return { devices, routed, defaultExit: decisions.defaultExit };
  }

  /** The client is told why the change was refused, even if the database cannot be written any more. */
  private takeBack(after: Decisions, before: Decisions): void {
    try {
      this.save(after, before);
    } catch {
      this.isUnsaved = true;
    }
  }

  private save(former: Decisions, after: Decisions): void {
    const before = this.isUnsaved ? decisionsIn(this.store) : former;
    const ids = new Set([...before.assigned.keys(), ...after.assigned.keys()]);
    this.store.atomically(() => {
      for (const id of ids) {
        const { name, exit } = after.assigned.get(id) ?? NONE;
        if (Bun.deepEquals(before.assigned.get(id) ?? NONE, { name, exit })) continue;
        this.store.saveDevice({ id, name, exit: exit && formatOrder(exit) });
      }
      if (after.defaultExit !== before.defaultExit)
        DEFAULT_EXIT.write(this.store, formatExit(after.defaultExit));
      if (before.exitsLost !== null && after.exitsLost === null) this.store.forget(EXITS_LOST);
      if (after.scheduled !== before.scheduled) SCHEDULED.write(this.store, after.scheduled);
      if (after.directAllowed && !before.directAllowed) DIRECT.write(this.store, "on");
      if (before.directAllowed && !after.directAllowed) this.store.forget(DIRECT.key);
    });
    this.isUnsaved = false;
  }
}

/**
 * Whether less can leave afterwards, and nothing by another way. A device that was direct is then no longer outside the
 * tunnel.
 */
function onlyCloses(before: Decisions, after: Decisions): boolean {
  if (after.directAllowed && !before.directAllowed) return false;
  const ids = new Set([...idsIn(before), ...idsIn(after)]);
  const moves = [
    { from: asOrder([before.defaultExit]), to: asOrder([after.defaultExit]) },
    ...[...ids].map((id) => ({ from: decidedOrder(before, id), to: decidedOrder(after, id) })),
  ].filter(({ from, to }) => !Bun.deepEquals(from, to));
  return (
    moves.every(({ from, to }) => from[0].to === "direct" || isPartOf(waysIn(to), waysIn(from))) &&
    (moves.length > 0 || after.directAllowed !== before.directAllowed)
  );
}

/** The exits by which something can leave. */
function waysIn(order: ExitOrder): Exit[] {
  return order.filter(({ to }) => to !== "blocked");
}

/** Whether the second begins with the first. */
function isPartOf(first: readonly Exit[], second: readonly Exit[]): boolean {
  return Bun.deepEquals(first, second.slice(0, first.length));
}

function decidedOrder({ assigned, scheduled, defaultExit }: Decisions, id: DeviceId): ExitOrder {
  const temporary = scheduled.get(id);
  if (temporary !== undefined) return asOrder([temporary]);
  return assigned.get(id)?.exit ?? asOrder([defaultExit]);
}

/** Whether it has another exit than the default one, or the same by somebody's choice. */
function isDecided({ assigned, scheduled }: Decisions, id: DeviceId): boolean {
  return scheduled.has(id) || (assigned.get(id)?.exit ?? null) !== null;
}

/** The decisions with another assignment of one device. */
export function withAssignment(decisions: Decisions, id: DeviceId, assignment: Assignment): Decisions {
  const assigned = new Map(decisions.assigned);
  if (assignment.name === null && assignment.exit === null) assigned.delete(id);
  else assigned.set(id, assignment);
  return { ...decisions, assigned };
}

/** The decisions with another scheduled exit of one device; null ends it. */
export function withScheduled(decisions: Decisions, id: DeviceId, exit: Exit | null): Decisions {
  if (exit === null && !decisions.scheduled.has(id)) return decisions;
  const scheduled = new Map(decisions.scheduled);
  if (exit === null) scheduled.delete(id);
  else scheduled.set(id, exit);
  return { ...decisions, scheduled };
}

/** The devices that have been given this exit, alone or among others. */
export function idsOn(exit: string, { assigned, scheduled }: Decisions): DeviceId[] {
  const given = [...assigned].map(([id, each]) => [id, each.exit ?? []] as const);
  const temporary = [...scheduled].map(([id, each]) => [id, [each]] as const);
  const has = (order: readonly Exit[]) => order.some((each) => formatExit(each) === exit);
  return [...new Map([...given, ...temporary].filter(([, order]) => has(order))).keys()];
}

/** The ids of all devices about which something was decided. */
export function idsIn({ assigned, scheduled }: Decisions): DeviceId[] {
  return [...new Set([...assigned.keys(), ...scheduled.keys()])];
}

function refuseTooManyDevices(decisions: Decisions): void {
  if (idsIn(decisions).length <= MAX_ASSIGNED) return;
  throw new GatewayError(
    "bad_request",
    `id: ${MAX_ASSIGNED} devices already have a name or an exit, the maximum; remove one first`,
  );
}

function decisionsIn(store: DeviceStorage): Decisions {
  const directAllowed = DIRECT.read(store) === "on";
  const assigned = new Map<DeviceId, Assignment>();
  for (const { id, name, exit } of store.devices()) {
    const known = parseDeviceId(id);
    if (known === null) continue;
    assigned.set(known, {
      name: name !== null && isName(name) ? name : null,
      exit: exit === null ? null : storedExit(exit, directAllowed && mayBeDirect(known)),
    });
  }
  const defaultExit = parseDefaultExit(DEFAULT_EXIT.read(store)) ?? { to: "blocked" };
  const scheduled = SCHEDULED.read(store);
  return { assigned, defaultExit, directAllowed, scheduled, exitsLost: store.read(EXITS_LOST) };
}

function scheduledText(scheduled: ReadonlyMap<DeviceId, Exit>): string {
  return [...scheduled].map(([id, exit]) => `${id} ${formatExit(exit)}`).join(",");
}

/** Values that this version cannot read are left out. The schedules set them again. */
function scheduledIn(text: string | null): ReadonlyMap<DeviceId, Exit> {
  const pairs = (text ?? "").split(",").map((pair) => pair.split(" "));
  return new Map(
    pairs.flatMap(([id = "", exit = ""]) => {
      const [known, parsed] = [parseDeviceId(id), parseDefaultExit(exit)];
      return known === null || parsed === null ? [] : [[known, parsed] as const];
    }),
  );
}

/** Direct is for single devices. The kill switch knows which prefix is one. */
function mayBeDirect(id: DeviceId): boolean {
  return !isPrefixId(id) || isRemoteId(id);
}

/** An exit that this version cannot read, or that is not allowed, means blocked. */
function storedExit(text: string, directAllowed: boolean): ExitOrder {
  const order = parseOrder(text);
  return order === null || (order[0].to === "direct" && !directAllowed)
    ? asOrder([{ to: "blocked" }])
    : order;
}
