import { crc32, inflateRawSync } from "node:zlib";
import { GatewayError } from "../errors.ts";

/** A file inside an archive. */
export interface Entry {
  name: string;
  bytes: Uint8Array;
}

/** Signatures of APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16. */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
/** Bytes of the fixed part of the three records. */
const SIZE = { local: 30, central: 46, end: 22 };
/** The longest comment, which is at the end of an archive. */
const MAX_COMMENT_BYTES = 0xffff;

export function isZip(bytes: Uint8Array): boolean {
  return bytes.length >= SIZE.end && [LOCAL, END].includes(viewOf(bytes).getUint32(0, true));
}

/** The most that is unpacked: an archive of a few KiB can claim terabytes. */
export interface Bounds {
  files: number;
  bytesOfFile: number;
  bytesInAll: number;
}

/**
 * The files of an archive whose names `wanted` accepts. Supports what providers hand out: stored or deflated entries
 * without encryption, below 4 GiB.
 */
export function filesIn(zip: Uint8Array, wanted: (name: string) => boolean, bounds: Bounds): Entry[] {
  try {
    const headers = headersOf(zip).filter((header) => wanted(header.name));
    if (headers.length > bounds.files)
      throw new GatewayError("unable", `the archive holds more than ${bounds.files} configurations`);
    let left = bounds.bytesInAll;
    return headers.map((header) => {
      const bytes = contentOf(zip, header, bounds.bytesOfFile);
      left -= bytes.length;
      if (left < 0)
        throw new GatewayError(
          "unable",
          `the archive holds more than ${bounds.bytesInAll} bytes of configurations`,
        );
      return { name: header.name, bytes };
    });
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("unable", "the archive is damaged", { cause });
  }
}

interface Header {
  name: string;
  flags: number;
  method: number;
  checksum: number;
  compressed: number;
  size: number;
  at: number;
}

/** The central directory, which alone defines an archive's contents. */
function headersOf(zip: Uint8Array): Header[] {
  const view = viewOf(zip);
  const end = endOf(view);
  const headers: Header[] = [];
  let at = view.getUint32(end + 16, true);
  for (let count = view.getUint16(end + 10, true); count > 0; count -= 1) {
    if (view.getUint32(at, true) !== CENTRAL) throw new Error("no central header");
    const nameLength = view.getUint16(at + 28, true);
    headers.push({
      name: new TextDecoder().decode(zip.subarray(at + SIZE.central, at + SIZE.central + nameLength)),
      flags: view.getUint16(at + 8, true),
      method: view.getUint16(at + 10, true),
      checksum: view.getUint32(at + 16, true),
      compressed: view.getUint32(at + 20, true),
      size: view.getUint32(at + 24, true),
      at: view.getUint32(at + 42, true),
    });
    at += SIZE.central + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return headers;
}

function endOf(view: DataView): number {
  const last = view.byteLength - SIZE.end;
  for (let at = last; at >= Math.max(0, last - MAX_COMMENT_BYTES); at -= 1) {
    if (view.getUint32(at, true) === END) return at;
  }
  throw new Error("no end of central directory");
}

function contentOf(zip: Uint8Array, header: Header, maxBytes: number): Uint8Array {
  const { name, flags, method, checksum, compressed, size, at } = header;
  if ((flags & 1) === 1)
    throw new GatewayError("unable", `${shown(name)} is encrypted; unpack the archive first`);
  if (size > maxBytes) throw new GatewayError("unable", `${shown(name)} is larger than ${maxBytes} bytes`);
  const view = viewOf(zip);
  if (view.getUint32(at, true) !== LOCAL) throw new Error("no local header");
  const start = at + SIZE.local + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
  const packed = zip.subarray(start, start + compressed);
  const bytes = method === 0 ? packed : unpacked(packed, method, maxBytes);
  if (bytes.length !== size || crc32(bytes) !== checksum) throw new Error("wrong checksum");
  return bytes;
}

/** At most `maxBytes`, whatever sizes the archive claims. */
function unpacked(packed: Uint8Array, method: number, maxBytes: number): Uint8Array {
  if (method !== 8)
    throw new GatewayError("unable", "the archive uses an unsupported compression; unpack it first");
  return inflateRawSync(packed, { maxOutputLength: maxBytes });
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
