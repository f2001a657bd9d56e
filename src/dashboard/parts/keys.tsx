import type { TunnelRow } from "../../tunnel/schema.ts";
import { say } from "../language.ts";
import { Icon } from "./icon.tsx";

/** Whether a tunnel's keys are safe from quantum computers, if that was asked for. */
export function Keys({ row: { quantum } }: { row: TunnelRow }) {
  if (quantum === undefined) return null;
  return (
    <p class={`tunnel-state tone-${quantum ? "protected" : "partly"}`}>
      <Icon name={quantum ? "lock" : "warning"} />
      <span>
        {quantum
          ? say("Its keys are quantum-resistant.")
          : say("Its keys are not quantum-resistant: the server did not agree on any that are.")}
      </span>
    </p>
  );
}
