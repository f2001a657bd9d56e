import { GatewayError } from "../../base/errors.ts";
import type { OpenRelay, RelayFault, RelayPlace } from "../host.ts";

export type ToWorker = { type: "open"; id: number; place: RelayPlace } | { type: "close"; id: number };
export type FromWorker =
  | { type: "open"; id: number; port: number; wireguardPort: number }
  | { type: "failed"; id: number; message: string }
  | { type: "fault"; id: number; fault: RelayFault | null };

/** Where the worker is: in the executable below the folder of the main file, or beside this file. */
const WORKER = Bun.main.startsWith("/$bunfs/")
  ? "/$bunfs/root/system/relay/relay-worker.js"
  : new URL("./relay-worker.ts", import.meta.url).href;

type Opened = Pick<OpenRelay, "port" | "wireguardPort">;

interface Known {
  opened: PromiseWithResolvers<Opened>;
  fault: RelayFault | null;
}

/**
 * All relays, in one thread of their own while there are any: the loop that repairs the kill switch never waits for a
 * packet of theirs. They end with the service.
 */
export class Relays {
  private worker: Worker | null = null;
  private readonly known = new Map<number, Known>();
  private last = 0;

  async open(place: RelayPlace): Promise<OpenRelay> {
    this.last += 1;
    const id = this.last;
    const known: Known = { opened: Promise.withResolvers(), fault: null };
    this.known.set(id, known);
    this.worker ??= this.started();
    this.tell({ type: "open", id, place });
    try {
      const { port, wireguardPort } = await known.opened.promise;
      return { port, wireguardPort, fault: () => known.fault, close: () => this.close(id) };
    } catch (error) {
      this.close(id);
      throw error;
    }
  }

  private close(id: number): void {
    if (!this.known.delete(id)) return;
    if (this.known.size > 0) this.tell({ type: "close", id });
    else {
      this.worker?.terminate();
      this.worker = null;
    }
  }

  private tell(message: ToWorker): void {
    this.worker?.postMessage(message);
  }

  private started(): Worker {
    const worker = new Worker(WORKER, { smol: true });
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.heard(data);
    worker.onerror = () => this.ended(worker);
    return worker;
  }

  private heard(message: FromWorker): void {
    const known = this.known.get(message.id);
    if (message.type === "open") known?.opened.resolve(message);
    else if (message.type === "failed") known?.opened.reject(new GatewayError("unable", message.message));
    else if (known !== undefined) known.fault = message.fault;
  }

  /** The tunnels of its relays stand still, which is noticed like the silence of a server. */
  private ended(worker: Worker): void {
    if (this.worker !== worker) return;
    this.worker = null;
    worker.terminate();
    for (const { opened } of this.known.values())
      opened.reject(new GatewayError("unable", "the relay to the server has ended"));
    this.known.clear();
  }
}
