import type { Inspection, Part } from "../killswitch/report.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** Other facts that the advice depends on. */
interface Service {
  /** Whether the operator wants the kill switch. */
  wanted: boolean;
  /** Whether a service runs. It repairs the kill switch. */
  runs: boolean;
}

/** The subject of a check: the parts with these names. */
const PARTS = {
  firewall: /^(firewall |chain )/,
  routing: /^(routing rules|ICMP redirects)/,
  ahead: /^rules ahead$/,
  change: /^last change$/,
  forwarding: /^forwarding$/,
};
type Subject = keyof typeof PARTS;

export function layerFinding(
  layer: "firewall" | "routing",
  inspection: Inspection,
  { wanted, runs }: Service,
): Finding {
  if (!wanted) return fault("killswitch_off", {});
  const broken = brokenIn(layer, inspection);
  if (broken === undefined) return ok(`${layer}_holds`, {});
  return fault(runs ? "layer_broken" : "layer_unrepaired", { reason: `${broken.name}: ${broken.found}` });
}

/** A rule of another program that is looked up before the gateway's. */
export function otherRulesFinding(inspection: Inspection): Finding {
  const broken = brokenIn("ahead", inspection);
  if (broken === undefined) return ok("rules_first", {});
  return fault("rules_behind", { reason: broken.found, remedy: broken.remedy ?? "" });
}

/** The hole that the operator has declared. */
export function directFinding({ direct, destinations }: Inspection): Finding {
  if (direct > 0)
    return warning("direct_devices", { devices: direct, destinations: destinations ? "yes" : "no" });
  return destinations ? warning("direct_targets", {}) : ok("direct_none", {});
}

export function lastChangeFinding(inspection: Inspection): Finding {
  const broken = brokenIn("change", inspection);
  return broken === undefined ? ok("change_taken", {}) : fault("change_failed", { reason: broken.found });
}

export function forwardingFinding(inspection: Inspection): Finding {
  const broken = brokenIn("forwarding", inspection);
  return broken === undefined ? ok("forwarding_on", {}) : fault("forwarding_off", {});
}

function brokenIn(subject: Subject, { parts }: Inspection): Part | undefined {
  return parts.find(({ name, holds }) => PARTS[subject].test(name) && !holds);
}
