import { tunnelTitle } from "../shared/words.ts";
import type { Quality } from "./schema.ts";

/** A tunnel that is measured. */
export interface Way {
  name: string;
  quality: Quality;
}

/** What is measured, beside each other. */
export interface Ways {
  tunnels: readonly Way[];
  /** Null if it is not measured. */
  uplink: Quality | null;
}

/** `slow (312 ms, 3 % lost)`. */
export function qualityWords({ state, round_trip_ms, loss_percent }: Quality): string {
  const takes = round_trip_ms === null ? "" : `${round_trip_ms} ms, `;
  return `${state} (${takes}${loss_percent} % lost)`;
}

/** Where the reason is that a tunnel is slow or lossy, as sentences: what is between two good ends is not it. */
export function verdictOn(name: string, { tunnels, uplink }: Ways): string {
  if (uplink !== null && uplink.state !== "good")
    return `The uplink to the home router is ${qualityWords(uplink)} itself: look at its cable or Wi-Fi, and at the router.`;
  const others = tunnels.filter((each) => each.name !== name);
  const good = others.find(({ quality }) => quality.state === "good");
  const near = uplink === null ? "" : "The uplink to the home router is good. ";
  if (good !== undefined)
    return `${near}The ${tunnelTitle(good.name)} is good by the same line, so it is the server or its provider: try another server.`;
  return others.length > 0
    ? `${near}No tunnel is good, so it is the line to the internet: look at what uses it, or ask its provider.`
    : `${near}It is the line to the internet, the server or its provider: try another server; if that is no better, it is the line.`;
}
