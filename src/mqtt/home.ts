import type { SecurityAlert } from "../base/alert.ts";
import type { Device } from "../devices/schema.ts";
import type { Gateway } from "../http/gateway.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { destinationsOf } from "./destinations.ts";
import { deviceThing, knownDevices } from "./device-entities.ts";
import type { Thing } from "./discovery.ts";
import { gatewayThing, type Whole } from "./gateway-entities.ts";
import type { Rates } from "./rates.ts";
import { tunnelThing } from "./tunnel-entities.ts";

/** The readings of the HTTP interface. */
export type Read = Pick<
  Gateway,
  "status" | "health" | "tunnels" | "devices" | "servers" | "favourites" | "journal"
>;

interface Home extends Whole {
  tunnels: readonly TunnelRow[];
  known: readonly Device[];
}

export async function readHome(gateway: Read, alert: SecurityAlert | null): Promise<Home> {
  const [status, problem, tunnels, devices] = await Promise.all([
    gateway.status(),
    gateway.health(),
    gateway.tunnels(),
    gateway.devices(),
  ]);
  return { status, problem, alert, tunnels, devices, known: knownDevices(devices.devices) };
}

/** All that Home Assistant shows. */
export function thingsOf(home: Home, gateway: Read, rates: Rates, commands: boolean): Thing[] {
  const { tunnels, devices, known } = home;
  const destinations = (row: TunnelRow) => (commands ? destinationsFor(row, gateway) : null);
  return [
    gatewayThing(home, commands),
    ...tunnels.map((row) =>
      row.name === MAIN
        ? tunnelThing(row, rates.of(row.name), destinations(row))
        : tunnelThing(row, rates.of(row.name)),
    ),
    ...known.map((device) => deviceThing(device, commands ? devices.exits : null)),
  ];
}

function destinationsFor({ provider, wanted }: TunnelRow, gateway: Read): string[] {
  const current = gateway.servers();
  return destinationsOf({
    ...current,
    favourites: gateway.favourites().favourites,
    wanted: provider === current.provider ? wanted : null,
  });
}

/** Enough to find one, if there was one lately. */
const MAX_EVENTS = 1_000;

/** The latest alert before this start. */
export function lastAlert(gateway: Read): SecurityAlert | null {
  const { events } = gateway.journal({ after: 0, before: Number.MAX_SAFE_INTEGER, most: MAX_EVENTS });
  const found = events.findLast((event) => event.type === "security_alert");
  return found === undefined ? null : { code: found.code, message: found.message, at: found.at };
}
