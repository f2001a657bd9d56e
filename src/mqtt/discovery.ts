import { version } from "../../package.json";
import type { Entity, Rows } from "../base/fact.ts";
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

/** An entity of Home Assistant; `absent` removes it. */
export type Component = Entity | { platform: Entity["platform"]; absent: true };

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

/** The entities of facts, by their names in topics. */
export function componentsOf(facts: Rows): Record<string, Entity> {
  const rows = Object.entries(facts);
  return Object.fromEntries(
    rows.flatMap(([fact, { entity }]) => (entity ? [[entity.key ?? fact, entity]] : [])),
  );
}

/** What the topic `state` has of facts. Home Assistant shows that there is none if it gets null, not an empty text. */
export function stateOf(facts: Rows, answer: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shown = Object.entries(facts).filter(([, { entity, isAttribute }]) =>
    entity === undefined ? isAttribute : entity.from === undefined,
  );
  const shownOf = (value: unknown) => (value === "" ? null : (value ?? null));
  return Object.fromEntries(shown.map(([fact, { entity }]) => [entity?.key ?? fact, shownOf(answer[fact])]));
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

function optionsOf(component: Entity, id: string, thing: Key) {
  const { key: _, from = "state", command, attributes, ...options } = component;
  const topic = stateTopic(id, thing, from);
  return {
    ...options,
    state_topic: topic,
    ...(command !== undefined && { command_topic: commandTopic(id, thing, command) }),
    ...(attributes && { json_attributes_topic: topic }),
  };
}
