import type { Answer } from "./answer.ts";

/** Some days of a household; with the answers themselves, 4 MiB at most. */
const MAX_ENTRIES = 8_192;
const MAX_BYTES = 4 * 2 ** 20;
/** What an entry takes besides its message and its texts. */
const ENTRY_BYTES = 300;
/** What a text takes besides its characters. */
const TEXT_BYTES = 32;
/** While a tunnel moves, answers are used for this long after their time. */
const STALE_MS = 60_000;

interface Entry {
  answer: Answer;
  at: number;
  bytes: number;
}

/** An answer, when it came on the monotonic clock, and its age in whole seconds. */
export interface Found {
  answer: Answer;
  at: number;
  ageSeconds: number;
}

/** The answers of resolvers, by exit and question. Those that were used last are kept. */
export class Cache {
  private readonly entries = new Map<string, Entry>();
  private bytes = 0;

  constructor(private readonly monotonic: () => number) {}

  get size(): number {
    return this.entries.size;
  }

  /** With `stale`, one that has just become too old will do. */
  find(key: string, stale = false): Found | null {
    const entry = this.entries.get(key);
    if (entry === undefined) return null;
    const age = this.monotonic() - entry.at;
    if (age > 1_000 * entry.answer.ttlSeconds + (stale ? STALE_MS : 0)) return null;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return { answer: entry.answer, at: entry.at, ageSeconds: Math.floor(age / 1_000) };
  }

  keep(key: string, answer: Answer): void {
    if (answer.ttlSeconds === 0) return;
    this.forget(key);
    const bytes = key.length + bytesOf(answer);
    this.entries.set(key, { answer, at: this.monotonic(), bytes });
    this.bytes += bytes;
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= MAX_ENTRIES && this.bytes <= MAX_BYTES) return;
      this.forget(oldest);
    }
  }

  private forget(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    this.bytes -= entry.bytes;
  }
}

/** What it takes in memory. Compressed, each of its names may be two bytes of the message. */
export function bytesOf({ message, ttlsAt, names, targets, addresses, locals }: Answer): number {
  const texts = [...names, ...targets, ...addresses];
  const characters = texts.reduce((sum, { length }) => sum + TEXT_BYTES + length, 0);
  return ENTRY_BYTES + message.length + characters + 8 * (ttlsAt.length + locals.length);
}
