/**
 * The gateway answers a client ten requests a second, refused ones included, and all pages of one machine are one
 * client. So a page sends one request after the other, and looks at each answer for how many are left: the last ones
 * are for what a person does, and for the requests that other pages send at this moment.
 */

/** Other pages may send that many in the same moment. */
const RESERVE = 3;
const WINDOW_MS = 1_000;
/** Pages that wait for the same second do not begin it together. */
const SPREAD_MS = 500;
/** An answer that takes longer does not hold up the next request. */
const PATIENCE_MS = 150;
/** Each refusal in a row doubles the time over which pages spread their next attempt. */
const MAX_DOUBLINGS = 4;

interface Turn {
  send: () => Promise<Response>;
  isUrgent: boolean;
  answered: (response: Response | Promise<never>) => void;
}

interface Clock {
  now(): number;
  sleep(ms: number): Promise<void>;
}

const BROWSER: Clock = {
  now: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** The requests of one page in turn. */
export class Turns {
  private readonly waiting: Turn[] = [];
  private isRunning = false;
  /** When the gateway takes requests again. */
  private refusedUntil = 0;
  /** When there is room again for what nobody waits for. */
  private sparedUntil = 0;
  private refusals = 0;

  constructor(private readonly clock = BROWSER) {}

  /**
   * Sends a request in its turn, and again after a refusal: a request over the limit was not carried out. `isUrgent` is
   * what a person does, which comes first.
   */
  take(send: Turn["send"], isUrgent: boolean): Promise<Response> {
    return new Promise((answered) => {
      this.waiting.push({ send, isUrgent, answered });
      if (!this.isRunning) void this.run();
    });
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    for (let turn = this.next(); turn !== undefined; turn = this.next()) {
      const restMs = (turn.isUrgent ? 0 : this.sparedUntil) - this.clock.now();
      const waitMs = Math.max(restMs, this.refusedUntil - this.clock.now());
      // Meanwhile something urgent may come.
      if (waitMs > 0) await this.clock.sleep(Math.min(waitMs, PATIENCE_MS));
      // What a change makes stale is read at once: a form that still has what was before would be filled in again.
      else if (turn.isUrgent) void this.play(turn);
      else await Promise.race([this.play(turn), this.clock.sleep(PATIENCE_MS)]);
    }
    this.isRunning = false;
  }

  private next(): Turn | undefined {
    return this.waiting.find(({ isUrgent }) => isUrgent) ?? this.waiting[0];
  }

  private async play(turn: Turn): Promise<void> {
    this.waiting.splice(this.waiting.indexOf(turn), 1);
    const sentAt = this.clock.now();
    try {
      const response = await turn.send();
      this.learn(response, turn.isUrgent ? null : sentAt);
      if (response.status !== 429) return turn.answered(response);
      // An answer that is not read keeps its connection, and a browser has six.
      await response.body?.cancel();
      this.waiting.unshift(turn);
      if (!this.isRunning) void this.run();
    } catch (error) {
      turn.answered(Promise.reject(error));
    }
  }

  /** `sentAt` is null of a change, whose own limit is lower. */
  private learn({ status, headers }: Response, sentAt: number | null): void {
    if (status === 429) {
      this.refusals = Math.min(this.refusals + 1, MAX_DOUBLINGS);
      const seconds = Number(headers.get("Retry-After") ?? 1);
      const spreadMs = SPREAD_MS * 2 ** this.refusals;
      this.refusedUntil = this.clock.now() + seconds * WINDOW_MS + Math.random() * spreadMs;
      return;
    }
    this.refusals = 0;
    const left = headers.get("X-RateLimit-Remaining");
    if (left !== null && sentAt !== null && Number(left) <= RESERVE)
      this.sparedUntil = Math.max(this.sparedUntil, sentAt + WINDOW_MS + Math.random() * SPREAD_MS);
  }
}

export const turns = new Turns();
