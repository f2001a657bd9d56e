import { capital, tunnelTitle } from "../shared/words.ts";
import type { Measured } from "../tunnel/quality.ts";
import { isPoor, type MeasuredPaths, qualityWords, verdictOn } from "../tunnel/quality-verdict.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** How good the ways to the internet are, and where it is that they are not; null while nothing was measured. */
export function qualityFinding(ways: MeasuredPaths): Finding | null {
  const { tunnels, uplink } = ways;
  if (tunnels.length === 0 && uplink === null) return null;
  const all = [
    ...tunnels.map((way) => wayWords(`the ${tunnelTitle(way.name)}`, way)),
    ...(uplink === null ? [] : [wayWords("the uplink to the home router", uplink)]),
  ].join("; ");
  const poor = tunnels.find(isPoor);
  if (poor !== undefined)
    return warning(all, `${capital(tunnelTitle(poor.name))}: ${verdictOn(poor.name, ways)}`);
  if (uplink !== null && isPoor(uplink)) return warning(all, verdictOn("", ways));
  const areJudged = tunnels.every(({ isJudged }) => isJudged) && uplink?.isJudged !== false;
  return ok(
    areJudged
      ? `${all}. If a device is slow all the same, it is its own way to the gateway: its Wi-Fi or cable`
      : all,
  );
}

function wayWords(which: string, { quality, isJudged }: Measured): string {
  return isJudged ? `${which} is ${qualityWords(quality)}` : `${which} has had too few questions to tell`;
}
