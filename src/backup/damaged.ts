import { refused } from "./refusals.ts";

/** Refuses a backup, before anything is changed. */
export function damaged(why: string): never {
  throw refused("backup_damaged_at", { reason: why });
}
