/**
 * What a device can go through: a tunnel, which is written by its name, or what is written as its row is named here.
 * No tunnel has such a name. An order is several of these, of which the first that is up is taken. What a row says
 * decides wherever only that matters; where each kind has its own way, a `switch` asks for it. What only opens may
 * compare with one kind, because another one then stays closed.
 */
export const EXITS = {
  tunnel: { isOutside: false, isBlocked: false },
  blocked: { isOutside: false, isBlocked: true },
  /** Only for devices that a person has named: as the default exit it would lead each new device outside the tunnel. */
  direct: { isOutside: true, isBlocked: false },
} as const satisfies Record<string, { isOutside: boolean; isBlocked: boolean }>;

export type ExitKind = keyof typeof EXITS;
type KindsThat<Are extends "isOutside" | "isBlocked"> = {
  [Kind in ExitKind]: (typeof EXITS)[Kind][Are] extends true ? Kind : never;
}[ExitKind];

/** The exits that all devices may have, and those that lead outside every tunnel. */
export type InsideExit =
  | { to: "tunnel"; name: string }
  | { to: Exclude<ExitKind, KindsThat<"isOutside"> | "tunnel"> };
export type OutsideExit = { to: KindsThat<"isOutside"> };
type Exit = InsideExit | OutsideExit;

export function exitKindOf(exit: string): ExitKind {
  return Object.hasOwn(EXITS, exit) && exit !== "tunnel" ? (exit as ExitKind) : "tunnel";
}

/** Whether it leads outside every tunnel; not if there is none. */
export function isOutside(exit: string | null): boolean {
  return exit !== null && EXITS[exitKindOf(exit)].isOutside;
}

/** Whether nothing goes through it. */
export function isBlocked(exit: string | null): boolean {
  return exit !== null && EXITS[exitKindOf(exit)].isBlocked;
}

/** The same of an exit that was read, or of none. */
export function isOutsideExit(exit: Exit | null | undefined): exit is OutsideExit {
  return exit != null && EXITS[exit.to].isOutside;
}

export function isBlockedExit(exit: Exit | null | undefined): exit is { to: KindsThat<"isBlocked"> } {
  return exit != null && EXITS[exit.to].isBlocked;
}
