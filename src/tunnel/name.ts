import { MAIN } from "../killswitch/policy.ts";

/** Exits of a device that are no tunnel. */
const OTHER_EXITS = ["blocked", "direct"];

/** Why a tunnel cannot have this name, as the end of a sentence; null if it can. */
export function nameFault(name: string): string | null {
  if (!/^[a-z0-9-]{1,32}$/.test(name)) return "must have 1 to 32 of the characters a-z, 0-9 and -";
  if (OTHER_EXITS.includes(name)) return `${name} is not a tunnel but another exit; choose another name`;
  return null;
}

/** Whether it can be the name of a tunnel other than `main`. */
export function isTunnelName(name: string): boolean {
  return name !== MAIN && nameFault(name) === null;
}
