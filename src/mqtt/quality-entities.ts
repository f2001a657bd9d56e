import { Quality } from "../tunnel/schema.ts";
import type { Component } from "./discovery.ts";
import type { StateName } from "./topics.ts";

const QUALITIES = Quality.properties.state.anyOf.map((each) => each.const);

/** The sensors of a way's quality; `of` is the way in their names, and `from` the topic that has it as `quality`. */
export function qualityComponents(of: string, from: StateName): Record<string, Component> {
  const sensor = (name: string, field: string) =>
    ({
      platform: "sensor",
      from,
      name: of === "" ? name : `${of} ${name.toLowerCase()}`,
      value_template: `{{ value_json.quality.${field} }}`,
    }) as const;
  const figure = { state_class: "measurement", entity_category: "diagnostic" } as const;
  const time = { ...figure, device_class: "duration", unit_of_measurement: "ms" } as const;
  return {
    quality: { ...sensor("Quality", "state"), device_class: "enum", options: QUALITIES },
    round_trip: { ...sensor("Round trip", "round_trip_ms"), ...time },
    variation: { ...sensor("Variation of the round trip", "variation_ms"), ...time },
    loss: {
      ...sensor("Loss", "loss_percent"),
      ...figure,
      unit_of_measurement: "%",
      icon: "mdi:package-variant-remove",
    },
  };
}

/** Null in each field while nothing was measured: Home Assistant then shows that there is none. */
export function qualityOf(quality: Quality | undefined): Record<keyof Quality, unknown> {
  return quality ?? { state: null, round_trip_ms: null, variation_ms: null, loss_percent: null };
}
