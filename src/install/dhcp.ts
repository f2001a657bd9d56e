import { join } from "node:path";
import type { Settings } from "../base/settings.ts";
import { dnsmasqConfig } from "../dhcp/config.ts";
import { DHCP_FILES, DHCP_UNIT } from "../dhcp/files.ts";
import { servedLans } from "../dhcp/lans.ts";
import { BY_HAND, type Layout, PACKAGED } from "../system/layout.ts";
import type { Machine } from "./machine.ts";
import { PATHS } from "./paths.ts";
import type { Step } from "./step.ts";
import { dhcpUnit } from "./units.ts";

const UNIT_BY_HAND = join(BY_HAND.units, DHCP_UNIT);

interface DhcpPlan {
  files: Step[];
  /** The units to enable. */
  units: string[];
  /** The steps after everything else. */
  start: Step[];
}

/** The DHCP server, or its removal if the settings no longer ask for one. */
export function dhcpPlan(
  { network, facts, dhcp: present }: Machine,
  settings: Settings,
  layout: Layout,
): DhcpPlan {
  const lans = servedLans(network, facts, settings);
  // The package's own unit is always there.
  const isUnit = present.unit !== null && present.unit !== dhcpUnit(PACKAGED.program);
  const isPresent = isUnit || present.config !== null;
  if (lans.length === 0) return { files: isPresent ? removal(layout) : [], units: [], start: [] };
  const config = dnsmasqConfig(lans, DHCP_FILES);
  const unit = dhcpUnit(layout.program);
  const { started } = present;
  const isServing =
    present.config === config && started !== null && unit.includes(`Environment=${started}\n`);
  return {
    files: layout === BY_HAND ? [{ do: "write", path: UNIT_BY_HAND, mode: 0o644, text: unit }] : [],
    units: [DHCP_UNIT],
    // An upgrade interrupts it only for a change. By now dpkg has replaced the unit, so the process shows which unit it
    // was started with. If an earlier step fails, the next installation must still see the change.
    start: [
      { do: "write", path: PATHS.dhcpConfig, mode: 0o644, text: config },
      { do: "run", argv: ["dnsmasq", "--test", `--conf-file=${PATHS.dhcpConfig}`] },
      // The server may wait for a cable, or until another server ends.
      { do: "run", argv: ["systemctl", "--no-block", isServing ? "start" : "restart", DHCP_UNIT] },
    ],
  };
}

function removal(layout: Layout): Step[] {
  return [
    { do: "run", argv: ["systemctl", "disable", "--now", DHCP_UNIT], mayFail: true },
    ...(layout === BY_HAND ? [{ do: "remove", path: UNIT_BY_HAND } as const] : []),
    { do: "remove", path: PATHS.dhcpConfig },
  ];
}
