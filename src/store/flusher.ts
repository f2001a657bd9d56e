import { type FileHandle, open } from "node:fs/promises";
import { Queue } from "../base/queue.ts";

/** SQLite's own threshold, 1,000 pages. */
const MAX_LOG_BYTES = 4_096_000;

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
    /** Called after each flush; the log may be worth emptying. */
    private readonly onFlushed: (isLong: boolean) => Promise<void>,
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
    const bytes = await flushedBytes(`${this.path}-wal`);
    await this.onFlushed(bytes > MAX_LOG_BYTES);
    this.flushedCount = count;
  }
}

/** The size of a file that is on the disk now; 0 if there is none, as after the database was closed. */
async function flushedBytes(path: string): Promise<number> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
  try {
    await file.datasync();
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}
