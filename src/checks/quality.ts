import { capital, tunnelTitle } from "../shared/words.ts";
import { qualityWords, verdictOn, type Ways } from "../tunnel/quality-verdict.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** How good the ways to the internet are, and where it is that they are not; null while nothing was measured. */
export function qualityFinding(ways: Ways): Finding | null {
  const { tunnels, uplink } = ways;
  if (tunnels.length === 0 && uplink === null) return null;
  const all = [
    ...tunnels.map(({ name, quality }) => `the ${tunnelTitle(name)} is ${qualityWords(quality)}`),
    ...(uplink === null ? [] : [`the uplink to the home router is ${qualityWords(uplink)}`]),
  ].join("; ");
  const poor = tunnels.find(({ quality }) => quality.state !== "good");
  if (poor !== undefined)
    return warning(all, `${capital(tunnelTitle(poor.name))}: ${verdictOn(poor.name, ways)}`);
  if (uplink !== null && uplink.state !== "good") return warning(all, verdictOn("", ways));
  return ok(`${all}. If a device is slow all the same, it is its own way to the gateway: its Wi-Fi or cable`);
}
