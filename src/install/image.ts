import { join } from "node:path";
import { CLAIM_FILE, CLAIM_FILE_MODE } from "../access/claim.ts";
import { NO_NETWORK } from "../network/host-network.ts";
import { PACKAGED } from "../system/layout.ts";
import type { GivenSettings } from "./environment.ts";
import type { Machine } from "./machine.ts";
import { PATHS } from "./paths.ts";
import { installPlan } from "./plan.ts";
import { uplinkStep } from "./port-files.ts";
import type { Plan } from "./step.ts";

/** With `net.ifnames=0`, the first card of every machine. */
const CABLE = "eth0";

/**
 * A machine that was never on: its service finds out whether there is a second cable, and which addresses the home router
 * gives it. Until then there is no LAN, and only DHCP and neighbour discovery pass the kill switch.
 */
const NEVER_ON: Machine = {
  architecture: null,
  interfaces: [CABLE],
  network: { ...NO_NETWORK, uplink: CABLE },
  wireguard: "kernel",
  systemd: true,
  withoutModules: null,
  forgetful: [],
  foreignRules: [],
  droppingChains: [],
  sshClient: null,
  sysctls: [],
  facts: { addresses: [], routers: [] },
  dhcp: { config: null, unit: null, started: null },
  sysctlsBefore: null,
  environment: null,
  byHand: { units: [], programs: [] },
};

/** Nobody types a port, and nothing else listens there. There is no other way to the gateway than the page, so it asks who comes. */
const SETTINGS: GivenSettings = { port: "80", https: "443", auth: "on", lan: CABLE, uplink: CABLE };

/** The files that make a flashed image a gateway from its first start on, and let its first browser claim it. */
export function imagePlan(version: string): Plan {
  const plan = installPlan({
    ...{ machine: NEVER_ON, given: SETTINGS, layout: PACKAGED, program: PACKAGED.program },
    ...{ version, packages: [] },
  });
  const claim = join(PATHS.state, CLAIM_FILE);
  return [
    // What runs needs the machine. `portcullis*.service` are enabled with systemctl --root.
    ...plan.filter((step) => step.do === "write"),
    { do: "write", path: claim, mode: CLAIM_FILE_MODE, text: "open\n" },
    uplinkStep(CABLE),
  ];
}
