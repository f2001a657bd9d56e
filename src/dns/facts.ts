import { Type } from "typebox";
import type { Rows, Shown } from "../base/fact.ts";

/** What was asked since the start, of the whole gateway or of a device; nothing while the gateway answers no queries. */
export const DNS_FACTS: Rows = {
  asked: counted("asked", "DNS queries"),
  blocked: counted("blocked", "Blocked DNS queries"),
};

function counted(fact: string, name: string): Shown {
  const figure = { from: "dns", name, state_class: "total_increasing" } as const;
  const look = { entity_category: "diagnostic", icon: "mdi:dns" } as const;
  return {
    schema: Type.Integer({ description: `${name} since the start` }),
    entity: { key: `dns_${fact}`, ...figure, value_template: `{{ value_json.${fact} }}`, ...look },
  };
}

/** Of a list of blocked names. */
export const LIST_FACTS = {
  on: { schema: Type.Boolean({ description: "whether it is used" }), isAttribute: true },
  names: {
    schema: Type.Integer({ description: "how many names it blocks now" }),
    entity: { name: "Blocked names", state_class: "measurement", icon: "mdi:playlist-remove" },
  },
} satisfies Rows;
