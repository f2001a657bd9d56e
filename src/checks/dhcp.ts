import { messageOf } from "../base/errors.ts";
import type { Settings } from "../base/settings.ts";
import { rangesIn } from "../dhcp/config.ts";
import { DHCP_FILES } from "../dhcp/files.ts";
import { fittingConfig } from "../dhcp/fit.ts";
import { lanFactsOf } from "../dhcp/lans.ts";
import { dhcpState } from "../dhcp/unit.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** The LAN's DHCP server; null if it is not this machine. */
export async function dhcpFinding(
  host: Pick<Host, "run" | "read">,
  settings: Settings,
  network: () => Promise<HostNetwork>,
): Promise<Finding | null> {
  if (settings.dhcp === null) return null;
  const installed = await host.read(DHCP_FILES.config);
  if (installed === null) return fault("dhcp_missing", { command: setupCommand() });
  const place = { network: await network(), facts: await lanFactsOf(host) };
  try {
    if (fittingConfig(installed, place, settings, DHCP_FILES) !== installed)
      return warning("dhcp_outdated", {});
  } catch (error) {
    return fault("dhcp_unfit", { reason: messageOf(error), command: setupCommand("--dhcp") });
  }
  const state = await dhcpState(host);
  switch (state.name) {
    case "serving":
      return ok("dhcp", { ranges: servedIn(installed) });
    case "waiting":
      return state.reason === null
        ? warning("dhcp_starting", {})
        : warning("dhcp_waiting", { reason: state.reason });
    case "stopped":
      return fault("dhcp_stopped", {});
  }
}

/** The addresses that a configuration gives out. */
function servedIn(config: string): string {
  return rangesIn(config)
    .map(({ from, to, ...on }) => `${on.interface} (${from}-${to})`)
    .join("; ");
}
