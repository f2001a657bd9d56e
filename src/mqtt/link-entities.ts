import type { HomeLink } from "../remote/schema.ts";
import type { HaDevice } from "./discovery.ts";
import { linkKey } from "./topics.ts";

/** Another home: whether it is heard. */
export function linkThing({ name, state, error, prefixes }: HomeLink): HaDevice {
  return {
    key: linkKey(name),
    name,
    model: "another home",
    components: {
      connected: {
        platform: "binary_sensor",
        name: "Connected",
        device_class: "connectivity",
        value_template: "{{ 'ON' if value_json.state == 'up' else 'OFF' }}",
        attributes: true,
      },
    },
    states: { state: { state, error, prefixes } },
  };
}
