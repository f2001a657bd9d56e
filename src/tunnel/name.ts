import { MAIN } from "../killswitch/policy.ts";
import { TUNNEL_NAME } from "../shared/bounds.ts";
import { exitKindOf } from "../shared/exits.ts";

const PATTERN = new RegExp(`^${TUNNEL_NAME}$`);

/** Why a tunnel cannot have this name, as the end of a sentence; null if it can. */
export function nameFault(name: string): string | null {
  if (!PATTERN.test(name)) return "must have 1 to 32 of the characters a-z, 0-9 and -";
  if (exitKindOf(name) !== "tunnel") return `${name} is reserved; choose another name`;
  return null;
}

/** Whether it can be the name of a tunnel other than `main`. */
export function isTunnelName(name: string): boolean {
  return name !== MAIN && nameFault(name) === null;
}
