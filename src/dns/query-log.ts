import type { Bus } from "../base/bus.ts";
import { TYPE } from "../base/dns-message.ts";
import type { Log } from "../base/log.ts";
import { formatExit } from "../devices/exit.ts";
import type { DeviceId } from "../devices/id.ts";
import type { Exit } from "../killswitch/policy.ts";
import { QUERY_LOG_MINUTES } from "../shared/bounds.ts";
import type { Host } from "../system/host.ts";
import type { DnsEvents } from "./events.ts";
import type { Question } from "./question.ts";
import type { QueryLogged, QueryLogShown } from "./schema.ts";

const MAX_QUERIES = 2_000;
const LENGTH_MS = QUERY_LOG_MINUTES * 60_000;
const TYPE_NAMES = new Map(Object.entries(TYPE).map(([name, number]) => [number, name.toUpperCase()]));

/** What is known of a query once it is answered. */
export interface Answered {
  /** Null if nobody knows who has asked. */
  device: DeviceId | null;
  /** The exit of the query, if it was or had been sent; null if none was needed. */
  exit: Exit | null;
  answer: QueryLogged["answer"];
}

interface Deps {
  clock: Pick<Host, "now" | "monotonic" | "sleep">;
  nameOf: (device: DeviceId) => string;
  events: Pick<Bus<DnsEvents>, "publish">;
  log: Pick<Log, "info">;
}

/**
 * What devices ask, for ten minutes after a person has started it, and in memory only: then it is forgotten, as it is by a
 * restart.
 */
export class QueryLog {
  /** Null while nothing is logged. */
  private running: { until: number; queries: QueryLogged[]; dropped: number; end: AbortController } | null =
    null;

  constructor(private readonly deps: Deps) {}

  /** When it ends, in ISO 8601. */
  get untilText(): string | null {
    const { clock } = this.deps;
    return this.running && new Date(clock.now() + this.running.until - clock.monotonic()).toISOString();
  }

  /** Begins an empty one. */
  start(): void {
    this.running?.end.abort();
    const { clock, log } = this.deps;
    const running = {
      ...{ until: clock.monotonic() + LENGTH_MS, queries: [], dropped: 0 },
      end: new AbortController(),
    };
    this.running = running;
    log.info(`DNS: queries are logged in memory for ${QUERY_LOG_MINUTES} minutes`);
    void clock.sleep(LENGTH_MS, running.end.signal).then(() => {
      if (this.running === running) this.stop();
    });
    this.tell();
  }

  /** Ends it, and forgets what was asked. */
  stop(): void {
    if (this.running === null) return;
    this.running.end.abort();
    this.running = null;
    this.deps.log.info("DNS: the log of queries has ended, and is forgotten");
    this.tell();
  }

  private tell(): void {
    this.deps.events.publish({ type: "dns_changed", payload: null });
  }

  note({ name, type }: Question, { device, exit, answer }: Answered): void {
    if (this.running === null) return;
    const { queries } = this.running;
    queries.push({
      ...{ at: new Date(this.deps.clock.now()).toISOString(), device, name, answer },
      type: TYPE_NAMES.get(type) ?? `TYPE${type}`,
      exit: exit && formatExit(exit),
    });
    if (queries.length <= MAX_QUERIES) return;
    queries.shift();
    this.running.dropped += 1;
  }

  /** The oldest first. */
  shown(): QueryLogShown {
    const { queries = [], dropped = 0 } = this.running ?? {};
    const nameOf = (device: DeviceId | null) => (device === null ? "" : this.deps.nameOf(device));
    return {
      until: this.untilText,
      queries: queries.map((each) => ({ ...each, device_name: nameOf(each.device as DeviceId | null) })),
      dropped,
    };
  }
}
