/** Signatures of APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16. */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
/** Bytes of the fixed part of the three records. */
const SIZE = { local: 30, central: 46, end: 22 };
/** The longest comment, which is at the end of an archive. */
const MAX_COMMENT_BYTES = 0xffff;

/**
 * Data that cannot be compressed grows by 5 bytes for each block, which has 8 KB at least in practice (RFC 1951,
 * 3.2.4).
 */
const MAX_GROWTH_BYTES = 1_024;

/** The fault of an archive, or of a file in it; `compression` means a kind that is not supported. */
export type ZipFault = "damaged" | "encrypted" | "compression" | "large";

/** The page and the command line each say it in their own words. */
export class ZipError extends Error {
  override readonly name = "ZipError";

  constructor(readonly fault: ZipFault) {
    super(fault);
  }
}

/** A file inside an archive; `open` rejects with a `ZipError` if it cannot be unpacked. */
export interface ZipEntry {
  name: string;
  open: () => Promise<Uint8Array>;
}

export function isZip(bytes: Uint8Array): boolean {
  return bytes.length >= SIZE.end && [LOCAL, END].includes(viewOf(bytes).getUint32(0, true));
}

/**
 * The files of an archive, as its central directory has them, which alone defines its contents. Stored and deflated
 * ones are supported; each may have `maxBytes`, whatever size the archive claims. Throws a `ZipError`. fflate is no
 * substitute: its `unzipSync` compares no CRC, cuts a file to the size that the archive claims, and its filter is not
 * told what is encrypted.
 */
export function entriesOf(zip: Uint8Array, maxBytes: number): ZipEntry[] {
  try {
    const view = viewOf(zip);
    const end = endOf(view);
    const entries: ZipEntry[] = [];
    let at = view.getUint32(end + 16, true);
    for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
      if (view.getUint32(at, true) !== CENTRAL) throw new RangeError("no central header");
      const [name, more, comment] = [28, 30, 32].map((field) => view.getUint16(at + field, true)) as Lengths;
      const header = at;
      entries.push({
        name: new TextDecoder().decode(zip.subarray(at + SIZE.central, at + SIZE.central + name)),
        open: async () => contentOf(zip, header, maxBytes),
      });
      at += SIZE.central + name + more + comment;
    }
    return entries;
  } catch {
    throw new ZipError("damaged");
  }
}

type Lengths = [name: number, more: number, comment: number];

function endOf(view: DataView): number {
  const last = view.byteLength - SIZE.end;
  for (let at = last; at >= Math.max(0, last - MAX_COMMENT_BYTES); at -= 1)
    if (view.getUint32(at, true) === END) return at;
  throw new RangeError("no end of central directory");
}

/** The content of the entry whose central header is at `header`. */
async function contentOf(zip: Uint8Array, header: number, maxBytes: number): Promise<Uint8Array> {
  const view = viewOf(zip);
  const flags = view.getUint16(header + 8, true);
  if ((flags & 1) === 1) throw new ZipError("encrypted");
  const method = view.getUint16(header + 10, true);
  if (method !== 0 && method !== 8) throw new ZipError("compression");
  const length = view.getUint32(header + 20, true);
  // Refused before it is copied: an archive may claim this for each of its thousands of entries.
  if (length > maxBytes + MAX_GROWTH_BYTES) throw new ZipError("large");
  const packed = packedAt(zip, view.getUint32(header + 42, true), length);
  const bytes = method === 0 ? packed : await unpacked(packed, maxBytes);
  if (bytes.length > maxBytes) throw new ZipError("large");
  const isWhole = bytes.length === view.getUint32(header + 24, true);
  if (!isWhole || crc32(bytes) !== view.getUint32(header + 16, true)) throw new ZipError("damaged");
  return bytes;
}

function packedAt(zip: Uint8Array, at: number, length: number): Uint8Array<ArrayBuffer> {
  const view = viewOf(zip);
  if (at + SIZE.local > zip.length || view.getUint32(at, true) !== LOCAL) throw new ZipError("damaged");
  const start = at + SIZE.local + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
  return new Uint8Array(zip.subarray(start, start + length));
}

async function unpacked(packed: Uint8Array<ArrayBuffer>, maxBytes: number): Promise<Uint8Array> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => Promise.reject(new ZipError("damaged")));
    if (done) break;
    chunks.push(value);
    length += value.length;
    if (length <= maxBytes) continue;
    void reader.cancel();
    throw new ZipError("large");
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** The checksum of ISO 3309: the reflected polynomial is 0xEDB88320. */
function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
