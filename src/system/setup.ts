import type { Host } from "./host.ts";

/** What `setup` and `install` note about themselves. */
export const SETUP_NOTES = {
  /** The sysctls before the first setup. A machine without this file is no gateway. */
  sysctlsBefore: "/etc/portcullis/sysctls-before",
  /** The version that was set up, written once everything else is done. */
  version: "/etc/portcullis/setup-version",
} as const;

export function versionNote(version: string): string {
  return `${version}\n`;
}

/** Whether this machine is a gateway, but this version's setup was refused, failed or never run. Older ones left no note. */
export async function isSetupDue(host: Pick<Host, "read">, version: string): Promise<boolean> {
  if ((await host.read(SETUP_NOTES.version)) === versionNote(version)) return false;
  return (await host.read(SETUP_NOTES.sysctlsBefore)) !== null;
}
