import { closeSync, fdatasync, fstatSync, openSync } from "node:fs";
import { promisify } from "node:util";
import { Queue } from "../base/queue.ts";

/** SQLite's own threshold, 1,000 pages. */
const MAX_LOG_BYTES = 4_096_000;

const flush = promisify(fdatasync);

/** Waits for the disk in other threads, after writes that have only reached the kernel. */
export class Flusher {
  private readonly queue = new Queue();
  /** The number of writes so far, and how many of them are on the disk. */
  private count = 0;
  private flushedCount = 0;
  private waiting: Promise<void> | null = null;

  constructor(
    /** The database's file. */
    private readonly path: string,
    /** Called with each flush, which tells whether the log is worth emptying. What is written next waits for the end of both. */
    private readonly onFlush: (flushed: Promise<boolean>) => Promise<void>,
  ) {}

  get writes(): number {
    return this.count;
  }

  /** To be called after each write. */
  wrote(): void {
    this.count += 1;
    // Whoever waits is told of a failure; so is the next one.
    this.flushed().catch(() => {});
  }

  /** Resolves once all that was written so far is on the disk. */
  flushed(): Promise<void> {
    if (this.count === this.flushedCount) return Promise.resolve();
    this.waiting ??= this.queue.add(() => {
      this.waiting = null;
      return this.flush();
    });
    return this.waiting;
  }

  private async flush(): Promise<void> {
    const { count } = this;
    if (count === this.flushedCount) return;
    await this.onFlush(flushedBytes(`${this.path}-wal`).then((bytes) => bytes > MAX_LOG_BYTES));
    this.flushedCount = count;
  }
}

/**
 * The size of a file that is on the disk now; 0 if there is none, as after the database was closed. Only the flush waits
 * for the disk, so only it takes another thread: the rest asks the kernel for what it has in memory, and each further
 * step would be a turn of the event loop to wait for.
 */
async function flushedBytes(path: string): Promise<number> {
  const file = openIfThere(path);
  if (file === null) return 0;
  try {
    await flush(file);
    return fstatSync(file).size;
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
