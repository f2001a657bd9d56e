import { nextTurn } from "../base/queue.ts";

/** The work on a long list is cut into parts of some milliseconds. */
const PART_MS = 8;
/** As many as are sorted one by one: each then has some hundred names of a million. */
const BUCKETS = 4_096;
/** The largest hash, and one more. */
const HASHES = 2 ** 53;
const FIRST_SIZE = 4_096;

/**
 * Names by their hashes of 53 bits, eight bytes each. A name that is not among a million others is taken for one of
 * them once in ten thousand million times.
 */
export class NameSet {
  /** Sorted, each once. */
  private constructor(readonly hashes: Float64Array) {}

  get size(): number {
    return this.hashes.length;
  }

  /** From the hashes of an earlier set. */
  static of(hashes: Float64Array): NameSet {
    return new NameSet(hashes);
  }

  /**
   * Takes many turns of the event loop, each of some milliseconds. A name with `|` before it does not stand for those
   * below it. Null is work that has no name. What `without` gives, once all names were read, is left out.
   */
  static async from(names: Iterable<string | null>, without?: () => Promise<NameSet>): Promise<NameSet> {
    const hashes = await hashesOf(names);
    return new NameSet(await sorted(hashes, await without?.()));
  }

  /** Whether the name, or one above it, is in the set. */
  has(name: string): boolean {
    return this.size > 0 && someSuffix(`|${name}`, (hash) => this.finds(hash));
  }

  /** How many characters the longest name has that `has` would find; 0 if there is none. */
  longest(name: string): number {
    let longest = 0;
    if (this.size > 0)
      someSuffix(`|${name}`, (hash, length) => {
        if (this.finds(hash)) longest = length;
        return false;
      });
    return longest;
  }

  /** Whether one of its names has this hash. */
  finds(hash: number): boolean {
    const { hashes } = this;
    let [low, high] = [0, hashes.length - 1];
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = hashes[middle] ?? 0;
      if (found === hash) return true;
      if (found < hash) low = middle + 1;
      else high = middle - 1;
    }
    return false;
  }
}

async function hashesOf(names: Iterable<string | null>): Promise<Float64Array> {
  let [hashes, count] = [new Float64Array(FIRST_SIZE), 0];
  const pause = pauses();
  for (const name of names) {
    if (name !== null && count === hashes.length) {
      const larger = new Float64Array(2 * count);
      larger.set(hashes);
      hashes = larger;
    }
    if (name !== null) hashes[count++] = hashOf(name);
    // After each: one line may take as long as a thousand others.
    const due = pause();
    if (due !== undefined) await due;
  }
  return hashes.slice(0, count);
}

/** One sort of all would take a tenth of a second: sorts by the first bits, and then each bucket. */
async function sorted(hashes: Float64Array, without?: NameSet): Promise<Float64Array> {
  const ends = new Uint32Array(BUCKETS + 1);
  const pause = pauses();
  for (let at = 0; at < hashes.length; at++) {
    const bucket = bucketOf(hashes[at] ?? 0) + 1;
    ends[bucket] = (ends[bucket] ?? 0) + 1;
    if (at % BUCKETS === 0) await pause();
  }
  for (let bucket = 1; bucket <= BUCKETS; bucket++)
    ends[bucket] = (ends[bucket] ?? 0) + (ends[bucket - 1] ?? 0);
  const next = ends.slice();
  const placed = new Float64Array(hashes.length);
  for (let at = 0; at < hashes.length; at++) {
    const hash = hashes[at] ?? 0;
    const bucket = bucketOf(hash);
    const place = next[bucket] ?? 0;
    placed[place] = hash;
    next[bucket] = place + 1;
    if (at % BUCKETS === 0) await pause();
  }
  let count = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const own = placed.subarray(ends[bucket], ends[bucket + 1]).sort();
    // Behind `count` is nothing that has not been read yet.
    for (const hash of own)
      if ((count === 0 || placed[count - 1] !== hash) && without?.finds(hash) !== true)
        placed[count++] = hash;
    await pause();
  }
  return placed.slice(0, count);
}

/** Waits for the next turn of the event loop if this one has lasted long enough. */
function pauses(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < PART_MS) return undefined;
    return nextTurn().then(() => {
      began = performance.now();
    });
  };
}

function bucketOf(hash: number): number {
  return Math.floor(hash / (HASHES / BUCKETS));
}

function hashOf(name: string): number {
  let last = 0;
  someSuffix(name, (hash) => {
    last = hash;
    return false;
  });
  return last;
}

/**
 * Calls for the hash of the last label, of the last two, and so on, until one is what is looked for; the last hash is of
 * all, with the `|` before it.
 */
function someSuffix(name: string, isFound: (hash: number, length: number) => boolean): boolean {
  let [one, other] = [0x9e3779b9, 0x7f4a7c15];
  for (let at = name.length - 1; at >= 0; at--) {
    const code = name.charCodeAt(at);
    if ((code === DOT || code === BAR) && isFound(mixed(one, other), name.length - 1 - at)) return true;
    one = Math.imul(one ^ code, 0x85ebca6b);
    one ^= one >>> 13;
    other = Math.imul(other ^ code, 0xc2b2ae35);
    other ^= other >>> 16;
  }
  return isFound(mixed(one, other), name.length);
}

const [DOT, BAR] = [0x2e, 0x7c];

function mixed(one: number, other: number): number {
  const low = Math.imul(one ^ (one >>> 16), 0x7feb352d) ^ Math.imul(other ^ (other >>> 15), 0x846ca68b);
  const high = Math.imul(other ^ (other >>> 16), 0x45d9f3b) ^ (one >>> 11);
  return (high & 0x1f_ffff) * 0x1_0000_0000 + (low >>> 0);
}
