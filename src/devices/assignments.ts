import { Decision, type Effect } from "../base/decision.ts";
import { GatewayError } from "../base/errors.ts";
import { isName } from "../base/name.ts";
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
  readonly decision: Decision<Decisions>;

  constructor(
    store: DeviceStorage,
    private readonly killSwitch: { update(owner: string, part: PolicyPart): Promise<void> },
    /** Gets the decisions before and after each change that is in force. */
    onChange: (before: Decisions, after: Decisions) => void,
    private readonly inForce: Pick<ExitsInForce, "of" | "keep">,
    /** Whether it is a device on the road: those have a limit of their own. */
    private readonly isRemote: (id: DeviceId) => boolean = () => false,
  ) {
    this.decision = new Decision({
      store,
      read: () => decisionsIn(store),
      write: (stored, decisions) => save(store, stored, decisions),
      parts: [
        {
          of: (decisions) => this.partOf(decisions),
          apply: (decisions) => this.apply(decisions),
          effect: effectOf,
        },
      ],
      changed: onChange,
    });
  }

  get current(): Decisions {
    return this.decision.value;
  }

  of(id: DeviceId): Assignment {
    return this.current.assigned.get(id) ?? NONE;
  }

  /** The exit in force. */
  exitOf(id: DeviceId): Exit {
    return this.inForce.of(this.orderOf(id));
  }

  orderOf(id: DeviceId): ExitOrder {
    return decidedOrder(this.current, id);
  }

  /** Gives the kill switch the exits that are in force now. A change that is under way does the same. */
  move(): void {
    // The kill switch tells of a failure, and keeps trying.
    void this.apply(this.current).catch(() => {});
  }

  /** Hands the decisions to the kill switch, after the start or after another writer has changed the database. */
  load(): Promise<void> {
    return this.decision.load().finally(() => this.keepOrders());
  }

  change(edit: (decisions: Decisions) => Decisions): Promise<void> {
    const checked = (before: Decisions) => this.assertFew(before, edit(before));
    return this.decision.change(checked).finally(() => this.keepOrders());
  }

  /** Throws what `change` would throw before it changes anything. */
  assertPossible(edit: (decisions: Decisions) => Decisions): void {
    this.assertFew(this.current, edit(this.current));
  }

  private assertFew(before: Decisions, after: Decisions): Decisions {
    const prefixes = (decisions: Decisions) =>
      idsIn(decisions).filter((id) => isPrefixId(id) && !this.isRemote(id)).length;
    if (idsIn(after).length > idsIn(before).length) refuseTooManyDevices(after);
    if (prefixes(after) <= MAX_PREFIXES || prefixes(after) <= prefixes(before)) return after;
    throw new GatewayError(
      "bad_request",
      `id: ${MAX_PREFIXES} prefixes already have a name or an exit, the maximum; remove one first`,
    );
  }

  private apply(decisions: Decisions): Promise<void> {
    return this.killSwitch.update(OWNER, this.partOf(decisions));
  }

  private keepOrders(): void {
    this.inForce.keep(idsIn(this.current).map((id) => this.orderOf(id)));
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
}

/** Writes what differs. */
function save(store: DeviceStorage, before: Decisions, after: Decisions): void {
  for (const id of new Set([...before.assigned.keys(), ...after.assigned.keys()])) {
    const { name, exit } = after.assigned.get(id) ?? NONE;
    if (Bun.deepEquals(before.assigned.get(id) ?? NONE, { name, exit })) continue;
    store.saveDevice({ id, name, exit: exit && formatOrder(exit) });
  }
  // What a person has chosen is written even if it is what holds without a choice.
  if (after.defaultExit !== before.defaultExit) DEFAULT_EXIT.write(store, formatExit(after.defaultExit));
  if (before.exitsLost !== null && after.exitsLost === null) store.forget(EXITS_LOST);
  if (after.scheduled !== before.scheduled) SCHEDULED.write(store, after.scheduled);
  if (after.directAllowed && !before.directAllowed) DIRECT.write(store, "on");
  if (before.directAllowed && !after.directAllowed) store.forget(DIRECT.key);
}

/** A device that was direct is no longer outside the tunnel. */
function effectOf(before: Decisions, after: Decisions): Effect {
  if (after.directAllowed && !before.directAllowed) return "loosens";
  const ids = new Set([...idsIn(before), ...idsIn(after)]);
  const moves = [
    { from: asOrder([before.defaultExit]), to: asOrder([after.defaultExit]) },
    ...[...ids].map((id) => ({ from: decidedOrder(before, id), to: decidedOrder(after, id) })),
  ].filter(({ from, to }) => !Bun.deepEquals(from, to));
  if (!moves.every(({ from, to }) => from[0].to === "direct" || isPartOf(waysIn(to), waysIn(from))))
    return "loosens";
  return moves.length > 0 || after.directAllowed !== before.directAllowed ? "tightens" : "neither";
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
