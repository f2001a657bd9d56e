import { type Static, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { type Rows, schemaOf } from "../base/fact.ts";
import { objectOf } from "../base/object.ts";

const State = enumOf(["good", "slow", "lossy"]);
const Milliseconds = Type.Union([Type.Number({ minimum: 0 }), Type.Null()]);

/** Figures stand in the topic of their way. */
const template = (field: string) => ({ value_template: `{{ value_json.quality.${field} }}` });
const FIGURE = { state_class: "measurement", entity_category: "diagnostic" } as const;
const TIME = { ...FIGURE, device_class: "duration", unit_of_measurement: "ms" } as const;
const inSeconds = (ms: unknown) => (typeof ms === "number" ? ms / 1_000 : null);

/** How good a way is: a tunnel, or the uplink. Its name comes before those of metrics and entities. */
export const QUALITY_FACTS = {
  state: {
    schema: State,
    description: "`slow` if round trips take too long, `lossy` if too much is lost",
    entity: {
      ...{ key: "quality", name: "Quality", ...template("state"), device_class: "enum" },
      options: State.anyOf.map((each) => each.const),
    },
  },
  round_trip_ms: {
    schema: Milliseconds,
    description: "the median; null if no answer came",
    metric: { name: "round_trip_seconds", help: "Median round trip", value: inSeconds },
    entity: { key: "round_trip", name: "Round trip", ...template("round_trip_ms"), ...TIME },
  },
  variation_ms: {
    schema: Milliseconds,
    description: "the mean difference between successive round trips",
    metric: {
      ...{ name: "round_trip_variation_seconds", help: "Average difference between round trips" },
      value: inSeconds,
    },
    entity: { key: "variation", name: "Variation of the round trip", ...template("variation_ms"), ...TIME },
  },
  loss_percent: {
    schema: Type.Number({ minimum: 0, maximum: 100 }),
    description: "queries without an answer",
    metric: { name: "loss_ratio", help: "Lost part", value: (loss: unknown) => Number(loss) / 100 },
    entity: {
      ...{ key: "loss", name: "Loss", ...template("loss_percent"), ...FIGURE },
      ...{ unit_of_measurement: "%", icon: "mdi:package-variant-remove" },
    },
  },
} satisfies Rows;

export const Quality = objectOf(schemaOf(QUALITY_FACTS).properties, {
  description: "of the last 30 queries to the tunnel's own resolver; missing if nothing was measured",
});
export type Quality = Static<typeof Quality>;
