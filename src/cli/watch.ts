import { Type } from "typebox";
import { Value } from "typebox/value";
import type { SecurityAlert } from "../base/alert.ts";
import { jsonIn } from "../base/checker.ts";
import { CommandError } from "../base/errors.ts";
import type { DeviceUpdate } from "../devices/schema.ts";
import type { Forward } from "../forwards/schema.ts";
import { EVENTS, type GatewayEvent } from "../http/event.ts";
import { MAIN } from "../killswitch/policy.ts";
import { viaText } from "../servers/hops.ts";
import { PROVIDER_WORDS, tunnelTitle } from "../shared/words.ts";
import type { Host } from "../system/host.ts";
import type { Status, TunnelRow } from "../tunnel/schema.ts";
import type { Api } from "./api.ts";
import { lineOf, readStatus, textOf } from "./status.ts";
import { printable, styled } from "./text.ts";

type DnsUpdate = Extract<GatewayEvent, { type: "dns_update" }>["payload"];
type SpeedUpdate = Extract<GatewayEvent, { type: "speed_update" }>["payload"];
type Clock = Pick<Host, "now">;
type Shown = Exclude<GatewayEvent, { type: "traffic" }>;

const { traffic: _, ...OF_ALL } = EVENTS;
/** The events that every socket gets. */
const OfAll = Type.Union(Object.values(OF_ALL));

/**
 * The pause between two readings of the status. On a screen they update the counters; elsewhere they only detect a lost
 * gateway.
 */
const READ_EVERY_MS = { screen: 2_000, lines: 15_000 };

/** The close code of a gateway that refuses this client from now on (RFC 6455, section 7.4.1). */
const REFUSED = 1008;

/** Shows the status and each change of it; throws `Unreachable` once the gateway is gone. */
export function watchStatus(api: Api, clock: Clock, json: boolean): Promise<never> {
  if (json) return follow(api, READ_EVERY_MS.lines, (event) => print(`${JSON.stringify(event)}\n`));
  if (process.stdout.isTTY !== true)
    return follow(api, READ_EVERY_MS.lines, (event) => {
      if (!isRepeated(event)) print(stamped(event, clock));
    });
  const screen = new Screen(clock);
  return follow(
    api,
    READ_EVERY_MS.screen,
    (event) => screen.show(event),
    (status) => screen.show({ type: "status_change", payload: status }),
  );
}

async function follow(
  api: Api,
  readEveryMs: number,
  onEvent: (event: Shown) => void,
  onReading: (status: Status) => void = () => {},
): Promise<never> {
  // If nothing listens, this error says why, but the socket's does not. It also finds out whether a token is needed.
  await readStatus(api);
  const gone = Promise.withResolvers<never>();
  const socket = new WebSocket(`${api.origin.replace(/^http/, "ws")}/ws`, { headers: api.headers });
  socket.onmessage = ({ data }) => {
    const event = eventIn(String(data));
    if (event !== null) onEvent(event);
  };
  socket.onclose = ({ code, reason }) =>
    gone.reject(
      code === REFUSED
        ? new CommandError("unable", printable(reason))
        : api.unreachable(printable(reason) || "it no longer answers"),
    );
  const reading = setInterval(() => void readStatus(api).then(onReading, gone.reject), readEveryMs);
  try {
    return await gone.promise;
  } finally {
    clearInterval(reading);
    socket.close();
  }
}

/** Null for events of a newer gateway that this program does not know, and for events that it has not requested. */
function eventIn(text: string): Shown | null {
  const message = jsonIn(text);
  if (!Value.Check(OfAll, message)) return null;
  const { stale: _, ...event } = message as Shown & { stale: unknown };
  return event as Shown;
}

/** A change of `main` is a `status_change` too. */
function isRepeated(event: Shown): boolean {
  return event.type === "tunnel_update" && event.payload.name === MAIN;
}

function stamped(event: Shown, clock: Clock): string {
  return `${new Date(clock.now()).toISOString()}  ${sentenceOf(event)}\n`;
}

