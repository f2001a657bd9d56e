import { MAX_NAME_CHARACTERS } from "./bounds.ts";
import { type FileKind, kindOfBytes, kindOfText, latin1 } from "./foreign-files.ts";
import type { ZipEntry } from "./zip.ts";

/** The gateway accepts no larger body. */
export const MAX_CONFIG_BYTES = 65_536;
/** A provider's archive of all its servers has about 2 MB; a video picked by mistake is not read. */
export const MAX_FILE_BYTES = 67_108_864;
/**
 * The custom servers that the gateway keeps, and the imported ones. Unless tokens are asked for, anyone on the LAN can
 * add servers: the disk and memory they take are limited.
 */
export const MAX_SERVERS = 4_096;

/** The text of a file that may be a configuration, or what the file is instead. */
export function configIn(bytes: Uint8Array): { text: string } | { kind: FileKind } {
  const begin = bytes.subarray(0, MAX_CONFIG_BYTES);
  const isCut = bytes.length > begin.length;
  const text = textOf(begin, isCut);
  const kind = kindOfBytes(begin) ?? (text === null ? "binary" : kindOfText(text));
  if (kind !== null || text === null) return { kind: kind ?? "binary" };
  return isCut ? { kind: "large" } : { text };
}

/**
 * UTF-8; or UTF-16 with or without its mark, as PowerShell and Notepad write it; or a configuration whose comments are
 * in an older encoding. WireGuard for Windows reads the same. Null if it is none of these.
 */
function textOf(bytes: Uint8Array, isCut: boolean): string | null {
  const wide = wideEncodingOf(bytes);
  if (wide !== null) return new TextDecoder(wide).decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    const text = latin1(bytes);
    return INTERFACE.test(text) && !text.includes("\0") ? text : null;
  }
}

const INTERFACE = /^[ \t]*\[Interface\]/im;

/** By its mark; without one, only what is a configuration then. */
function wideEncodingOf(bytes: Uint8Array): "utf-16le" | "utf-16be" | null {
  if (bytes.length < MIN_WIDE_BYTES) return null;
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  if (first !== 0 && second !== 0) return null;
  const encoding = second === 0 ? "utf-16le" : "utf-16be";
  return INTERFACE.test(new TextDecoder(encoding).decode(bytes)) ? encoding : null;
}

/** A mark and a character. */
const MIN_WIDE_BYTES = 4;

/** A configuration in an archive, and the name of its server. */
export interface PackedConfig {
  path: string;
  name: string;
  open: ZipEntry["open"];
}

/**
 * The configurations of an archive, but not many more than the gateway keeps. Names that several files have are told apart by
 * their folders.
 */
export function packedConfigs(entries: readonly ZipEntry[]): PackedConfig[] {
  const all = entries.filter(({ name }) => isConfig(name) && !isResource(name));
  const configs = all.slice(0, MAX_SERVERS + 1);
  const count = new Map<string, number>();
  for (const { name } of configs)
    for (const each of namesOf(name)) count.set(each, (count.get(each) ?? 0) + 1);
  return configs.map(({ name: path, open }) => {
    const names = namesOf(path);
    const alone = names.find((each) => count.get(each) === 1) ?? names.at(-1) ?? "";
    return { path, open, name: alone.replaceAll("/", "-") };
  });
}

/** What macOS adds to an archive for each file. */
function isResource(path: string): boolean {
  return /(^|[/\\])(__MACOSX[/\\]|\._[^/\\]*$)/.test(path);
}

function isConfig(path: string): boolean {
  return /[^/]\.conf$/i.test(path);
}

/** The server's name alone, and with more and more of the file's folders, such as `Norway/wg0`, until it is too long. */
function namesOf(path: string): string[] {
  const folders = path.split(/[/\\]/).slice(0, -1);
  const all = [serverNameOf(path)];
  for (let name = all[0] ?? ""; name.length <= MAX_NAME_CHARACTERS && folders.length > 0; ) {
    name = `${folders.pop()?.normalize("NFC")}/${name}`;
    all.push(name);
  }
  return all;
}

/** The server's name: the file's, without folders and ending, and composed, as some systems store it decomposed. */
export function serverNameOf(path: string): string {
  return path
    .replace(/^.*[/\\]/, "")
    .replace(/\.conf$/i, "")
    .normalize("NFC");
}

/** Why an archive has nothing to import. */
export const ARCHIVE_WORDS = {
  openvpn:
    "the archive holds OpenVPN files, and the gateway uses WireGuard: on your provider's website, choose WireGuard instead of OpenVPN and download that archive",
  none: "the archive holds no .conf files",
} as const;

export function lackOf(entries: readonly ZipEntry[]): keyof typeof ARCHIVE_WORDS {
  return entries.some(({ name }) => /\.ovpn$/i.test(name)) ? "openvpn" : "none";
}
