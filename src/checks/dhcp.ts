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

const INSTALL = `If the LAN has changed, choose addresses of it: ${setupCommand("--dhcp")}`;

/** The LAN's DHCP server; null if it is not this machine. */
export async function dhcpFinding(
  host: Pick<Host, "run" | "read">,
  settings: Settings,
  network: () => Promise<HostNetwork>,
): Promise<Finding | null> {
  if (settings.dhcp === null) return null;
  const installed = await host.read(DHCP_FILES.config);
  if (installed === null) return fault("it is not installed", `Install it: ${setupCommand()}`);
  const place = { network: await network(), facts: await lanFactsOf(host) };
  try {
    if (fittingConfig(installed, place, settings, DHCP_FILES) !== installed)
      return warning(
        "the LAN has changed, and the server still gives out addresses of the old one",
        "It starts again by itself within half a minute. If this stays: sudo systemctl restart portcullis-dhcp",
      );
  } catch (error) {
    return fault(`it serves nobody: ${messageOf(error)}`, INSTALL);
  }
  const state = await dhcpState(host);
  switch (state.name) {
    case "serving":
      return ok(servedIn(installed));
    case "waiting":
      return warning(
        state.reason === null ? "it is starting" : `it waits: ${state.reason}`,
        "It starts by itself once that is solved. Its log: journalctl -u portcullis-dhcp",
      );
    case "stopped":
      return fault("it does not run", "Start it: sudo systemctl start portcullis-dhcp");
  }
}

/** The addresses that a configuration gives out. */
function servedIn(config: string): string {
  return rangesIn(config)
    .map(({ from, to, ...on }) => `${from} to ${to} on ${on.interface}`)
    .join("; ");
}
