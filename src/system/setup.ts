import type { Host } from "./host.ts";

/** What `setup` and `install` note about themselves. */
export const SETUP_NOTES = {
  /** The sysctls before the first setup. A machine without this file is no gateway. */
  sysctlsBefore: "/etc/portcullis/sysctls-before",
  /** The version that was set up, written once everything else is done. */
  version: "/etc/portcullis/setup-version",
  /** On a flashed gateway, while its ports get other roles: what they had before. Whatever is cut off goes back to it. */
  portsBefore: "/etc/portcullis/ports-before",
  /** Why they have their former roles again, if the last change failed. */
  portsFailed: "/etc/portcullis/ports-failed",
} as const;

export function versionNote(version: string): string {
  return `${version}\n`;
}

/** Whether this machine is a gateway, but this version's setup was refused, failed or never run. Older ones left no note. */
export async function isSetupDue(host: Pick<Host, "read">, version: string): Promise<boolean> {
  if ((await host.read(SETUP_NOTES.version)) === versionNote(version)) return false;
  return (await host.read(SETUP_NOTES.sysctlsBefore)) !== null;
}

/** Whether a flashed gateway's ports are getting other roles, or that was cut off. */
export async function arePortsChanging(host: Pick<Host, "read">): Promise<boolean> {
  return (await host.read(SETUP_NOTES.portsBefore)) !== null;
}
