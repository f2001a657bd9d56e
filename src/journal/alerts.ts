import type { Alarm, SecurityAlert } from "../base/alert.ts";
import { alertText } from "../base/alert-rows.ts";
import type { Bus } from "../base/bus.ts";
import { type Log, lineOf } from "../base/log.ts";
import type { Args } from "../base/message.ts";
import { redacted } from "../base/secrets.ts";
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
  /** Null once there is a listener. */
  private early: SecurityAlert[] | null = [];

  constructor(private readonly deps: Deps) {}

  readonly raise: Alarm = (code, given) => {
    const { clock, log, journal, events } = this.deps;
    const args = linesOf(given);
    const message = toldOf(alertText(code, given));
    this.count += 1;
    if (code === "state_damaged" || code === "list_damaged") this.damage = message;
    log.warn(`security_alert ${code}: ${message}`);
    journal.add({ type: "security_alert", code, args, message });
    const alert = { code, args, message, at: new Date(clock.now()).toISOString() };
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

/** In one line, and without a key that some program has printed. */
function toldOf(text: string): string {
  return lineOf(redacted(text), MAX_CHARACTERS);
}

/** Each text as the message is. */
function linesOf<Given extends Args>(args: Given): Given {
  const lines = Object.entries(args).map(([name, arg]) => [
    name,
    typeof arg === "string" ? toldOf(arg) : arg,
  ]);
  return Object.fromEntries(lines) as Given;
}
