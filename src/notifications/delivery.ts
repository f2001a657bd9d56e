import type { Translate } from "../base/language.ts";
import type { Log } from "../base/log.ts";
import { type Reason, reasonOf } from "../base/reason.ts";
import type { Host, Send } from "../system/host.ts";
import type { NotifiedEvent } from "./event.ts";
import { type Message, type MessageSender, messageOf } from "./message.ts";
import { type Kept, Outbox } from "./outbox.ts";
import { refused } from "./refusals.ts";
import { requestFor, type Target } from "./target.ts";

/** Events that belong together, such as damage and its repair, occur within this time. */
const LOOKS_EVERY_MS = 10_000;
/** The pause after a failure. It is doubled with each further one. */
const FIRST_PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 3_600_000;

export interface DeliveryDeps {
  clock: Pick<Host, "now" | "monotonic" | "sleep">;
  /** Sends to the LAN or through the tunnel. */
  send: Send;
  /** False while `send` would fail because no tunnel is up. */
  isOpenTo: (target: Pick<Target, "url">) => boolean;
  hostname: string;
  /** The language that a person has chosen. */
  translation: () => Promise<Translate>;
  /** The verdict on the home now, in English; null if it is not known. */
  headline: () => Promise<string | null>;
  log: Pick<Log, "info" | "warn">;
  /** Called when the stored state has changed. */
  changed: () => void;
  signal: AbortSignal;
}

/** Sends one target its messages, and tries again until the target accepts them. */
export class Delivery {
  private readonly outbox: Outbox;
  private isRunning = false;
  /** Why the last attempt has failed; null if it has not. */
  fault: Reason | null = null;
  private failures = 0;
  private pausedUntil = 0;

  constructor(
    private readonly deps: DeliveryDeps,
    readonly target: Target,
    kept?: Kept,
  ) {
    this.outbox = new Outbox(kept);
    void this.run();
  }

  get kept(): Kept {
    return this.outbox.kept;
  }

  /** How many events were not sent yet. */
  get waiting(): number {
    return this.kept.pending.reduce((sum, { count }) => sum + count, 0);
  }

  add(event: NotifiedEvent): void {
    this.outbox.add(event);
    this.deps.changed();
    void this.run();
  }

  /** Throws `GatewayError` unless the target has accepted the message. */
  async post(message: Message): Promise<void> {
    const { status } = await this.deps.send(requestFor(this.target, message));
    if (status >= 200 && status < 300) return;
    throw refused("target_refused", { status, redirects: status >= 300 && status < 400 ? "yes" : "no" });
  }

  private async run(): Promise<void> {
    const { clock, signal } = this.deps;
    if (this.isRunning) return;
    this.isRunning = true;
    while (!this.outbox.isEmpty && !signal.aborted) {
      await clock.sleep(LOOKS_EVERY_MS, signal);
      if (!signal.aborted && clock.monotonic() >= this.pausedUntil) await this.sendDue();
    }
    this.isRunning = false;
  }

  private async sendDue(): Promise<void> {
    const { clock, isOpenTo, changed } = this.deps;
    const pending = this.outbox.take(clock.now());
    if (pending.length === 0) return;
    if (!isOpenTo(this.target)) return this.outbox.putBack();
    try {
      await this.post(messageOf(pending, await this.speaker(), clock.now()));
      this.outbox.confirm(clock.now());
      this.succeeded();
    } catch (error) {
      this.outbox.putBack();
      this.failed(error);
    }
    changed();
  }

  /** On a locked screen, the title may be all that is seen. */
  private async speaker(): Promise<MessageSender> {
    const { hostname, headline, translation } = this.deps;
    const [translate, now] = await Promise.all([translation(), headline()]);
    return { hostname, translate, headline: now };
  }

  private succeeded(): void {
    if (this.failures > 0) this.deps.log.info(`notifications to ${this.target.name} arrive again`);
    this.failures = 0;
    this.fault = null;
  }

  private failed(error: unknown): void {
    const { clock, log } = this.deps;
    this.fault = reasonOf(error);
    if (this.failures === 0)
      log.warn(
        `a notification to ${this.target.name} could not be sent: ${this.fault.error}; it is kept and sent later`,
      );
    this.pausedUntil = clock.monotonic() + Math.min(FIRST_PAUSE_MS * 2 ** this.failures, MAX_PAUSE_MS);
    this.failures += 1;
  }
}
