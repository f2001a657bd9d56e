import { type HostName, isHostName } from "../base/address.ts";

/** Anyone on the LAN can add servers with new names again and again, so disk and memory are limited. */
export const MAX_ADDRESSES = 1_000;

const KEY = /^address (.*)$/s;

/** The setting that has the last known address of a server that is reached by name. */
export function addressKey(name: string): string {
  return `address ${name}`;
}

/** The name in such a setting's key; null if it is another setting's. */
export function nameInKey(key: string): HostName | null {
  const name = KEY.exec(key)?.[1] ?? "";
  return isHostName(name) && name === name.toLowerCase() ? name : null;
}
