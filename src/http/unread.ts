import { Shares } from "../base/shares.ts";
import type { Clients } from "./clients.ts";

/** What the kernel takes of an answer at once, more or less. */
const SMALL_BYTES = 65_536;
/** One client alone has room for ten of the longest lists of devices. */
const MAX_BYTES = 67_108_864;

/** The answers that are made for one request and that its client has not read yet. */
export class Unread {
  private readonly shares = new Shares(MAX_BYTES);
  private readonly sent = new Map<Request, number>();

  constructor(
    private readonly clients: Pick<Clients, "of">,
    /** Whether some of the answer has still to be sent. */
    private readonly isUnderWay: (request: Request) => boolean,
  ) {}

  /** Keeps an answer of this size for its client; false if that has not read enough of earlier ones. */
  keep(request: Request, bytes: number): boolean {
    if (bytes <= SMALL_BYTES) return true;
    const client = this.clients.of(request);
    if (!this.shares.has(client, bytes)) this.forgetRead();
    if (!this.shares.take(client, bytes)) return false;
    this.sent.set(request, bytes);
    return true;
  }

  /** Nothing tells when an answer has been sent. */
  private forgetRead(): void {
    for (const [request, bytes] of this.sent)
      if (!this.isUnderWay(request)) {
        this.sent.delete(request);
        this.shares.give(this.clients.of(request), bytes);
      }
  }
}
