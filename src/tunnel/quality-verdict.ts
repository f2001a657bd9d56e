import { type ArgsOf, english } from "../base/message.ts";
import type { Measured } from "./quality.ts";

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

/** Where the reason is that a way is slow or lossy: what is between two good ends is not it. */
export const CAUSE =
  "{cause, select, uplink {The uplink to the home router {near, select, slow {is slow} other {is lossy}} itself: look at its cable or Wi-Fi, and at the router.} other {{near, select, good {The uplink to the home router is good. } unknown {Whether the uplink to the home router is good is not known yet. } other {}}{cause, select, server {The {good, select, main {main tunnel} other {tunnel {good}}} is good by the same line, so it is the server or its provider: try another server.} line {No tunnel is good, so it is the line to the internet: look at what uses it, or ask its provider.} other {{cause, select, unknown {Whether another tunnel is good is not known yet. } other {}}It is the line to the internet, the server or its provider: try another server; if that is no better, it is the line.}}}}";

/** Why a tunnel, or with an empty name the uplink, is slow or lossy. */
export function causeOf(name: string, { tunnels, uplink }: MeasuredPaths): ArgsOf<typeof CAUSE> {
  const near = uplink === null ? "unmeasured" : uplink.isJudged ? uplink.quality.state : "unknown";
  if (uplink !== null && isPoor(uplink)) return { cause: "uplink", near, good: "" };
  const others = tunnels.filter((each) => each.name !== name);
  const good = others.find(isGood);
  if (good !== undefined) return { cause: "server", near, good: good.name };
  const unknown = others.length > 0 ? "unknown" : "alone";
  return { cause: others.length > 0 && others.every(isPoor) ? "line" : unknown, near, good: "" };
}

/** The same in English. */
export function causeText(name: string, paths: MeasuredPaths): string {
  return english(CAUSE, causeOf(name, paths));
}

/** Whether a way is known to be good. */
function isGood({ isJudged, quality }: Measured): boolean {
  return isJudged && quality.state === "good";
}

/** Whether a way is known to be slow or lossy. */
export function isPoor({ isJudged, quality }: Measured): boolean {
  return isJudged && quality.state !== "good";
}
