import type { Host } from "../system/host.ts";

/** The kernel tells of a change within 4 ms; on a busy Pi a little later. */
const EVENT_DELAY_MS = 50;

/** Tells what the kernel says of our own changes from what it says of a stranger's. */
export class OwnChanges {
  private running = 0;
  private until = 0;

  constructor(private readonly host: Pick<Host, "monotonic">) {}

  /** Runs something that changes the kernel. */
  async during<T>(change: () => Promise<T>): Promise<T> {
    this.running += 1;
    try {
      return await change();
    } finally {
      this.running -= 1;
      this.until = this.host.monotonic() + EVENT_DELAY_MS;
    }
  }

  /** Whether an event that comes now may be of our own doing. */
  get likely(): boolean {
    return this.running > 0 || this.host.monotonic() < this.until;
  }
}
