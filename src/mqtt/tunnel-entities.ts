import { StateName, type TunnelRow } from "../tunnel/schema.ts";
import type { Component, Thing } from "./discovery.ts";
import { qualityComponents, qualityOf } from "./quality-entities.ts";
import type { TunnelTraffic } from "./rates.ts";
import { tunnelKey } from "./topics.ts";

const SENSOR = { platform: "sensor" } as const;
const DIAGNOSTIC = { ...SENSOR, entity_category: "diagnostic" } as const;
const RATE = {
  ...SENSOR,
  from: "traffic",
  device_class: "data_rate",
  state_class: "measurement",
  unit_of_measurement: "Mbit/s",
} as const;

const COMPONENTS: Record<string, Component> = {
  connected: {
    platform: "binary_sensor",
    name: "Connected",
    device_class: "connectivity",
    value_template: "{{ 'ON' if value_json.state == 'connected' else 'OFF' }}",
  },
  state: {
    ...SENSOR,
    name: "State",
    device_class: "enum",
    options: StateName.anyOf.map((each) => each.const),
    value_template: "{{ value_json.state }}",
    attributes: true,
  },
  unanswered: {
    platform: "binary_sensor",
    name: "Carries nothing",
    device_class: "problem",
    value_template: "{{ 'ON' if value_json.unanswered else 'OFF' }}",
  },
  server: {
    ...SENSOR,
    name: "Server",
    value_template: "{{ value_json.server }}",
    icon: "mdi:server-network",
  },
  location: {
    ...SENSOR,
    name: "Location",
    value_template: "{{ value_json.location }}",
    icon: "mdi:map-marker",
  },
  endpoint: {
    ...DIAGNOSTIC,
    name: "Endpoint",
    value_template: "{{ value_json.endpoint }}",
    icon: "mdi:ip-network",
  },
  handshake: {
    ...DIAGNOSTIC,
    from: "traffic",
    name: "Latest handshake",
    device_class: "timestamp",
    value_template: "{{ value_json.latest_handshake }}",
  },
  received: { ...RATE, name: "Receiving", value_template: "{{ value_json.received }}" },
  sent: { ...RATE, name: "Sending", value_template: "{{ value_json.sent }}" },
  ...qualityComponents("", "traffic"),
};

/** The commands of `main`: the names that it can be connected to, or null if commands are not allowed. */
function commandsFor(destinations: readonly string[] | null): Record<string, Component> {
  if (destinations === null)
    return { switch: { platform: "switch", absent: true }, connect_to: { platform: "select", absent: true } };
  return {
    switch: {
      platform: "switch",
      name: null,
      command: "connection",
      value_template: "{{ 'ON' if value_json.on else 'OFF' }}",
      icon: "mdi:vpn",
    },
    connect_to: {
      platform: "select",
      name: "Connect to",
      command: "server",
      options: destinations,
      value_template: "{{ value_json.destination }}",
      icon: "mdi:earth",
    },
  };
}

/** A tunnel; only `main` has destinations. */
export function tunnelThing(
  row: TunnelRow,
  traffic: TunnelTraffic,
  destinations?: readonly string[] | null,
): Thing {
  const commands = destinations === undefined ? {} : commandsFor(destinations);
  return {
    key: tunnelKey(row.name),
    name: `Portcullis ${row.name}`,
    model: "WireGuard tunnel",
    components: { ...COMPONENTS, ...commands },
    states: {
      state: { ...stateOf(row), ...(destinations && destinationIn(row, destinations)) },
      traffic: { ...traffic, quality: qualityOf(row.quality) },
    },
  };
}

/** Null instead of an empty text: Home Assistant then shows that there is none. */
function stateOf({
  state,
  server,
  location,
  ip,
  provider,
  via,
  wanted,
  error,
  devices,
  unanswered,
}: TunnelRow) {
  return {
    state,
    server: server || null,
    location: location || null,
    endpoint: ip || null,
    provider,
    via: via ?? null,
    wanted,
    error,
    devices,
    unanswered,
  };
}

/** One of the options, because Home Assistant treats any other value as an error. */
function destinationIn({ state, server, wanted, wanted_via }: TunnelRow, destinations: readonly string[]) {
  const direct = wanted_via === undefined ? [wanted, server] : [];
  return {
    on: state === "connecting" || state === "connected" || state === "reconnecting",
    destination: direct.find((name) => name !== null && destinations.includes(name)) ?? null,
  };
}
