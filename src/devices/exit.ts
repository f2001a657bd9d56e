import { GatewayError } from "../errors.ts";
import type { Exit } from "../killswitch/policy.ts";

/** `blocked`, `direct` or the name of a tunnel; null if the text cannot be any of them. */
export function parseExit(text: string): Exit | null {
  if (text === "blocked" || text === "direct") return { to: text };
  return /^[a-z0-9-]{1,32}$/.test(text) ? { to: "tunnel", name: text } : null;
}

export function formatExit(exit: Exit): string {
  return exit.to === "tunnel" ? exit.name : exit.to;
}

/** The exit that a client has asked for. Throws if there is none of that name, or if the operator does not allow it. */
export function exitIn(text: string, tunnels: readonly string[], isDirectAllowed: boolean): Exit {
  const exit = parseExit(text);
  if (exit?.to === "direct" && !isDirectAllowed)
    throw new GatewayError(
      "forbidden",
      "exit: direct is not allowed; the operator can allow it on the gateway: sudo portcullis direct on",
    );
  if (exit === null || (exit.to === "tunnel" && !tunnels.includes(exit.name)))
    throw new GatewayError(
      "not_found",
      `exit: there is no such tunnel; the exits are ${[...tunnels, "blocked", "direct"].join(", ")}`,
    );
  return exit;
}
