import { GatewayError } from "../base/errors.ts";
import type { DefaultExit, Exit } from "../killswitch/policy.ts";
import { exitKindOf, isOutsideExit } from "../shared/exits.ts";
import { isTunnelOrMain } from "../tunnel/name.ts";

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
  throw new GatewayError(
    "forbidden",
    "exit: no device may leave directly, outside the tunnel; to allow it, type on the gateway: sudo portcullis direct on",
  );
}

/** The same for the devices that are not assigned. */
export function defaultExitIn(text: string, exits: Exits): DefaultExit {
  if (text === "direct")
    throw new GatewayError(
      "bad_request",
      "exit: direct cannot be the default exit, because every new device would leave outside the tunnel; give it to single devices",
    );
  const exit = parseDefaultExit(text);
  if (exit === null || (exit.to === "tunnel" && !exits.tunnels.includes(exit.name)))
    throw new GatewayError(
      "not_found",
      `exit: there is no such tunnel; the exits are ${namesOf(exits).join(", ")}`,
    );
  return exit;
}
