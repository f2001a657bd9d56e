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
          ? say("Its keys are safe from quantum computers.")
          : say("Its keys are not safe from quantum computers: the server agreed on none that are.")}
      </span>
    </p>
  );
}
