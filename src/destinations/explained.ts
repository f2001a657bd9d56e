import { type Address, type Prefix, parseAddress, prefixOf, unmapped } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import { formatExit, parseExit } from "../devices/exit.ts";
import { type DeviceId, deviceIdIn } from "../devices/id.ts";
import type { Exit } from "../killswitch/policy.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Matcher, Rule } from "./rules.ts";
import type { Destination, Explanation } from "./schema.ts";

interface Facts {
  matcher: Matcher;
  /** The exit of a device, in words. */
  exitOf: (id: DeviceId) => string;
  nameOf: (id: DeviceId) => string | null;
  ownerOf: (prefix: Prefix) => string | null;
  isOpen: (exit: Exit) => boolean;
  rowOf: (rule: Rule) => Destination;
  /** Whether the kernel has the firewall as it was loaded. */
  stands: boolean;
}

/** Which exit the traffic of a device to an address takes, and why. */
export function explained(deviceText: string, destination: string, facts: Facts): Explanation {
  const id = deviceIdIn(deviceText, "device");
  const address = addressIn(destination);
  const [name, own] = [facts.nameOf(id) ?? "", facts.exitOf(id)];
  const title = name || id;
  const common = { device: { id, name }, destination: address, in_kernel: facts.stands };
  const owner = facts.ownerOf(prefixOf(address));
  if (owner !== null)
    return {
      ...{ ...common, rule: null, by: null, exit: own, open: true, advice: null },
      why: `It is in ${owner}, which no exit leads to.`,
    };
  const match = facts.matcher.forAddress(address, id);
  const isKeptBlocked = match !== null && own === "blocked" && match.rule.devices.length === 0;
  const holds = isKeptBlocked ? null : match;
  const exit: Exit = holds?.rule.exit ?? parseExit(own) ?? { to: "blocked" };
  const isOpen = facts.isOpen(exit);
  return {
    ...common,
    rule: holds && facts.rowOf(holds.rule),
    by: holds?.by ?? null,
    exit: formatExit(exit),
    open: isOpen,
    why: whyOf(title, own, match, isKeptBlocked),
    advice: facts.stands ? adviceOf(exit, isOpen, holds?.rule ?? null) : NOT_IN_KERNEL,
  };
}

const NOT_IN_KERNEL = "The firewall is not as the gateway loaded it, and is being restored: portcullis check";

function whyOf(
  title: string,
  own: string,
  match: ReturnType<Matcher["forAddress"]>,
  isKept: boolean,
): string {
  if (match === null) return `No rule is for this address, so it takes the exit of ${title}: ${own}.`;
  const { rule, by } = match;
  if (isKept)
    return `${title} is blocked, and reaches only what rules of its own permit. The rule ${rule.id} (${by}) is for all devices.`;
  const whose = rule.devices.length === 0 ? "all devices" : "this device";
  return `The rule ${rule.id} leads ${by} to ${formatExit(rule.exit)}, for ${whose}. DNS (ports 53 and 853) ${
    rule.exit.to === "blocked" ? "is blocked too" : `still takes the exit of the device: ${own}`
  }.`;
}

function adviceOf(exit: Exit, isOpen: boolean, rule: Rule | null): string | null {
  if (isOpen) return null;
  if (exit.to === "tunnel")
    return `The ${tunnelTitle(exit.name)} is not connected, so this is refused; to connect it: portcullis ${
      exit.name === "main" ? "connect" : `tunnel ${exit.name} connect`
    } <server>`;
  if (exit.to === "direct") return "The uplink is down: look at its cable and at the home router.";
  return rule === null
    ? "It is refused; to let the device out: portcullis device <device> exit <exit>"
    : `It is refused, as the rule says; to remove that: portcullis destination remove ${rule.id}`;
}

function addressIn(text: string): Address {
  const address = parseAddress(text);
  if (address !== null) return unmapped(address);
  throw new GatewayError("bad_request", "name: must be an IP address, such as 203.0.113.7");
}
