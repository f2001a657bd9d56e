import type { Device, DeviceList } from "../devices/schema.ts";
import { isOutside } from "../shared/exits.ts";
import { carries, standingOf } from "../shared/verdict.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { exitName, titleOf } from "./exit.ts";
import { listOf, someOf } from "./format.ts";
import { say } from "./language.ts";

/** A device's exits as someone writes them, in their order; `blocked` can only be the last. */
export type Exits = readonly string[];

const BLOCKED = "blocked";

/** The exits that an order can have: `direct` never is one of several. */
export function exitsFor({ exits }: Pick<DeviceList, "exits">): Exits {
  return exits.filter((exit) => !isOutside(exit));
}

/** What a device's order begins with: the one that it has, or its exit and one more. */
export function orderFor(device: Device, all: Exits): Exits {
  if (device.exit_order !== undefined) return device.exit_order;
  const [first = BLOCKED] = all;
  return lengthened([all.includes(device.exit) && device.exit !== BLOCKED ? device.exit : first], all);
}

/** With the first exit that it lacks, which comes last but for `blocked`. */
export function lengthened(order: Exits, all: Exits): Exits {
  const added = all.find((exit) => !order.includes(exit));
  if (added === undefined) return order;
  const at = order.at(-1) === BLOCKED ? order.length - 1 : order.length;
  return order.toSpliced(at, 0, added);
}

/** The exits that can stand at a place of the order. */
export function choicesAt(at: number, order: Exits, all: Exits): Exits {
  const isFree = (exit: string) => exit === order[at] || !order.includes(exit);
  const choices = all.filter((exit) => isFree(exit) && (exit !== BLOCKED || at === order.length - 1));
  const own = order[at];
  return own === undefined || choices.includes(own) ? choices : [...choices, own];
}

/** Whether the exits at two places can change them. */
export function canSwap(order: Exits, one: number, other: number): boolean {
  return [order[one], order[other]].every((exit) => exit !== undefined && exit !== BLOCKED);
}

/** The place of the first exit that the order cannot have any more, because its tunnel was removed; -1 if it can have all. */
export function goneIn(order: Exits, all: Exits): number {
  return order.findIndex((exit) => !all.includes(exit));
}

/** What is known besides the device; null is not known yet. */
export interface Known {
  tunnels: readonly TunnelRow[] | null;
  devices: readonly Device[];
  /** The schedules that have given devices their exits, by the ids of those. */
  scheduled: ReadonlyMap<string, string> | null;
}

/** `isOpen`: whether the kill switch is off or not in place, so that nothing is blocked. */
type ExitFacts = Known & { isOpen: boolean };

/**
 * The exit that a device has as soon as it is given this order: the first that is up. But devices with the same order
 * are together, and may wait until a better exit has been up for a while. Null if none is up.
 */
export function takenAtOnce(order: Exits, { tunnels, devices, scheduled }: Known): string | null {
  const isUp = (exit: string) => exit === BLOCKED || isTunnelUp(exit, tunnels);
  const others = devices.filter(({ id }) => scheduled?.has(id) === false);
  const same = others.find(({ exit_order = [] }) => exit_order.join() === order.join());
  return (same !== undefined && isUp(same.exit) ? same.exit : order.find(isUp)) ?? null;
}

function isTunnelUp(name: string, tunnels: Known["tunnels"]): boolean {
  return tunnels?.some((row) => row.name === name && carries(standingOf(row))) === true;
}

/** Everything that becomes of a device which is given this order, as sentences. */
export function whatChanges(device: Device, order: Exits, known: ExitFacts): string[] {
  const title = titleOf(device);
  const tunnels = order.filter((exit) => exit !== BLOCKED);
  const schedule = known.scheduled?.get(device.id);
  return [
    say(
      "Apart from rules for destinations, {title} goes through the first of these that is up, and through no other: {exits}.",
      { title, exits: listOf(tunnels) },
    ),
    known.isOpen
      ? say("While none of them is up, it might leave outside the tunnel: the kill switch is not in place.")
      : say(
          "{end, select, blocked {If none of them is up, it is blocked, and rules for destinations that are for all devices do not hold for it.} other {If none of them is up, it is blocked. Rules for destinations that are for all devices hold for it then, too.}}",
          { end: order.at(-1) === BLOCKED ? "blocked" : "none" },
        ),
    replacedText(device),
    ...(schedule === undefined
      ? []
      : [say("The exit that the schedule {schedule} has given it ends now.", { schedule })]),
    nowText(device, order, known),
  ];
}

