import { Shares } from "../base/shares.ts";
import type { Clients } from "./clients.ts";
import { refused } from "./refusals.ts";

/** One client alone has room for three backups, or for fifty other bodies. */
const MAX_BYTES = 33_554_432;

/** The bodies under way: those that come in, and those of requests that are not answered yet. */
export class Bodies {
  private readonly shares = new Shares(MAX_BYTES);
  private readonly taken = new Map<Request, number>();

  constructor(private readonly clients: Pick<Clients, "of">) {}

  /** Before any of it has come in: a client may take as long as it likes to send it. */
  take(request: Request, bytes: number): void {
    if (!this.shares.take(this.clients.of(request), bytes)) throw refused("too_many_bodies");
    this.taken.set(request, bytes);
  }

  /** The request is answered. */
  end(request: Request): void {
    const bytes = this.taken.get(request);
    if (bytes === undefined) return;
    this.taken.delete(request);
    this.shares.give(this.clients.of(request), bytes);
  }
}
