import { messageOf } from "../base/errors.ts";
import type { Host } from "../system/host.ts";
import { pauseAfter } from "../tunnel/backoff.ts";
import { type Opener, type OpenPort, PortRefusal, type TunnelEnd, type WantedPort } from "./opener.ts";
import { refused } from "./refusals.ts";

/** A NAT-PMP client repeats its request for a minute, but people wait for the result of the first one. */
const ANSWER_WITHIN_MS = 15_000;
/** A refusal holds until the account, the key or the server changes. */
const REFUSED_PAUSE_MS = 600_000;
/** A timer's limit is 24 days. */
const MAX_PAUSE_MS = 86_400_000;

/** A port that is open on a way. */
export interface Opened {
  way: TunnelEnd;
  opener: Opener;
  port: OpenPort;
  /** A time of the monotonic clock. */
  renewAt: number;
  expiresAt: number;
}

/** Where a port can be opened now; `why` is set if that has to wait, although the tunnel may still be there. */
export interface ForwardPath {
  way: TunnelEnd | null;
  why: string | null;
}

interface Deps {
  host: Pick<Host, "sleep" | "monotonic">;
  place: () => ForwardPath;
  /** Throws `PortRefusal` if the provider opens none. */
  openerFor: (way: TunnelEnd) => Opener;
  /** The port to ask for. Throws `PortRefusal` if another forward has it. */
  wanted: (way: TunnelEnd) => WantedPort;
  /** Throws `PortRefusal` if another forward has the port that the provider gave. */
  check: (way: TunnelEnd, port: OpenPort) => void;
  /** Runs work on a way after earlier work there. */
  inTurn: <T>(way: TunnelEnd, work: () => Promise<T>) => Promise<T>;
  /** To be called after each change; resolves once the firewall has it. */
  changed: () => Promise<void>;
}

/** Keeps one port open at the server of a tunnel, to whichever server the tunnel leads. */
export class PortLease {
  /** The port that is open, or was open on a session that has ended. */
  opened: Opened | null = null;
  /** The present request for one. */
  asked: { way: TunnelEnd; opener: Opener } | null = null;
  /** Whether it waits before it tries again. */
  get isIdle(): boolean {
    return this.failure !== null && this.asked === null;
  }

  /** Why the port is not open; null if it is, and before the first attempt. */
  failure: unknown = null;
  private readonly end = new AbortController();
  private attempt = new AbortController();
  private pause = new AbortController();
  /** What the last step found. */
  private seen: ForwardPath = { way: null, why: null };
  private isDue = false;
  private failures = 0;
  private readonly first = Promise.withResolvers<void>();

  constructor(private readonly deps: Deps) {}

  /** Resolves after the first attempt. */
  get tried(): Promise<void> {
    return this.first.promise;
  }

  /** Whether packets are believed to reach the device. */
  get isOpen(): boolean {
    const { way, why } = this.deps.place();
    return why === null && this.failure === null && this.isOpenOn(way);
  }

  /** Why the port is not open; null if it is, and while it is being opened for the first time. */
  get trouble(): string | null {
    const { why } = this.deps.place();
    if (why !== null) return why;
    return this.failure === null ? null : messageOf(this.failure);
  }

  /** Opens the port and renews it until `stop`. */
  async keep(): Promise<void> {
    while (!this.end.signal.aborted) {
      this.isDue = false;
      const pauseMs = await this.stepDone();
      this.first.resolve();
      if (this.isDue || this.end.signal.aborted) continue;
      this.pause = new AbortController();
      const signal = AbortSignal.any([this.end.signal, this.pause.signal]);
      await this.deps.host.sleep(Math.min(Math.max(0, pauseMs), MAX_PAUSE_MS), signal);
    }
  }

  /** To be called when the port may be opened elsewhere. */
  wake(): void {
    const { way, why } = this.deps.place();
    const isSame = way?.session === this.seen.way?.session && way?.tunnel === this.seen.way?.tunnel;
    if (isSame && why === this.seen.why) return;
    this.isDue = true;
    this.pause.abort();
    if (!isSame) this.attempt.abort();
  }

  /** The server has lost the port, so it is requested again. */
  renewNow(): void {
    if (this.opened === null) return;
    this.opened.renewAt = this.deps.host.monotonic();
    this.isDue = true;
    this.pause.abort();
  }

