import { GatewayError } from "../errors.ts";
import type { Exit } from "../killswitch/policy.ts";
import { nameFault } from "../tunnel/name.ts";

/** `blocked` or the name of a tunnel; null if the text cannot be either. */
export function parseExit(text: string): Exit | null {
  if (text === "blocked") return { to: "blocked" };
  return nameFault(text) === null ? { to: "tunnel", name: text } : null;
}

export function formatExit(exit: Exit): string {
  return exit.to === "tunnel" ? exit.name : exit.to;
}

/** The exit that a client has asked for. Throws `not_found` if there is no tunnel of that name. */
export function exitIn(text: string, tunnels: readonly string[]): Exit {
  const exit = parseExit(text);
  if (exit === null || (exit.to === "tunnel" && !tunnels.includes(exit.name)))
    throw new GatewayError(
      "not_found",
      `exit: there is no such tunnel; the exits are ${[...tunnels, "blocked"].join(", ")}`,
    );
  return exit;
}
