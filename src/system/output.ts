import { closeSync, fstatSync, readSync } from "node:fs";
import { memoryFile } from "./libc.ts";
import { refused } from "./refusals.ts";

/**
 * What a program prints, in memory of the kernel. `nft` makes a system call for each word (libnftables, `nft_print`): by a
 * pipe, each wakes this program up, which then takes ten times as long for a listing; and the runtime takes 256 KiB for
 * each pipe that it reads. No file of `/dev/shm`: whoever fills that folder would cut a listing short.
 */
export class Output {
  private readonly parts: Buffer[] = [];
  private read = 0;
  isClosed = false;

  private constructor(
    /** For the program's standard output or error. */
    readonly file: number,
  ) {}

  /** Throws if the kernel gives none, as when no more files may be open. */
  static open(): Output {
    const file = memoryFile("output");
    if (file < 0) throw refused("program_output_full");
    return new Output(file);
  }

  /** Whether `text`, which is ASCII, has been printed so far. */
  has(text: string): boolean {
    const before = this.parts.at(-1)?.subarray(-text.length) ?? Buffer.alloc(0);
    const part = this.take();
    return part.length > 0 && Buffer.concat([before, part]).includes(text);
  }

  /** Whether anything had been printed when this was last read. */
  get isBegun(): boolean {
    return this.read > 0;
  }

  /** All that has been printed so far. */
  text(): string {
    this.take();
    return Buffer.concat(this.parts).toString("utf8");
  }

  /** The program can go on printing. */
  [Symbol.dispose](): void {
    this.isClosed = true;
    closeSync(this.file);
  }

  /** The program writes where it is in the file, so this reads at a place of its own. */
  private take(): Buffer {
    // Another file may have its number by now.
    if (this.isClosed) return Buffer.alloc(0);
    const part = Buffer.alloc(fstatSync(this.file).size - this.read);
    const length = readSync(this.file, part, 0, part.length, this.read);
    this.read += length;
    if (length > 0) this.parts.push(part.subarray(0, length));
    return part.subarray(0, length);
  }
}
