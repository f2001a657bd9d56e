import { QUALITY_FACTS, type Quality } from "../tunnel/quality-facts.ts";
import { type Component, componentsOf } from "./discovery.ts";
import type { StateName } from "./topics.ts";

/** The sensors of a way's quality; `of` is the way in their names, and `from` the topic that has it as `quality`. */
export function qualityComponents(of: string, from: StateName): Record<string, Component> {
  const all = Object.entries(componentsOf(QUALITY_FACTS, of));
  return Object.fromEntries(all.map(([key, entity]) => [key, { ...entity, from }]));
}

/** Null in each field while nothing was measured: Home Assistant then shows that there is none. */
export function qualityOf(quality: Quality | undefined): Record<keyof Quality, unknown> {
  return quality ?? { state: null, round_trip_ms: null, variation_ms: null, loss_percent: null };
}
