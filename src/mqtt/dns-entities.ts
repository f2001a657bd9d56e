import type { Component } from "./discovery.ts";

/** What was asked and blocked, of the whole gateway or of a device; absent while the gateway answers no queries. */
export function dnsComponents(isAnswering: boolean): Record<string, Component> {
  return {
    dns_asked: isAnswering ? sensor("DNS queries", "asked") : { platform: "sensor", absent: true },
    dns_blocked: isAnswering
      ? sensor("Blocked DNS queries", "blocked")
      : { platform: "sensor", absent: true },
  };
}

function sensor(name: string, field: string): Component {
  return {
    platform: "sensor",
    from: "dns",
    name,
    state_class: "total_increasing",
    value_template: `{{ value_json.${field} }}`,
    entity_category: "diagnostic",
    icon: "mdi:dns",
  };
}
