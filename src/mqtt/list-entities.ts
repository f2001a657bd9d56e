import { LIST_FACTS } from "../dns/facts.ts";
import type { DnsLists } from "../dns/schema.ts";
import { type Component, componentsOf, type HaDevice, stateOf } from "./discovery.ts";
import { listKey } from "./topics.ts";

/** A list of blocked names; it can be turned on and off if commands are allowed. */
export function listThing({ url, names, on }: DnsLists["lists"][number], commands: boolean): HaDevice {
  return {
    key: listKey(url),
    name: url.replace(/^https:\/\//, ""),
    model: "list of blocked names",
    components: { ...switchFor(commands), ...componentsOf(LIST_FACTS) },
    states: { state: stateOf(LIST_FACTS, { on, names: on ? names : 0 }) },
  };
}

function switchFor(commands: boolean): Record<string, Component> {
  const state = {
    name: null,
    value_template: "{{ 'ON' if value_json.on else 'OFF' }}",
    icon: LIST_FACTS.names.entity.icon,
  };
  return commands
    ? {
        is_on: { platform: "binary_sensor", absent: true },
        on: { platform: "switch", command: "on", ...state },
      }
    : { is_on: { platform: "binary_sensor", ...state }, on: { platform: "switch", absent: true } };
}
