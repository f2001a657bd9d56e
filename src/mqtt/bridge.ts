import { Limiter } from "../access/limiter.ts";
import { alertIn, type SecurityAlert } from "../base/alert.ts";
import type { Bus } from "../base/bus.ts";
import { messageOf } from "../base/errors.ts";
import { LANGUAGE, translationIn } from "../base/language.ts";
import type { Log } from "../base/log.ts";
import { voiceIn } from "../base/voice.ts";
import type { EventMessage } from "../http/event.ts";
import { followMessages, type ShownEvents } from "../http/messages.ts";
import type { Storage } from "../servers/storage.ts";
import type { Host } from "../system/host.ts";
import { pauseAfter } from "../tunnel/backoff.ts";
import { type Commanded, carryOut } from "./commands.ts";
import type { Connection, Message } from "./connection.ts";
import { type HaNode, messagesOf } from "./discovery.ts";
import { lastAlert, type Read, readHome, thingsOf } from "./home.ts";
import { Published, type PublishedEntity } from "./published.ts";
import { RATES_EVERY_MS, Rates } from "./rates.ts";
import { refused } from "./refusals.ts";
import type { MqttStatus } from "./status.ts";
import {
  availabilityTopic,
  commandIn,
  commandTopics,
  deviceKey,
  type Key,
  STATUS_TOPIC,
  stateTopic,
  topicsOf,
} from "./topics.ts";

/** The shortest time between two states of an entity. */
const LEAST_MS = 1_000;
/** Home Assistant may start again and again. This is the shortest time between two complete transmissions. */
const EVERYTHING_EVERY_MS = 10_000;
/** A connection that lasted this long was not a failed attempt. */
const STEADY_MS = 60_000;
/** The client to which all commands are attributed, like those of one HTTP client. */
const CLIENT = "mqtt";
/** More than any name has. A longer payload is ignored. */
const MAX_PAYLOAD = 512;

export interface Deps {
  gateway: Read & Commanded & { events: Pick<Bus<ShownEvents>, "subscribe"> };
  clock: Pick<Host, "sleep" | "monotonic" | "random">;
  store: Pick<Storage, "read" | "write">;
  log: Pick<Log, "info" | "warn">;
  site: HaNode;
  /** Whether Home Assistant may command. */
  commands: boolean;
  /** Throws `GatewayError` if no session is possible. */
  open: (signal: AbortSignal) => Promise<Connection>;
  /** The state of the connection, for clients. */
  status: Pick<MqttStatus, "is">;
  /** Describes the broker of the last session. */
  connected: () => string;
  /** Why the connection must no longer be used; null if it may be used. */
  fault: () => string | null;
}

/** Shows the gateway to Home Assistant through a broker, and carries out commands from there. */
export class Bridge {
  private readonly published: Published;
  private readonly limiter = new Limiter();
  private readonly rates = new Rates();
  /** The messages that the broker was sent in this session, by topic. */
  private readonly sent = new Map<string, string>();
  /** The things of the previous round in this session; null before the first. */
  private last: readonly PublishedEntity[] | null = null;
  /** The ids of the devices that Home Assistant knows. */
  private devices = new Map<Key, string>();
  private alert: SecurityAlert | null;
  private wake = () => {};
  private isDue = false;
  private everythingAt = Number.NEGATIVE_INFINITY;
  /** What was logged since the last steady connection, so that a broker that comes and goes does not fill the log. */
  private readonly told = new Set<string>();

  constructor(private readonly deps: Deps) {
    this.published = new Published(deps.store, deps.log);
    this.alert = lastAlert(deps.gateway);
  }

  /** Runs until `signal` aborts, and reconnects until then. */
  async run(signal: AbortSignal): Promise<void> {
    const { gateway, clock } = this.deps;
    const hear = (message: EventMessage) => {
      if (message.type === "security_alert") this.alert = message.payload;
      this.due();
    };
    followMessages(gateway.events, hear, signal);
    for (let attempt = 0; !signal.aborted; attempt++) {
      const start = clock.monotonic();
      await this.session(signal).catch((error: unknown) => {
        if (clock.monotonic() - start > STEADY_MS) {
          attempt = 0;
          this.told.clear();
        }
        if (signal.aborted) return;
        this.deps.status.is(messageOf(error));
        this.report("warn", messageOf(error));
      });
      await clock.sleep(pauseAfter(attempt, clock.random(), true), signal);
    }
  }

