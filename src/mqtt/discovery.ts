import { version } from "../../package.json";
import {
  availabilityTopic,
  commandTopic,
  discoveryTopic,
  GATEWAY,
  type Key,
  type StateName,
  stateTopic,
  uniqueId,
} from "./topics.ts";

type Platform = "binary_sensor" | "select" | "sensor" | "switch";

/** An entity of Home Assistant, with the options of its platform; `absent` removes it. */
export type Component = { platform: Platform } & (
  | { absent: true }
  | {
      /** Null for the name of the thing itself. */
      name: string | null;
      /** Home Assistant's template for the value in the thing's JSON. */
      value_template: string;
      /** The topic that it reads, unless it is `state`. */
      from?: StateName;
      /** The second to last level of the command topic. */
      command?: string;
      /** Whether the rest of the JSON is shown as attributes. */
      attributes?: true;
      device_class?: string;
      state_class?: "measurement" | "total_increasing";
      unit_of_measurement?: string;
      entity_category?: "diagnostic";
      icon?: string;
      options?: readonly string[];
    }
);

/** What Home Assistant shows as one device. */
export interface Thing {
  key: Key;
  name: string;
  model: string;
  components: Readonly<Record<string, Component>>;
  states: Readonly<Partial<Record<StateName, unknown>>>;
}

export interface Site {
  /** The gateway's name in topics. */
  id: string;
  /** The address of the dashboard. */
  page: string;
}

/** The retained messages about a thing: its discovery (Home Assistant, "Device discovery payload") and its states. */
export function messagesOf(thing: Thing, site: Site): [topic: string, payload: string][] {
  const { id } = site;
  const states = Object.entries(thing.states) as [StateName, unknown][];
  return [
    [discoveryTopic(id, thing.key), JSON.stringify(discoveryOf(thing, site))],
    ...states.map(([name, state]): [string, string] => [
      stateTopic(id, thing.key, name),
      JSON.stringify(state),
    ]),
  ];
}

function discoveryOf({ key, name, model, components }: Thing, { id, page }: Site) {
  const own = uniqueId(id, key);
  const entities = Object.entries(components).map(([part, component]) => [
    part,
    "absent" in component
      ? { platform: component.platform }
      : { unique_id: `${own}_${part}`, ...optionsOf(component, id, key) },
  ]);
  return {
    device: {
      identifiers: [own],
      name,
      manufacturer: "Portcullis",
      model,
      configuration_url: page,
      ...(key !== GATEWAY && { via_device: uniqueId(id, GATEWAY) }),
    },
    origin: { name: "Portcullis", sw_version: version },
    availability_topic: availabilityTopic(id),
    components: Object.fromEntries(entities),
  };
}

function optionsOf(component: Exclude<Component, { absent: true }>, id: string, key: Key) {
  const { from = "state", command, attributes, ...options } = component;
  const topic = stateTopic(id, key, from);
  return {
    ...options,
    state_topic: topic,
    ...(command !== undefined && { command_topic: commandTopic(id, key, command) }),
    ...(attributes && { json_attributes_topic: topic }),
  };
}
