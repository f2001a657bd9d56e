import type { Measured } from "../tunnel/quality.ts";
import { causeOf, isPoor, type MeasuredPaths } from "../tunnel/quality-verdict.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** How good the ways to the internet are, and where it is that they are not; null while nothing was measured. */
export function qualityFinding(paths: MeasuredPaths): Finding | null {
  const { tunnels, uplink } = paths;
  if (tunnels.length === 0 && uplink === null) return null;
  const figures = figuresOf(paths);
  const poor =
    tunnels.find(isPoor) ?? (uplink !== null && isPoor(uplink) ? { ...uplink, name: "" } : undefined);
  if (poor !== undefined) {
    const which = { tunnel: poor.name || "none", state: poor.quality.state };
    return warning("quality_poor", { ...figures, ...which, ...causeOf(poor.name, paths) });
  }
  const areJudged = tunnels.every(({ isJudged }) => isJudged) && uplink?.isJudged !== false;
  return ok(areJudged ? "quality_good" : "quality", figures);
}

function figuresOf({ tunnels, uplink }: MeasuredPaths): Record<"measured" | "tunnels" | "uplink", string> {
  return {
    measured: uplink === null ? "tunnels" : tunnels.length === 0 ? "uplink" : "both",
    tunnels: tunnels.map((tunnel) => `${tunnel.name} ${figuresIn(tunnel)}`).join("; "),
    uplink: uplink === null ? "" : figuresIn(uplink),
  };
}

/** `312 ms, 3 %`. A question mark stands for a way that was asked too few questions to tell. */
function figuresIn({ isJudged, quality: { round_trip_ms, loss_percent } }: Measured): string {
  if (!isJudged) return "?";
  return round_trip_ms === null ? `${loss_percent} %` : `${round_trip_ms} ms, ${loss_percent} %`;
}