function sentenceOf(event: Shown): string {
  switch (event.type) {
    case "status_change":
      return lineOf(event.payload);
    case "server_update":
      return `${PROVIDER_WORDS[event.payload.provider].servers}: ${event.payload.count}`;
    case "tunnel_update":
      return tunnelLineOf(event.payload);
    case "tunnel_removed":
      return `${printable(tunnelTitle(event.payload.name))}: removed`;
    case "device_update":
      return `${deviceOf(event.payload)} is ${event.payload.online ? "online" : "offline"}, exit ${event.payload.exit}`;
    case "device_removed":
      return `device ${printable(event.payload.id)}: removed`;
    case "forward_update":
      return forwardOf(event.payload);
    case "forward_removed":
      return `port ${event.payload.port}/${event.payload.protocol} of ${printable(event.payload.device)}: no longer forwarded`;
    case "remote_update":
      return `remote access is ${event.payload.on ? "on" : "off"}, ${event.payload.devices} devices away from home`;
    case "destinations_update":
      return `${event.payload.count} rules for destinations`;
    case "dns_update":
      return dnsOf(event.payload);
    case "schedules_update":
      return `${event.payload.count} schedules`;
    case "account_update":
      return `the VPN account's servers are those of ${event.payload.current}`;
    case "settings_update":
      return `the settings have changed: ${event.payload.changed}`;
    case "favourites_update":
      return `${event.payload.count} favourite servers`;
    case "speed_update":
      return speedOf(event.payload);
    case "security_alert":
      return alertOf(event.payload);
  }
}

function dnsOf({ state, paused_until }: DnsUpdate): string {
  const paused = paused_until === null ? "" : `, lists of blocked names paused until ${paused_until}`;
  return `the gateway's resolver: ${state}${paused}`;
}

function tunnelLineOf({ name, state, server, via, error }: TunnelRow): string {
  const parts = [`${tunnelTitle(name)}: ${state}`, viaText(server, via), error ?? ""];
  return parts
    .filter((part) => part !== "")
    .map(printable)
    .join("  ");
}

function deviceOf({ id, name }: DeviceUpdate): string {
  return name === "" ? id : `${printable(name)} (${id})`;
}

function forwardOf({ name, device, port, protocol, external, state, error }: Forward): string {
  const at = external === null ? "" : ` at port ${external}`;
  const why = error === null ? "" : `  ${printable(error)}`;
  return `port ${port}/${protocol} of ${printable(name) || device}: ${state}${at}${why}`;
}

function speedOf({ running }: SpeedUpdate): string {
  if (running === null) return "the speed test has ended";
  const rate = running.mbit_per_second === null ? "" : `: ${running.mbit_per_second} Mbit/s`;
  return `a speed test of the ${printable(tunnelTitle(running.tunnel))}${rate}`;
}

function alertOf({ code, message }: SecurityAlert): string {
  return `${styled("yellow", code)}: ${printable(message)}`;
}

/** The last changes of other tunnels and of devices, and the last alerts, below the status. */
const RECENT_LINES = 5;

/** The last lines of the terminal, redrawn in place. */
class Screen {
  private rows = 0;
  private status: Status | null = null;
  private recent: string[] = [];

  constructor(private readonly clock: Clock) {}

  show(event: Shown): void {
    if (event.type === "status_change") this.status = event.payload;
    else if (!isRepeated(event))
      this.recent = [...this.recent, stamped(event, this.clock)].slice(-RECENT_LINES);
    if (this.status === null) return;
    const status = textOf(this.status, this.clock.now());
    const lines = [status, ...this.recent].join("").trimEnd().split("\n");
    const width = process.stdout.columns || 80;
    // A line that wraps would take two rows.
    const shown = lines.map((line) => Bun.sliceAnsi(line, 0, width)).join("\n");
    print(`${this.rows > 0 ? `\x1b[${this.rows}A` : ""}\x1b[0J${shown}\n`);
    this.rows = lines.length;
  }
}

function print(text: string): void {
  process.stdout.write(text);
}
