/** The gateway accepts no larger body. */
export const MAX_CONFIG_BYTES = 65_536;
/** A provider's archive of all its servers has about 2 MB; a video picked by mistake is not read. */
export const MAX_FILE_BYTES = 67_108_864;
/**
 * The custom servers that the gateway keeps, and the imported ones. Unless tokens are asked for, anyone on the LAN can
 * add servers: the disk and memory they take are limited.
 */
export const MAX_SERVERS = 4_096;

/** Whether a file of an archive is a configuration. */
export function isConfig(path: string): boolean {
  return /[^/]\.conf$/i.test(path);
}

/** The server's name: the file's, without folders and ending, and composed, as some systems store it decomposed. */
export function serverNameOf(path: string): string {
  return path
    .replace(/^.*[/\\]/, "")
    .replace(/\.conf$/i, "")
    .normalize("NFC");
}

/** Null if it is not UTF-8. */
export function configText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
