import type { DefaultExit, Exit } from "../killswitch/policy.ts";
import { exitKindOf, isOutsideExit } from "../shared/exits.ts";
import { isTunnelOrMain } from "../tunnel/name.ts";
import { refused } from "./refusals.ts";

/** The exits that devices can be given now. */
export interface Exits {
  /** The names of all tunnels. */
  tunnels: readonly string[];
  directAllowed: boolean;
}

/** `blocked`, `direct` or the name of a tunnel; null if the text cannot be any of these. */
export function parseExit(text: string): Exit | null {
  const kind = exitKindOf(text);
  switch (kind) {
    case "tunnel":
      return isTunnelOrMain(text) ? { to: kind, name: text } : null;
    case "blocked":
    case "direct":
      return { to: kind };
  }
}

/** The same without `direct`. */
export function parseDefaultExit(text: string): DefaultExit | null {
  const exit = parseExit(text);
  return isOutsideExit(exit) ? null : exit;
}

export function formatExit(exit: Exit): string {
  return exit.to === "tunnel" ? exit.name : exit.to;
}

export function namesOf({ tunnels, directAllowed }: Exits): string[] {
  return [...tunnels, "blocked", ...(directAllowed ? ["direct"] : [])];
}

/** The exit that a client has asked for. Throws `not_found` if there is no tunnel of that name. */
export function exitIn(text: string, exits: Exits): Exit {
  if (text !== "direct") return defaultExitIn(text, exits);
  if (exits.directAllowed) return { to: "direct" };
  throw refused("direct_forbidden");
}

/** The same for the devices that are not assigned. */
export function defaultExitIn(text: string, exits: Exits): DefaultExit {
  if (text === "direct") throw refused("direct_as_default");
  const exit = parseDefaultExit(text);
  if (exit === null || (exit.to === "tunnel" && !exits.tunnels.includes(exit.name)))
    throw refused("exit_unknown", { exits: namesOf(exits).join(", ") });
  return exit;
}
