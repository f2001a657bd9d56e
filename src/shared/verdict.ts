import { exitKindOf, isBlocked } from "./exits.ts";
import { isUsedUp } from "./quotas.ts";

/**
 * The verdict on the home, the same on every surface. Null stands for what was not read yet or could not be read.
 * `verdict-texts.ts` has its sentences.
 */

interface Facts<Row extends TunnelFacts> {
  killswitch: KillSwitchFacts | null;
  tunnels: readonly Row[] | null;
  devices: DeviceFacts | null;
}

export interface KillSwitchFacts {
  /** Whether it was not turned off. */
  wanted: boolean;
  layers: readonly { name: Layer; holds: boolean; parts: readonly PartFacts[] }[];
  /** Why the last change did not reach the kernel; null if it did. */
  error: string | null;
}

type Layer = "firewall" | "routing";

interface PartFacts {
  holds: boolean;
  found: string;
  /** The command that ends it, if only a person can. */
  remedy?: string;
}

export interface TunnelFacts {
  name: string;
  state: "disconnected" | "connecting" | "connected" | "reconnecting" | "failed";
  unanswered: boolean;
  server: string;
  location: string;
  via?: string;
  carrying?: { server: string; location: string; via?: string };
  wanted: string | null;
  wanted_via?: string;
  error: string | null;
  devices: number;
}

export interface DeviceFacts {
  defaultExit: string;
  /** How many devices have each exit. */
  counts: Readonly<Record<string, number>>;
  /** How many of these are blocked because their quota is used up. */
  usedUp: Readonly<Record<string, number>>;
  /** Whether new ones are, because they share such a quota. */
  areNewUsedUp: boolean;
  /** The exits, in order, of each device that is blocked and has several. */
  blockedOrders: readonly (readonly string[])[];
  /** Whether any of them has sent something through the gateway. */
  haveSent: boolean;
}

/** What is read of a device. */
interface DeviceRow {
  exit: string;
  exit_order?: readonly string[];
  quota?: Parameters<typeof isUsedUp>[0];
}

/** Who uses which exit, and whom something blocks that nobody has chosen. */
export function deviceFactsOf(
  devices: readonly DeviceRow[],
  { default_exit, shared_quota }: { default_exit: string; shared_quota?: DeviceRow["quota"] },
  haveSent: boolean,
): DeviceFacts {
  const isOver = ({ quota }: DeviceRow) => isUsedUp(quota ?? shared_quota);
  return {
    defaultExit: default_exit,
    counts: countsOf(devices),
    usedUp: countsOf(devices.filter(isOver)),
    areNewUsedUp: isUsedUp(shared_quota),
    blockedOrders: devices.flatMap(({ exit, exit_order }) =>
      exit_order !== undefined && isBlocked(exit) ? [exit_order] : [],
    ),
    haveSent,
  };
}

function countsOf(devices: readonly DeviceRow[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { exit } of devices) counts[exit] = (counts[exit] ?? 0) + 1;
  return counts;
}

/** What the exits of a home do. */
export interface Exits<Row> {
  /** Tunnels that carry the traffic of devices, or would carry that of new ones. */
  carrying: readonly Row[];
  /** Tunnels that should, and do not. */
  silent: readonly Row[];
  /** Exits that are the names of tunnels which the gateway does not have, with their devices. */
  lost: readonly { name: string; devices: number }[];
  /** Tunnels that are being connected or moved. */
  moving: readonly Row[];
  /** How many devices go through a tunnel that carries. */
  through: number;
  /** How many have no internet although nobody has chosen that: their tunnel carries nothing, or as follows. */
  without: number;
  /** How many would have it if their quota were not used up. */
  usedUp: number;
  /** How many of these would leave outside the tunnels. */
  usedUpOutside: number;
  /** Whether new ones are blocked by such a quota. */
  areNewUsedUp: boolean;
  /** How many are blocked because none of their tunnels is up. */
  waiting: number;
  /** Whether devices, or new ones, have the exit `blocked`. */
  isAnyBlocked: boolean;
  /** Whether new ones have. */
  areNewBlocked: boolean;
}

export type Verdict<Row> =
  /** Something that decides was not read yet. */
  | { name: "unknown"; of: "killswitch" | "devices" }
  | { name: "exposed"; isOff: boolean }
  /** One layer is gone, and the other one still blocks; or the last change is not in force. */
  | { name: "weakened"; by: Layer | "change"; error: string | null; ahead: RuleAhead | null }
  /** A tunnel is up, and no device uses it. */
  | ({ name: "unused" } & Exits<Row>)
  | ({ name: "protected" } & Exits<Row>)
  /** Some devices have no internet, and others have. */
  | ({ name: "partly" } & Exits<Row>)
  /** A tunnel is being connected; `carrying` has what still carries meanwhile. */
  | ({ name: "moving" } & Exits<Row>)
  /** Tunnels are up, and carry nothing for anybody. */
  | ({ name: "stalled" } & Exits<Row>)
  /** Nothing leaves. */
  | ({ name: "blocked" } & Exits<Row>);

