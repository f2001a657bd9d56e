import type { DnsLists } from "../dns/schema.ts";
import type { Component, HaDevice } from "./discovery.ts";
import { listKey } from "./topics.ts";

const ICON = "mdi:playlist-remove";

/** A list of blocked names; it can be turned on and off if commands are allowed. */
export function listThing({ url, names, on }: DnsLists["lists"][number], commands: boolean): HaDevice {
  return {
    key: listKey(url),
    name: url.replace(/^https:\/\//, ""),
    model: "list of blocked names",
    components: {
      ...switchFor(commands),
      names: {
        platform: "sensor",
        name: "Blocked names",
        state_class: "measurement",
        value_template: "{{ value_json.names }}",
        icon: ICON,
      },
    },
    states: { state: { on, names: on ? names : 0 } },
  };
}

function switchFor(commands: boolean): Record<string, Component> {
  const state = { name: null, value_template: "{{ 'ON' if value_json.on else 'OFF' }}", icon: ICON };
  return commands
    ? {
        is_on: { platform: "binary_sensor", absent: true },
        on: { platform: "switch", command: "on", ...state },
      }
    : { is_on: { platform: "binary_sensor", ...state }, on: { platform: "switch", absent: true } };
}
