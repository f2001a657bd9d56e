import { GatewayError } from "../base/errors.ts";

/** Refuses a backup, before anything is changed. */
export function damaged(why: string): never {
  throw new GatewayError("unable", `the backup is damaged: ${why}; nothing was changed`);
}
