import { inOrder } from "../base/fact.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { TUNNEL_FACTS } from "../tunnel/tunnel-facts.ts";
import { type Component, componentsOf, type HaDevice, stateOf } from "./discovery.ts";
import { qualityComponents, qualityOf } from "./quality-entities.ts";
import type { TunnelTraffic } from "./rates.ts";
import { tunnelKey } from "./topics.ts";

const RATE = {
  platform: "sensor",
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
  ...componentsOf(inOrder(TUNNEL_FACTS, ["state", "unanswered", "server", "location"])),
  received: { ...RATE, name: "Receiving", value_template: "{{ value_json.received }}" },
  sent: { ...RATE, name: "Sending", value_template: "{{ value_json.sent }}" },
  ...qualityComponents("", "traffic"),
};

/** In the order in which its attributes have always stood. */
const SHOWN = inOrder(TUNNEL_FACTS, [
  ...(["state", "server", "location", "ip", "provider", "via", "wanted", "error", "devices"] as const),
]);

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
): HaDevice {
  const commands = destinations === undefined ? {} : commandsFor(destinations);
  return {
    key: tunnelKey(row.name),
    name: `Portcullis ${row.name}`,
    model: "WireGuard tunnel",
    components: { ...COMPONENTS, ...commands },
    states: {
      state: { ...stateOf(SHOWN, row), ...(destinations && destinationIn(row, destinations)) },
      traffic: { ...traffic, quality: qualityOf(row.quality) },
    },
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
