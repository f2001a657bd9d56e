import { closeSync, constants, fdatasync, openSync, readFileSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { type Static, Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { coalesced } from "../base/queue.ts";

/** The keys of times that are saved every few minutes while a tunnel is up. */
export const TIME_KEYS = { clock: "clock", handshake: "handshake" } as const;
type TimeKey = (typeof TIME_KEYS)[keyof typeof TIME_KEYS];

/** Two, one after the other: a power cut may spoil the block that is being written. */
const BLOCKS = 2;
const BLOCK_BYTES = 4_096;
/** Of a block, more than the times take. */
const USED_BYTES = 512;
const MODE = 0o600;

/** Milliseconds since 1970. */
const Time = Type.String({ pattern: "^\\d{1,16}$" });
const Block = Type.Object({
  /** The number of the write. */
  count: Type.Integer({ minimum: 0 }),
  clock: Type.Optional(Time),
  handshake: Type.Optional(Time),
});
type Block = Static<typeof Block>;
const KNOWN = checkerOf(Block);

export function isTime(setting: string): setting is TimeKey {
  return Object.values<string>(TIME_KEYS).includes(setting);
}

/**
 * Settings in a file of their own, which is overwritten in place: a write is one block of the disk. A change of the database
 * is its log and the log's index, which are five. Nobody waits for the disk: a time that is lost was saved some minutes
 * before, too.
 */
export class Times {
  private block: Block;
  /** The number of the block that was flushed last, or is being flushed: what is written next is in the other place. */
  private flushed: number;
  /** A disk that hangs holds one thread, and not one more with each write. */
  private readonly flushSoon = coalesced(() => this.flush().catch(() => {}));

  constructor(
    private readonly path: string,
    private readonly onDisk: (file: number) => Promise<void> = promisify(fdatasync),
  ) {
    this.block = latestIn(path);
    this.flushed = this.block.count;
  }

  get all(): { [key in TimeKey]?: string } {
    const { count: _, ...times } = this.block;
    return times;
  }

  /** Throws the system's error; then nothing has changed. */
  write(key: TimeKey, text: string): void {
    // Those of a turn are one write.
    const count = this.flushed + 1;
    const block = { ...this.block, count, [key]: text };
    const file = openSync(this.path, constants.O_WRONLY | constants.O_CREAT, MODE);
    try {
      writeSync(file, JSON.stringify(block).padEnd(USED_BYTES), (count % BLOCKS) * BLOCK_BYTES);
    } finally {
      closeSync(file);
    }
    this.block = block;
    this.flushSoon();
  }

  private async flush(): Promise<void> {
    this.flushed = this.block.count;
    const file = openSync(this.path, "r");
    await this.onDisk(file).finally(() => closeSync(file));
  }
}

/** Without times if there is no file, or if all of it is damaged. */
function latestIn(path: string): Block {
  const none: Block = { count: 0 };
  try {
    const text = readFileSync(path, "latin1");
    const blocks = Array.from({ length: BLOCKS }, (_, index) =>
      KNOWN.read(text.slice(index * BLOCK_BYTES, index * BLOCK_BYTES + USED_BYTES)),
    );
    return blocks.reduce<Block>((latest, each) => (each && each.count > latest.count ? each : latest), none);
  } catch {
    return none;
  }
}
