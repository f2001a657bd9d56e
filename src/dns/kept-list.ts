import { createHash } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { placeBytesBehind } from "../system/files.ts";
import { ListNames } from "./list-names.ts";

/** In the state directory. The database is checked at each start, and copied, and a list has some megabytes. */
const PREFIX = "blocklist-";
/** The hashes begin at a multiple of their size. */
const HASH_BYTES = 8;
const MAX_HEADER_BYTES = 4_096;

const Header = Type.Object({
  /** The address of the list. */
  list: Type.String(),
  etag: Type.String(),
  /** In milliseconds since 1970. */
  fetched: Type.Number(),
  skipped: Type.Integer(),
  /** How many hashes there are for each verdict. */
  counts: Type.Array(Type.Integer({ minimum: 0 })),
});
const header = checkerOf(Header);
/** Of earlier versions, which knew names that are blocked and nothing else. */
const formerHeader = checkerOf(Type.Object({ url: Type.String() }));

/** A list as it was fetched last. */
export interface KeptList {
  names: ListNames;
  /** Lines that were not understood. */
  skipped: number;
  /** The source's identifier of this version (RFC 9110, 8.8.3); empty if it gave none. */
  etag: string;
  /** 0 for one that an earlier version has read, which understood other lines: it is fetched again. */
  fetched: number;
}

/** The lists on the disk, a file for each address. */
export class KeptLists {
  constructor(private readonly stateDir: string) {}

  /** Null if there is none that can be read: it is fetched again. */
  async read(url: string): Promise<KeptList | null> {
    const file = Bun.file(this.pathOf(url));
    if (!(await file.exists())) return null;
    const bytes = new Uint8Array(await file.arrayBuffer());
    const start = new DataView(bytes.buffer).getUint32(0);
    if (start > MAX_HEADER_BYTES || start % HASH_BYTES !== 0 || bytes.length % HASH_BYTES !== 0) return null;
    const text = new TextDecoder().decode(bytes.subarray(4, start)).trimEnd();
    const known = header.read(text);
    if (known === null && formerHeader.read(text)?.url === url)
      return {
        names: ListNames.of([new Float64Array(bytes.buffer, start)]),
        skipped: 0,
        etag: "",
        fetched: 0,
      };
    if (known === null || known.list !== url) return null;
    const { etag, fetched, skipped, counts } = known;
    let at = start;
    const hashes = counts.map((count) => {
      const own = new Float64Array(bytes.buffer, at, count);
      at += own.byteLength;
      return own;
    });
    return at === bytes.length ? { names: ListNames.of(hashes), skipped, etag, fetched } : null;
  }

  async keep(url: string, { names, skipped, etag, fetched }: KeptList): Promise<void> {
    const { hashes } = names;
    const known = {
      list: url,
      etag: etag.slice(0, 200),
      fetched,
      skipped,
      counts: hashes.map(({ length }) => length),
    };
    const text = new TextEncoder().encode(JSON.stringify(known));
    const start = Math.ceil((4 + text.length) / HASH_BYTES) * HASH_BYTES;
    const length = hashes.reduce((sum, { byteLength }) => sum + byteLength, start);
    const bytes = new Uint8Array(length).fill(0x20, 4, start);
    new DataView(bytes.buffer).setUint32(0, start);
    bytes.set(text, 4);
    let at = start;
    for (const { buffer, byteOffset, byteLength } of hashes) {
      bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at);
      at += byteLength;
    }
    await placeBytesBehind(this.pathOf(url), bytes, 0o600);
  }

  /** Removes those of other addresses. */
  removeOthers(urls: readonly string[]): void {
    const own = new Set(urls.map(nameOf));
    const all = readdirSync(this.stateDir).filter((name) => name.startsWith(PREFIX));
    for (const name of all) if (!own.has(name)) rmSync(join(this.stateDir, name), { force: true });
  }

  private pathOf(url: string): string {
    return join(this.stateDir, nameOf(url));
  }
}

function nameOf(url: string): string {
  return `${PREFIX}${createHash("sha256").update(url).digest("hex").slice(0, 32)}`;
}