  /** One connection, until it is lost; throws the reason. */
  private async session(signal: AbortSignal): Promise<void> {
    const { site, commands } = this.deps;
    const connection = await this.deps.open(signal);
    const ended = new AbortController();
    const end = () => {
      ended.abort();
      this.wake();
    };
    void connection.closed.then(end);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    this.deps.status.is(null);
    this.report("info", this.deps.connected());
    this.sent.clear();
    this.last = null;
    connection.publish(availabilityTopic(site.id), "online");
    connection.subscribe(
      [STATUS_TOPIC, ...(commands ? commandTopics(site.id) : [])],
      (message) => this.take(message),
      (topic) => this.report("warn", `the broker does not let the gateway subscribe to ${topic}`),
    );
    while (!ended.signal.aborted) await this.round(connection, ended.signal);
    signal.removeEventListener("abort", end);
    if (!signal.aborted) throw refused("broker_unreached", { reason: connection.fault });
    connection.publish(availabilityTopic(site.id), "offline");
    await connection.end();
  }

  /** Sends what has changed; returns when the next round is due. */
  private async round(connection: Connection, ended: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    this.isDue = false;
    const fault = this.deps.fault();
    if (fault !== null) {
      connection.close(fault);
      return connection.closed;
    }
    // A slow broker gets messages less often while it has not taken earlier ones.
    if (!connection.isBusy)
      await this.send(connection).catch((error: unknown) =>
        this.report("warn", `no state is sent: ${messageOf(error)}`),
      );
    await clock.sleep(LEAST_MS, ended);
    if (this.isDue || ended.aborted) return;
    const woken = new AbortController();
    this.wake = () => woken.abort();
    await clock.sleep(RATES_EVERY_MS - LEAST_MS, woken.signal);
    this.wake = () => {};
  }

  private async send(connection: Connection): Promise<void> {
    const { gateway, clock, site, commands } = this.deps;
    const language = LANGUAGE.read(this.deps.store);
    const home = await readHome(gateway, await this.alertIn(language), voiceIn(language));
    this.rates.take(home, clock.monotonic());
    const things = thingsOf(home, gateway, this.rates, commands);
    this.devices = new Map(home.known.map(({ id }) => [deviceKey(id), id]));
    const wanted = things.map(({ key }) => ({ id: site.id, key }));
    // The messages of the previous round have reached the broker.
    if (this.last !== null) this.published.settle(this.last);
    this.published.add(wanted);
    for (const { id, key } of this.published.stale(wanted))
      for (const topic of topicsOf(id, key)) this.put(connection, topic, "");
    for (const thing of things)
      for (const [topic, payload] of messagesOf(thing, site)) this.put(connection, topic, payload);
    this.last = wanted;
  }

  /** The latest alert. */
  private async alertIn(language: string): Promise<SecurityAlert | null> {
    const { alert } = this;
    if (alert === null) return null;
    return { ...alert, message: alertIn(alert, await translationIn(language)) };
  }

  private put(connection: Connection, topic: string, payload: string): void {
    if (this.sent.get(topic) === payload) return;
    connection.publish(topic, payload);
    this.sent.set(topic, payload);
  }

  private take({ topic, payload, retained }: Message): void {
    // A retained message is an old one: a command would be repeated after each connection.
    if (retained || payload === "") return;
    if (topic === STATUS_TOPIC && payload === "online") this.greet();
    const command = this.deps.commands ? commandIn(this.deps.site.id, topic) : null;
    if (command !== null) void this.command({ ...command, payload });
  }

  /** Home Assistant has started and wants everything again. */
  private greet(): void {
    const now = this.deps.clock.monotonic();
    if (now - this.everythingAt < EVERYTHING_EVERY_MS) return;
    this.everythingAt = now;
    this.sent.clear();
    this.due();
  }

  /** The answer is the state, sent again even if the command has changed nothing. */
  private async command(given: Parameters<typeof carryOut>[2]): Promise<void> {
    const { gateway, clock, log, site } = this.deps;
    if (!this.limiter.take(CLIENT, "connection", clock.monotonic()).allowed) return;
    const deviceOf = (key: string) => this.devices.get(key) ?? null;
    try {
      if (given.payload.length > MAX_PAYLOAD) throw refused("payload_too_long");
      await carryOut(gateway, deviceOf, given);
    } catch (error) {
      log.warn(`MQTT: a command was not carried out: ${messageOf(error)}`);
    }
    this.sent.delete(stateTopic(site.id, given.key, "state"));
    this.due();
  }

  private due(): void {
    this.isDue = true;
    this.wake();
  }

  private report(level: "info" | "warn", line: string): void {
    if (this.told.has(line)) return;
    this.told.add(line);
    this.deps.log[level](`MQTT: ${line}`);
  }
}
