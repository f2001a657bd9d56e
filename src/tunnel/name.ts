import { MAIN } from "../killswitch/policy.ts";
import { TUNNEL_NAME } from "../shared/bounds.ts";
import { exitKindOf } from "../shared/exits.ts";
import { refused } from "./refusals.ts";

const PATTERN = new RegExp(`^${TUNNEL_NAME}$`);

/** Throws if no tunnel can have this name. */
export function assertTunnelName(name: string, field = "name"): void {
  if (!PATTERN.test(name)) throw refused("tunnel_name_invalid", { field });
  if (exitKindOf(name) !== "tunnel") throw refused("tunnel_name_reserved", { field, name });
}

/** Whether it can be the name of a tunnel. */
export function isTunnelOrMain(name: string): boolean {
  return PATTERN.test(name) && exitKindOf(name) === "tunnel";
}

/** Whether it can be the name of a tunnel other than `main`. */
export function isTunnelName(name: string): boolean {
  return name !== MAIN && isTunnelOrMain(name);
}
