import { ptr } from "bun:ffi";
import { nextTurn } from "../base/queue.ts";
import { libc } from "./libc.ts";

/** `struct aiocb` (aio.h), as long as 64-bit systems have it: the file, what is written, and that no signal tells its end. */
const CONTROL_BYTES = 168;
const [FILE_AT, BYTES_AT, LENGTH_AT, SIGNAL_AT] = [0, 16, 24, 44];
const NO_SIGNAL = 1;
const EINPROGRESS = 115;
/** So many turns of the event loop take half a millisecond. By then the kernel has mostly done its work; a timer takes longer. */
const LOOKS_AT_ONCE = 100;
const LOOK_MS = 1;
/** The same for a call that nobody waits for any more. */
const END_LOOK_MS = 30_000;

/**
 * A call that hands bytes to the kernel, or takes some, in a thread of libc, so that the event loop does not wait for it.
 * Both the bytes and its own stay where they are meanwhile.
 */
export class Call {
  private readonly control = new Uint8Array(new ArrayBuffer(CONTROL_BYTES));
  private readonly bytes: Uint8Array;
  private readonly hasBegun: boolean;

  /** What is written is copied; what is read comes into the bytes that are given, which have a buffer of their own. */
  constructor(socket: number, bytes: Uint8Array, kind: "aio_write" | "aio_read" = "aio_write") {
    this.bytes = kind === "aio_read" ? bytes : new Uint8Array(new ArrayBuffer(bytes.length));
    if (kind === "aio_write") this.bytes.set(bytes);
    const control = new DataView(this.control.buffer);
    control.setInt32(FILE_AT, socket, true);
    control.setBigUint64(BYTES_AT, BigInt(ptr(this.bytes)), true);
    control.setBigUint64(LENGTH_AT, BigInt(bytes.length), true);
    control.setInt32(SIGNAL_AT, NO_SIGNAL, true);
    this.hasBegun = libc()[kind](ptr(this.control)) === 0;
  }

  /** False if it takes longer. */
  async isDone(withinMs: number): Promise<boolean> {
    const late = performance.now() + withinMs;
    for (let looks = 0; this.isUnderWay(); looks += 1) {
      if (performance.now() > late) return false;
      await (looks < LOOKS_AT_ONCE ? nextTurn() : Bun.sleep(LOOK_MS));
    }
    return true;
  }

  /** Keeps the bytes until then. */
  async end(): Promise<void> {
    while (this.isUnderWay()) await Bun.sleep(END_LOOK_MS);
  }

  /** Once it is done. */
  isTaken(): boolean {
    return this.taken().length === this.bytes.length;
  }

  /** The bytes that were handed over, or taken; none if the kernel refuses. Once, after its end. */
  taken(): Uint8Array {
    const length = this.hasBegun ? Number(libc().aio_return(ptr(this.control))) : 0;
    return this.bytes.subarray(0, Math.max(length, 0));
  }

  private isUnderWay(): boolean {
    return this.hasBegun && libc().aio_error(ptr(this.control)) === EINPROGRESS;
  }
}
