import type { Rate } from "../devices/values.ts";
import { say } from "./language.ts";

/** How fast a device may be, in a few words. */
export function limitText({ down, up }: Rate): string {
  if (down !== null && down === up) return say("{rate, number} Mbit/s each way", { rate: down });
  if (down !== null && up !== null)
    return say("{down, number} Mbit/s down, {up, number} Mbit/s up", { down, up });
  return down === null
    ? say("{rate, number} Mbit/s up", { rate: up ?? 0 })
    : say("{rate, number} Mbit/s down", { rate: down });
}
