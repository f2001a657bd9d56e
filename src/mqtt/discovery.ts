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

/** An entity of Home Assistant, with the options of its platform; `absent` removes it. */
export type Component = { platform: Platform; absent: true } | Present;
type Platform = "binary_sensor" | "select" | "sensor" | "switch";
type Present = Omit<Entity, "key" | "name" | "from"> & {
  platform: Platform;
  /** Null for the name of the thing itself. */
  name: string | null;
  /** Home Assistant's template for the value in the thing's JSON. */
  value_template: string;
  from?: StateName;
  /** The second to last level of the command topic. */
  command?: string;
};

/** What Home Assistant shows as one device. */
export interface HaDevice {
  key: Key;
  name: string;
  model: string;
  components: Readonly<Record<string, Component>>;
  states: Readonly<Partial<Record<StateName, unknown>>>;
}

export interface HaNode {
  /** The gateway's name in topics. */
  id: string;
  /** The address of the dashboard. */
  page: string;
}

type Answer = Readonly<Record<string, unknown>>;

/** The entities of facts, by their names in topics; `of` comes first in their names for people. */
export function componentsOf(facts: Rows, of = ""): Record<string, Present> {
  const rows = Object.entries(facts).flatMap(([fact, { schema, entity }]) =>
    entity ? [{ fact, schema, entity }] : [],
  );
  return Object.fromEntries(
    rows.map(({ fact, schema, entity }) => {
      const { key = fact, icon, ...options } = entity;
      const name = of === "" ? entity.name : `${of} ${entity.name.toLowerCase()}`;
      const isBinary = "type" in schema && schema.type === "boolean";
      const field = `value_json.${options.from === undefined ? key : fact}`;
      const value = isBinary ? `{{ 'ON' if ${field} else 'OFF' }}` : `{{ ${field} }}`;
      const shown = {
        ...options,
        name,
        value_template: options.value_template ?? value,
        ...(icon && { icon }),
      };
      return [key, { platform: isBinary ? "binary_sensor" : "sensor", ...shown }];
    }),
  );
}

/** The same of facts that come and go: the entities of those that the answer lacks are removed. */
export function componentsIn(facts: Rows, answer: Answer, of = ""): Record<string, Component> {
  const all = Object.entries(facts).flatMap(([fact, row]) =>
    Object.entries(componentsOf({ [fact]: row }, of)).map(([key, { platform, ...options }]) => [
      key,
      answer[fact] === undefined ? { platform, absent: true } : { platform, ...options },
    ]),
  );
  return Object.fromEntries(all);
}

/** Those of the facts that the answer has. */
export function presentIn(facts: Rows, answer: Answer): Rows {
  return Object.fromEntries(Object.entries(facts).filter(([fact]) => answer[fact] !== undefined));
}

/** What a topic has of facts. Home Assistant shows that there is none if it gets null, not an empty text. */
export function stateOf(
  facts: Rows,
  answer: Answer,
  topic: NonNullable<Entity["from"]> | "state" = "state",
): Record<string, unknown> {
  const shown = Object.entries(facts).filter(([, { entity, isAttribute }]) =>
    entity === undefined
      ? (isAttribute === true ? "state" : isAttribute) === topic
      : (entity.from ?? "state") === topic,
  );
  const keyOf = (fact: string, entity?: Entity) => (topic === "state" && entity?.key) || fact;
  const shownOf = (value: unknown) => (value === "" ? null : (value ?? null));
  return Object.fromEntries(shown.map(([fact, { entity }]) => [keyOf(fact, entity), shownOf(answer[fact])]));
}

/** The retained messages about a thing: its discovery (Home Assistant, "Device discovery payload") and its states. */
export function messagesOf(thing: HaDevice, site: HaNode): [topic: string, payload: string][] {
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

function discoveryOf({ key, name, model, components }: HaDevice, { id, page }: HaNode) {
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

function optionsOf(component: Present, id: string, key: Key) {
  const { from = "state", command, attributes, ...options } = component;
  const topic = stateTopic(id, key, from);
  return {
    ...options,
    state_topic: topic,
    ...(command !== undefined && { command_topic: commandTopic(id, key, command) }),
    ...(attributes && { json_attributes_topic: topic }),
  };
}