function replacedText({ exit_order, assigned, exit }: Device): string {
  if (exit_order !== undefined)
    return say("This replaces its present order: {exits}.", { exits: namesIn(exit_order) });
  return assigned
    ? say("This replaces its present exit: {exit}.", { exit: exitName(exit) })
    : say("It then has these instead of the default exit.");
}

function nowText({ exit }: Device, order: Exits, known: ExitFacts): string {
  const taken = takenAtOnce(order, known);
  if (!isForeseen(order, taken, known)) return say("It uses the first that is up.");
  if (known.isOpen && (taken === null || taken === BLOCKED))
    return say("None of them is up now. It might leave outside the tunnel: the kill switch is not in place.");
  if (taken === null) return say("None of them is up now: it has no internet until one is.");
  if (taken === exit)
    return say(
      "{exit, select, blocked {It stays blocked now.} other {It stays with {name} now, and keeps its connections.}}",
      { exit: taken, name: exitName(taken) },
    );
  return say(
    "{exit, select, blocked {It is blocked at once, and its connections end.} other {It goes through {name} at once, and its connections are reset.}}",
    { exit: taken, name: exitName(taken) },
  );
}

/** A tunnel that is connecting may still carry by its former server: nobody here can say whether it is up. */
function isForeseen(order: Exits, taken: string | null, { tunnels, scheduled }: Known): boolean {
  const before = taken === null ? order : order.slice(0, order.indexOf(taken) + 1);
  return (
    scheduled !== null &&
    tunnels?.some(({ name, state }) => state === "connecting" && before.includes(name)) === false
  );
}

/**
 * The devices that a tunnel's end moves to another of their tunnels. Of one whose exit a schedule has given, the order
 * does not hold now; and where no other tunnel is up, there is none to move to.
 */
export function movedBy(
  tunnel: string,
  devices: readonly Device[],
  { tunnels, scheduled }: Pick<Known, "tunnels" | "scheduled">,
): readonly Device[] {
  return devices.filter(
    ({ id, exit, exit_order = [] }) =>
      exit === tunnel &&
      scheduled?.has(id) === false &&
      exit_order.includes(tunnel) &&
      exit_order.some((other) => other !== tunnel && isTunnelUp(other, tunnels)),
  );
}

/** What becomes of these; nothing if there are none. */
export function movedText(devices: readonly Device[]): string {
  if (devices.length === 0) return "";
  return say(
    "{count, plural, one {{names} moves} other {{names} move}} to the next exit in its order that is up; connections are reset.",
    { count: devices.length, names: someOf(devices.map(titleOf)) },
  );
}

/** What is asked before a device with several exits gets only one; `exit` is empty for the default exit. */
export function onlyText(device: Device, order: Exits, exit: string, isOpen: boolean): string {
  const parts = {
    title: titleOf(device),
    exits: namesIn(order),
    kind: exit === "" ? "default" : exit === BLOCKED ? "blocked" : "tunnel",
    name: exitName(exit),
  };
  return isOpen
    ? say(
        "{title} has several exits in order: {exits}. If you go on, {kind, select, blocked {it might leave outside the tunnel} default {it has only the default exit, and might leave outside the tunnel while that is down} other {it has only {name}, and might leave outside the tunnel while that is down}}: the kill switch is not in place.",
        parts,
      )
    : say(
        "{title} has several exits in order: {exits}. If you go on, {kind, select, blocked {it is blocked} default {it has only the default exit, and no internet while that is down} other {it has only {name}, and no internet while that is down}}.",
        parts,
      );
}

/** The names of an order's exits. */
export function namesIn(order: Exits): string {
  return listOf(order.map(exitName));
}
