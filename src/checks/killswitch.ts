import type { Inspection, Part } from "../killswitch/report.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

const REPAIRED = "The service repairs it. If it happens again, another program undoes it: portcullis logs";
const START = "Start the service: sudo systemctl start portcullis";

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
  if (!wanted)
    return fault(
      "turned off on the gateway: traffic may leave outside the tunnel",
      "Turn it on: sudo portcullis killswitch on",
    );
  const broken = brokenIn(layer, inspection);
  return broken === undefined
    ? ok(WORKS[layer])
    : fault(`${broken.name}: ${broken.found}`, runs ? REPAIRED : START);
}

const WORKS = {
  firewall: "its rules are in the kernel: what they do not accept is refused",
  routing: "its rules are in the kernel: nothing but tunnels and the LAN can be reached",
};

/** A rule of another program that is looked up before the gateway's. */
export function otherRulesFinding(inspection: Inspection): Finding {
  const broken = brokenIn("ahead", inspection);
  if (broken === undefined) return ok("no other program's routing rule comes first");
  return fault(
    `${broken.found}; only the firewall blocks`,
    `Find the program that adds the rule and turn it off, then remove the rule: ${broken.remedy}`,
  );
}

/** The hole that the operator has declared. */
export function directFinding({ direct, destinations }: Inspection): Finding {
  if (direct === 0 && destinations)
    return warning(
      "traffic to some destinations leaves outside the tunnel, as allowed on the gateway",
      "See which: portcullis destinations; to end it: sudo portcullis direct off",
    );
  if (direct === 0) return ok("no device leaves outside the tunnel");
  return warning(
    `${direct === 1 ? "1 device leaves" : `${direct} devices leave`} outside the tunnel, as allowed on the gateway`,
    `See which: sudo portcullis direct${destinations ? ", portcullis destinations" : ""}; to end it: sudo portcullis direct off`,
  );
}

export function lastChangeFinding(inspection: Inspection): Finding {
  const broken = brokenIn("change", inspection);
  if (broken === undefined) return ok("the kernel took the last change");
  return fault(
    `the last change ${broken.found}`,
    "The service keeps trying. If this stays: portcullis logs, then sudo systemctl restart portcullis",
  );
}

export function forwardingFinding(inspection: Inspection): Finding {
  const broken = brokenIn("forwarding", inspection);
  if (broken === undefined) return ok("on: the devices of the LAN are served");
  return fault(
    "off: the devices of the LAN are not served",
    "Another program has turned it off. Turn it on: sudo sysctl -w net.ipv4.ip_forward=1",
  );
}

function brokenIn(subject: Subject, { parts }: Inspection): Part | undefined {
  return parts.find(({ name, holds }) => PARTS[subject].test(name) && !holds);
}
