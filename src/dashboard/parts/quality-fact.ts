import type { TunnelRow } from "../../tunnel/schema.ts";
import { numberOf } from "../format.ts";
import { say } from "../language.ts";
import type { Fact } from "./facts.tsx";

/** How good a tunnel is; nothing while that is not measured. */
export function qualityFact({ quality }: Pick<TunnelRow, "quality">): Fact[] {
  if (quality === undefined) return [];
  const { state, round_trip_ms, loss_percent } = quality;
  if (round_trip_ms === null) return [[say("Quality"), say("no answer")]];
  const figures = { state, ms: numberOf(round_trip_ms), percent: numberOf(loss_percent) };
  return [
    [
      say("Quality"),
      say(
        "{state, select, slow {slow: {ms} ms, {percent} % lost} lossy {lossy: {ms} ms, {percent} % lost} other {{ms} ms, {percent} % lost}}",
        figures,
      ),
    ],
  ];
}
