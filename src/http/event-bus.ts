import type { AlertCode, SecurityAlert } from "../base/alert.ts";
import { type Log, lineOf } from "../base/log.ts";
import type { Journal } from "../journal/journal.ts";
import type { Host } from "../system/host.ts";
import type { GatewayEvent } from "./event.ts";

/** Alerts that are kept for a listener that comes later; a start raises a few. */
const MAX_EARLY = 100;
/** Each is kept in the journal and sent to every socket. It names what it is about, and names come from others. */
const MAX_CHARACTERS = 1_000;

/** Passes each event to all listeners, and counts the alerts. */
export class EventBus {
  alerts = 0;
  /** The latest alert about a damaged state or list; kept until the service restarts. */
  damage: string | null = null;
  private readonly listeners = new Set<(event: GatewayEvent) => void>();
  private readonly early: SecurityAlert[] = [];
  private alertListener: ((alert: SecurityAlert) => void) | null = null;

  constructor(
    private readonly clock: Pick<Host, "now">,
    private readonly log: Pick<Log, "warn">,
    /** Keeps the alerts. */
    private readonly journal: Pick<Journal, "add">,
  ) {}

  subscribe(listener: (event: GatewayEvent) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Calls the only listener of this kind for each alert, those before it included. Other events cost nothing. */
  onAlert(listener: (alert: SecurityAlert) => void): void {
    this.alertListener = listener;
    for (const alert of this.early.splice(0)) listener(alert);
  }

  get hasListeners(): boolean {
    return this.listeners.size > 0;
  }

  publish(event: GatewayEvent): void {
    for (const listener of this.listeners) listener(event);
  }

  alarm(code: AlertCode, text: string): void {
    const message = lineOf(text, MAX_CHARACTERS);
    this.alerts += 1;
    if (code === "state_damaged" || code === "list_damaged") this.damage = message;
    this.log.warn(`security_alert ${code}: ${message}`);
    this.journal.add({ type: "security_alert", code, message });
    const at = new Date(this.clock.now()).toISOString();
    const alert = { code, message, at };
    this.publish({ type: "security_alert", payload: alert });
    if (this.alertListener !== null) this.alertListener(alert);
    else if (this.early.length < MAX_EARLY) this.early.push(alert);
  }
}