/** Another program's routing rule, which only a person can remove. */
export interface RuleAhead {
  found: string;
  remedy: string;
}

/** The worst that is true. */
export function verdictOf<Row extends TunnelFacts>({
  killswitch,
  tunnels,
  devices,
}: Facts<Row>): Verdict<Row> {
  if (killswitch === null) return { name: "unknown", of: "killswitch" };
  const { wanted, layers, error } = killswitch;
  if (isExposed(killswitch)) return { name: "exposed", isOff: !wanted };
  const by = layers.find(({ holds }) => !holds)?.name ?? (error === null ? null : "change");
  if (by !== null) return { name: "weakened", by, error, ahead: ruleAhead(killswitch) };
  if (tunnels === null || devices === null) return { name: "unknown", of: "devices" };
  const exits = exitsOf(tunnels, devices);
  return { name: nameOf(exits, devices.haveSent), ...exits };
}

/** Whether nothing holds back what would leave outside the tunnels: either layer alone does. */
export function isExposed({ wanted, layers }: Pick<KillSwitchFacts, "wanted" | "layers">): boolean {
  return !wanted || layers.every(({ holds }) => !holds);
}

function nameOf<Row extends TunnelFacts>(exits: Exits<Row>, haveSent: boolean) {
  const { carrying, silent, lost, moving, through, without } = exits;
  const isMoving = moving.length > 0;
  if (carrying.length === 0 && silent.some(({ unanswered }) => unanswered)) return "stalled";
  if (carrying.length === 0) return isMoving && without === 0 ? "moving" : "blocked";
  if (without > 0) return "partly";
  if (isMoving) return "moving";
  return (through > 0 && haveSent) || silent.length + lost.length > 0 ? "protected" : "unused";
}

function exitsOf<Row extends TunnelFacts>(
  all: readonly Row[],
  { defaultExit, counts, usedUp: over, areNewUsedUp, blockedOrders }: DeviceFacts,
): Exits<Row> {
  const isUsed = (exit: string) => exit === defaultExit || (counts[exit] ?? 0) > 0;
  const usersOf = (tunnels: readonly { name: string }[], of = counts) =>
    tunnels.reduce((sum, { name }) => sum + (of[name] ?? 0), 0);
  const tunnels = all.filter(({ name }) => isUsed(name)).map(standingOf);
  const used = [...new Set([defaultExit, ...Object.keys(counts)])].filter(isUsed);
  const isLost = (exit: string) => exitKindOf(exit) === "tunnel" && all.every(({ name }) => name !== exit);
  const lost = used.filter(isLost).map((name) => ({ name, devices: counts[name] ?? 0 }));
  const carrying = tunnels.filter(carries);
  const silent = tunnels.filter((row) => !carries(row));
  const usedUpOutside = over.direct ?? 0;
  const usedUp = usersOf(carrying, over) + usedUpOutside;
  const isUp = (name: string) => all.some((row) => row.name === name && carries(standingOf(row)));
  // One of which a tunnel is up is blocked by a schedule, which somebody has chosen.
  const waiting = blockedOrders.filter((order) => !order.some(isUp)).length;
  return {
    carrying,
    silent,
    lost,
    moving: all.filter(({ name, state }) => isUsed(name) && state === "connecting"),
    through: usersOf(carrying) - usersOf(carrying, over),
    // A device of a tunnel that is connected for the first time waits for it.
    without: usersOf(silent.filter(({ state }) => state !== "connecting")) + usersOf(lost) + usedUp + waiting,
    ...{ usedUp, usedUpOutside, areNewUsedUp, waiting },
    isAnyBlocked: used.some(isBlocked),
    areNewBlocked: isBlocked(defaultExit),
  };
}

/** What only a person can end. */
export function ruleAhead({ layers }: Pick<KillSwitchFacts, "layers">): RuleAhead | null {
  for (const { holds, found, remedy } of layers.flatMap(({ parts }) => parts))
    if (!holds && remedy !== undefined) return { found, remedy };
  return null;
}

/** Whether what devices send into it is answered. */
export function carries({ state, unanswered }: Pick<TunnelFacts, "state" | "unanswered">): boolean {
  return state === "connected" && !unanswered;
}

/** A tunnel as its devices have it: while it moves, they still go through its former server. */
export function standingOf<Row extends TunnelFacts>(row: Row): Row {
  const { via: _, ...rest } = row;
  return row.carrying === undefined ? row : ({ ...rest, ...row.carrying, state: "connected" } as Row);
}
