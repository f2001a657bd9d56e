import { createHash } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { placeBytesBehind } from "../system/files.ts";
import { NameSet } from "./name-set.ts";

/** In the state directory. The database is checked at each start, and copied, and a list has some megabytes. */
const PREFIX = "blocklist-";
/** The hashes begin at a multiple of their size. */
const HASH_BYTES = 8;
const MAX_HEADER_BYTES = 4_096;

const Header = Type.Object({
  url: Type.String(),
  etag: Type.String(),
  /** In milliseconds since 1970. */
  fetched: Type.Number(),
});
const header = checkerOf(Header);

/** A list as it was fetched last. */
export interface KeptList {
  names: NameSet;
  /** The source's identifier of this version (RFC 9110, 8.8.3); empty if it gave none. */
  etag: string;
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
    const known = header.read(new TextDecoder().decode(bytes.subarray(4, start)).trimEnd());
    if (known === null || known.url !== url) return null;
    const { etag, fetched } = known;
    return { names: NameSet.of(new Float64Array(bytes.buffer, start)), etag, fetched };
  }

  async keep(url: string, { names, etag, fetched }: KeptList): Promise<void> {
    const text = new TextEncoder().encode(JSON.stringify({ url, etag: etag.slice(0, 200), fetched }));
    const start = Math.ceil((4 + text.length) / HASH_BYTES) * HASH_BYTES;
    const { hashes } = names;
    const bytes = new Uint8Array(start + hashes.byteLength).fill(0x20, 4, start);
    new DataView(bytes.buffer).setUint32(0, start);
    bytes.set(text, 4);
    bytes.set(new Uint8Array(hashes.buffer, hashes.byteOffset, hashes.byteLength), start);
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
