import { ptr } from "bun:ffi";
import type { OpenRelay, RelayFault, RelayPlace } from "../host.ts";
import { libc } from "../libc.ts";
import { refused } from "../refusals.ts";

export type ToWorker =
  | { type: "open"; id: number; place: RelayPlace }
  | { type: "close"; id: number }
  /** Before all others, to a worker that waits in the kernel. */
  | { type: "bell"; bell: number }
  /** The last of all. A worker with a bell closes it and ends; only the main thread knows that no relay is to come. */
  | { type: "end" };
export type FromWorker =
  | { type: "open"; id: number; port: number; wireguardPort: number }
  | { type: "failed"; id: number; message: string }
  | { type: "fault"; id: number; fault: RelayFault | null };

type Opened = Pick<OpenRelay, "port" | "wireguardPort">;

interface Known {
  opened: PromiseWithResolvers<Opened>;
  fault: RelayFault | null;
}

/** Do not wait, and not for programs that are started (EFD_NONBLOCK, EFD_CLOEXEC); the same on ARM and x86. */
const BELL_FLAGS = 0o4000 | 0o2000000;

/**
 * Relays in one thread of their own while there are any: the loop that repairs the kill switch never waits for a packet
 * of theirs. They end with the service.
 */
export class RelayThread {
  private worker: Worker | null = null;
  /** An eventfd; null if the worker hears messages by itself. */
  private bell: number | null = null;
  private readonly known = new Map<number, Known>();
  private last = 0;

  constructor(
    private readonly file: string,
    /** The worker waits in the kernel, where only a bell reaches it. */
    private readonly needsBell: boolean,
  ) {}

  async open(place: RelayPlace): Promise<OpenRelay> {
    this.last += 1;
    const id = this.last;
    const known: Known = { opened: Promise.withResolvers(), fault: null };
    this.known.set(id, known);
    try {
      this.worker ??= this.started();
      this.tell({ type: "open", id, place });
      const { port, wireguardPort } = await known.opened.promise;
      return { port, wireguardPort, fault: () => known.fault, close: () => this.close(id) };
    } catch (error) {
      this.close(id);
      throw error;
    }
  }

  private close(id: number): void {
    if (!this.known.delete(id)) return;
    this.tell({ type: "close", id });
    if (this.known.size > 0) return;
    // One with a bell ends by itself, and takes the bell along.
    if (this.bell === null) this.worker?.terminate();
    else this.tell({ type: "end" });
    this.worker = null;
    this.bell = null;
  }

  /** Rings first: a worker that has the message may close the bell, and its number may be of another file then. */
  private tell(message: ToWorker): void {
    if (this.bell !== null) libc().write(this.bell, ptr(BigUint64Array.of(1n)), 8);
    this.worker?.postMessage(message);
  }

  /** Throws if the kernel gives no bell. */
  private started(): Worker {
    const bell = this.needsBell ? newBell() : null;
    const worker = new Worker(this.file, { smol: true });
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.heard(data);
    worker.onerror = () => this.ended(worker);
    worker.addEventListener("close", () => this.ended(worker));
    if (bell !== null) worker.postMessage({ type: "bell", bell } satisfies ToWorker);
    this.bell = bell;
    return worker;
  }

  private heard(message: FromWorker): void {
    const known = this.known.get(message.id);
    if (message.type === "open") known?.opened.resolve(message);
    else if (message.type === "failed")
      known?.opened.reject(refused("relay_failed", { reason: message.message }));
    else if (known !== undefined) known.fault = message.fault;
  }

  /** The tunnels of its relays stand still, which is noticed like the silence of a server. */
  private ended(worker: Worker): void {
    if (this.worker !== worker) return;
    this.worker = null;
    worker.terminate();
    if (this.bell !== null) libc().close(this.bell);
    this.bell = null;
    for (const { opened } of this.known.values()) opened.reject(refused("relay_ended"));
    this.known.clear();
  }
}

function newBell(): number {
  const bell = libc().eventfd(0, BELL_FLAGS);
  if (bell < 0) throw refused("relay_unavailable");
  return bell;
}
