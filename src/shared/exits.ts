/**
 * What a device can leave by: a tunnel, which is written by its name, or what is written as its row is named here. No
 * tunnel has such a name. An order is several of these, of which the first that is up is taken.
 */
export const EXITS = {
  tunnel: { isOutside: false },
  blocked: { isOutside: false },
  /** Only for devices that a person has named: as the default exit it would lead each new device outside the tunnel. */
  direct: { isOutside: true },
} as const satisfies Record<string, { isOutside: boolean }>;

export type ExitKind = keyof typeof EXITS;
type Outside = {
  [Kind in ExitKind]: (typeof EXITS)[Kind]["isOutside"] extends true ? Kind : never;
}[ExitKind];

/** The exits that all devices may have, and those that lead outside every tunnel. */
export type InsideExit = { to: "tunnel"; name: string } | { to: Exclude<ExitKind, Outside | "tunnel"> };
export type OutsideExit = { to: Outside };

export function exitKindOf(exit: string): ExitKind {
  return Object.hasOwn(EXITS, exit) && exit !== "tunnel" ? (exit as ExitKind) : "tunnel";
}

/** Whether it leads outside every tunnel. */
export function isOutside(exit: string): boolean {
  return EXITS[exitKindOf(exit)].isOutside;
}