  /**
   * Ends the work; resolves once the firewall has the port no more. If the session is still up, the provider is asked to
   * close it. Other changes do not wait for its answer.
   */
  async stop(): Promise<void> {
    this.end.abort();
    this.first.resolve();
    const { opened } = this;
    this.opened = null;
    await this.deps.changed();
    if (opened !== null) void this.close(opened);
  }

  /** Returns the milliseconds until the next step. */
  private async stepDone(): Promise<number> {
    const pauseMs = await this.step();
    if (this.end.signal.aborted) return 0;
    return this.deps.changed().then(
      () => pauseMs,
      (error: unknown) => this.failed(error),
    );
  }

  private async step(): Promise<number> {
    this.seen = this.deps.place();
    const { way, why } = this.seen;
    await this.leave(way);
    if (way === null || why !== null) {
      this.failure = refused("port_unplaced", { reason: why ?? "" });
      return Number.POSITIVE_INFINITY;
    }
    if (!this.isOpenOn(way) || this.remainingMs <= 0) {
      try {
        await this.ask(way);
      } catch (error) {
        return this.failed(error);
      }
    }
    this.failure = null;
    this.failures = 0;
    return this.remainingMs;
  }

  /** The port that the device's former tunnel has open is closed. One of a session that has ended is only forgotten. */
  private async leave(way: TunnelEnd | null): Promise<void> {
    const { opened } = this;
    if (opened === null || opened.way.tunnel === way?.tunnel) return;
    this.opened = null;
    await this.deps.changed().catch(() => {});
    await this.close(opened);
  }

  private async ask(way: TunnelEnd): Promise<void> {
    const opener = this.deps.openerFor(way);
    this.asked = { way, opener };
    this.attempt = new AbortController();
    try {
      // This comes first, so that the firewall permits the request.
      await this.deps.changed();
      await this.deps.inTurn(way, async () => {
        const port = await this.inTime((signal) => this.answer(way, opener, signal));
        this.deps.check(way, port);
        const now = this.deps.host.monotonic();
        const { renewAfterMs, expiresAfterMs } = port;
        this.opened = { way, opener, port, renewAt: now + renewAfterMs, expiresAt: now + expiresAfterMs };
      });
    } finally {
      this.asked = null;
    }
  }

  private answer(way: TunnelEnd, opener: Opener, signal: AbortSignal): Promise<OpenPort> {
    const { opened } = this;
    return opened !== null && this.isOpenOn(way)
      ? opener.renew(way, opened.port, signal)
      : opener.open(way, this.deps.wanted(way), signal);
  }

  /** A port whose renewal has failed stays open until its time is over. */
  private failed(error: unknown): number {
    const isRefused = error instanceof PortRefusal;
    const pauseMs = isRefused ? REFUSED_PAUSE_MS : pauseAfter(this.failures, 1, true);
    this.failures += 1;
    const { opened } = this;
    const leftMs = opened === null ? 0 : opened.expiresAt - this.deps.host.monotonic();
    const isKept = !isRefused && leftMs > 0 && this.isOpenOn(this.deps.place().way);
    if (isKept) return Math.min(pauseMs, leftMs);
    this.opened = null;
    this.failure = error;
    void this.deps.changed().catch(() => {});
    return pauseMs;
  }

  private async close({ way, opener, port }: Opened): Promise<void> {
    await this.deps
      .inTurn(way, () => this.inTime((signal) => opener.close(way, port, signal), null))
      .catch(() => {});
  }

  private async inTime<T>(
    work: (signal: AbortSignal) => Promise<T>,
    ends: AbortSignal | null = AbortSignal.any([this.end.signal, this.attempt.signal]),
  ): Promise<T> {
    const late = new AbortController();
    const done = new AbortController();
    const signal = ends === null ? late.signal : AbortSignal.any([ends, late.signal]);
    void this.deps.host.sleep(ANSWER_WITHIN_MS, done.signal).then(() => {
      if (!done.signal.aborted) late.abort(refused("port_server_silent"));
    });
    const aborted = Promise.withResolvers<never>();
    // If the work throws before it is awaited, a later abort must not end the service.
    aborted.promise.catch(() => {});
    signal.addEventListener("abort", () => aborted.reject(signal.reason), { once: true });
    try {
      signal.throwIfAborted();
      return await Promise.race([work(signal), aborted.promise]);
    } finally {
      done.abort();
    }
  }

  private isOpenOn(way: TunnelEnd | null): boolean {
    return this.opened !== null && this.opened.way.session === way?.session;
  }

  private get remainingMs(): number {
    return (this.opened?.renewAt ?? 0) - this.deps.host.monotonic();
  }
}
