import type { AlertCode, SecurityAlert } from "../base/alert.ts";
import type { Bus } from "../base/bus.ts";
import { type Log, lineOf } from "../base/log.ts";
import type { Host } from "../system/host.ts";
import type { Journal } from "./journal.ts";

export interface AlertEvents {
  security_alert: SecurityAlert;
}

interface Deps {
  clock: Pick<Host, "now">;
  log: Pick<Log, "warn">;
  journal: Pick<Journal, "add">;
  events: Pick<Bus<AlertEvents>, "publish" | "subscribe">;
}

/** Those of a start are kept for a listener that comes later; a start raises a few. */
const MAX_EARLY = 100;
/** Each is kept in the journal and sent to every socket. It names what it is about, and names come from others. */
const MAX_CHARACTERS = 1_000;

/** Logs, journals, counts and publishes each alert. */
export class Alerts {
  count = 0;
  /** The latest alert about a damaged state or list; kept until the service restarts. */
  damage: string | null = null;
  /** Null once somebody follows. */
  private early: SecurityAlert[] | null = [];

  constructor(private readonly deps: Deps) {}

  readonly raise = (code: AlertCode, text: string): void => {
    const { clock, log, journal, events } = this.deps;
    const message = lineOf(text, MAX_CHARACTERS);
    this.count += 1;
    if (code === "state_damaged" || code === "list_damaged") this.damage = message;
    log.warn(`security_alert ${code}: ${message}`);
    journal.add({ type: "security_alert", code, message });
    const alert = { code, message, at: new Date(clock.now()).toISOString() };
    if (this.early !== null && this.early.length < MAX_EARLY) this.early.push(alert);
    events.publish({ type: "security_alert", payload: alert });
  };

  /** Calls the listener with each alert, those since the start included. There is one listener of this kind. */
  follow(listener: (alert: SecurityAlert) => void): void {
    for (const alert of this.early ?? []) listener(alert);
    this.early = null;
    this.deps.events.subscribe("security_alert", ({ payload }) => listener(payload));
  }
}
