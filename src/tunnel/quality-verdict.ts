import { tunnelTitle } from "../shared/words.ts";
import type { Measured } from "./quality.ts";
import type { Quality } from "./quality-facts.ts";

/** A tunnel that is measured. */
export interface MeasuredTunnel extends Measured {
  name: string;
}

/** What is measured, beside each other. */
export interface MeasuredPaths {
  tunnels: readonly MeasuredTunnel[];
  /** Null if it is not measured. */
  uplink: Measured | null;
}

/** `slow (312 ms, 3 % lost)`. */
export function qualityWords({ state, round_trip_ms, loss_percent }: Quality): string {
  const takes = round_trip_ms === null ? "" : `${round_trip_ms} ms, `;
  return `${state} (${takes}${loss_percent} % lost)`;
}

/** Whether a way is known to be good. */
function isGood({ isJudged, quality }: Measured): boolean {
  return isJudged && quality.state === "good";
}

/** Whether a way is known to be slow or lossy. */
export function isPoor({ isJudged, quality }: Measured): boolean {
  return isJudged && quality.state !== "good";
}

/** Why a tunnel is slow or lossy, as sentences: what lies between two good ends is not the reason. */
export function verdictOn(name: string, { tunnels, uplink }: MeasuredPaths): string {
  if (uplink !== null && isPoor(uplink))
    return `The uplink to the home router is ${qualityWords(uplink.quality)} itself: look at its cable or Wi-Fi, and at the router.`;
  const others = tunnels.filter((each) => each.name !== name);
  const good = others.find(isGood);
  const near = nearWords(uplink);
  if (good !== undefined)
    return `${near}The ${tunnelTitle(good.name)} is good by the same line, so it is the server or its provider: try another server.`;
  if (others.length > 0 && others.every(isPoor))
    return `${near}No tunnel is good, so it is the line to the internet: look at what uses it, or ask its provider.`;
  const unknown = others.length > 0 ? "Whether another tunnel is good is not known yet. " : "";
  return `${near}${unknown}It is the line to the internet, the server or its provider: try another server; if that is no better, it is the line.`;
}

/** For an uplink that is not poor; empty for one that is not measured. */
function nearWords(uplink: Measured | null): string {
  if (uplink === null) return "";
  return uplink.isJudged
    ? "The uplink to the home router is good. "
    : "Whether the uplink to the home router is good is not known yet. ";
}
