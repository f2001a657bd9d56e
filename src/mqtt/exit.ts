import type { Component } from "./discovery.ts";

const VALUE = { value_template: "{{ value_json.exit }}", icon: "mdi:exit-run" } as const;

/** An exit, as a choice of the options, or as a sensor if commands are not allowed. */
export function exitComponents(name: string, options: readonly string[] | null): Record<string, Component> {
  return options === null
    ? { exit: { platform: "sensor", name, ...VALUE }, exit_choice: { platform: "select", absent: true } }
    : {
        exit: { platform: "sensor", absent: true },
        exit_choice: { platform: "select", name, command: "exit", options, ...VALUE },
      };
}
