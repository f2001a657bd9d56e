import {
  type Address,
  type HostName,
  type Prefix,
  parseAddress,
  prefixOf,
  unmapped,
} from "../base/address.ts";
import { parseDomainName } from "../base/domain-name.ts";
import { isInHomeZone } from "../base/home-zone.ts";
import { formatExit, parseExit } from "../devices/exit.ts";
import { type DeviceId, deviceIdIn } from "../devices/id.ts";
import type { Exit } from "../killswitch/policy.ts";
import { isBlocked, isBlockedExit, isOutside, isOutsideExit } from "../shared/exits.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Names } from "./names.ts";
import { refused } from "./refusals.ts";
import { FAILED, NOT_RESOLVED } from "./row.ts";
import type { Match, Matcher, Rule } from "./rules.ts";
import type { Destination, Explanation } from "./schema.ts";

interface Facts {
  matcher: Matcher;
  names: Pick<Names, "of" | "askedAt" | "leading">;
  /** Who resolves names. */
  resolving: "on" | "off" | "elsewhere" | "failed";
  /** Whether a list blocks the name for the device. */
  isListed: (name: HostName, id: DeviceId) => boolean;
  /** The exit of a device, in words. */
  exitOf: (id: DeviceId) => string;
  nameOf: (id: DeviceId) => string | null;
  /** The exit of a remote device; null for others. */
  remoteExitOf: (id: DeviceId) => Exit | null;
  ownerOf: (prefix: Prefix) => string | null;
  isOpen: (exit: Exit) => boolean;
  rowOf: (rule: Rule) => Destination;
  /** Whether the kernel has the firewall as it was loaded. */
  stands: boolean;
}

/** A device, and the words for it. */
interface Sender {
  id: DeviceId;
  title: string;
  /** Its own exit. */
  own: string;
}

/** Which exit the traffic of a device to a name or an address takes, and why. */
export function explained(deviceText: string, destination: string, facts: Facts): Explanation {
  const id = deviceIdIn(deviceText, "device");
  const target = targetIn(destination);
  const [name, own] = [facts.nameOf(id) ?? "", facts.exitOf(id)];
  const sender = { id, own, title: name || id };
  const common = {
    ...{ device: { id, name }, destination: target.text, in_kernel: facts.stands },
    ...{ addresses: [], asked_at: null },
  };
  if (target.address === null && isInHomeZone(target.text))
    return {
      ...{ ...common, rule: null, by: null, exit: own, open: true, advice: null },
      why: facts.resolving === "on" ? AT_HOME : AT_HOME_WITHOUT_RESOLVER,
    };
  if (target.address === null) return { ...common, ...ofName(target.text, sender, facts) };
  const owner = facts.ownerOf(prefixOf(target.address));
  if (owner !== null)
    return {
      ...{ ...common, rule: null, by: null, exit: own, open: true, advice: null },
      why: `It is in ${owner}, which no exit leads to.`,
    };
  return { ...common, ...ofAddress(target.address, sender, facts) };
}

const AT_HOME = "It is a name of the home, which the gateway answers itself. No exit leads to it.";
const AT_HOME_WITHOUT_RESOLVER =
  "It is a name of the home. The gateway answers it while a rule has names or a list blocks some; now nobody does.";

type Outcome = Pick<Explanation, "rule" | "by" | "exit" | "open" | "why" | "advice"> &
  Partial<Pick<Explanation, "addresses" | "asked_at">>;

function ofAddress(address: Address, sender: Sender, facts: Facts): Outcome {
  const { matcher } = facts;
  const holds = leadingTo(address, sender, facts);
  if (holds === "lost")
    return { ...{ rule: null, by: null, exit: "blocked", open: false, why: LOST }, advice: ASK_AGAIN };
  const kept = holds === null && isBlocked(sender.own) ? matcher.forAddress(address, sender.id) : null;
  const { exit, open, advice } = wayOf(holds, sender, facts);
  return {
    ...{ rule: holds && facts.rowOf(holds.rule), by: holds?.by ?? null, exit: formatExit(exit), open },
    ...{ why: kept === null ? whyOf("address", holds, sender, open) : whyKept(kept, sender), advice },
  };
}

/** As in the firewall: rules of the device come before those of all, and names before prefixes. */
function leadingTo(
  address: Address,
  { id, own }: Sender,
  { matcher, names }: Facts,
): Match<HostName | Prefix> | "lost" | null {
  const isDeviceBlocked = isBlocked(own);
  const byPrefix = matcher.forAddress(address, id, isDeviceBlocked);
  const isOwn = byPrefix !== null && byPrefix.rule.devices.length > 0;
  return (
    names.leading(address, id) ??
    (isOwn || isDeviceBlocked ? byPrefix : names.leading(address, null)) ??
    byPrefix
  );
}

const LOST =
  "A name of a rule had this address, and the gateway has lost which. So it is refused, until a device asks again for such a name, and for an hour at most.";
const ASK_AGAIN = "Restart the program on the device, so that it asks for the name again.";

function ofName(name: HostName, sender: Sender, facts: Facts): Outcome {
  const { matcher, names } = facts;
  const isDeviceBlocked = isBlocked(sender.own);
  const holds = matcher.forName(name, sender.id, isDeviceBlocked);
  const kept = holds === null && isDeviceBlocked ? matcher.forName(name, sender.id) : null;
  const { exit, open, advice } = wayOf(holds, sender, facts);
  const askedAt = holds === null ? null : names.askedAt(holds.by, sender.id);
  const addresses = holds === null ? [] : names.of(holds.rule, holds.by);
  return {
    ...{ rule: holds && facts.rowOf(holds.rule), by: holds?.by ?? null, exit: formatExit(exit), open },
    // A longer name may lead some of them elsewhere.
    addresses: addresses.filter((address) => {
      const leading = leadingTo(address, sender, facts);
      return leading !== "lost" && Bun.deepEquals(leading?.rule.exit, exit);
    }),
    asked_at: askedAt === null ? null : new Date(askedAt).toISOString(),
    why: kept === null ? whyOf("name", holds, sender, open) : whyKept(kept, sender),
    advice: holds === null ? advice : (adviceOfName(askedAt, sender, facts) ?? advice),
    ...(holds === null && ofResolver(name, sender, facts)),
  };
}

/** What keeps a device from the addresses of a name that no rule is for; null if nothing does. */
function ofResolver(
  name: HostName,
  sender: Sender,
  facts: Facts,
): Partial<Pick<Outcome, "why" | "advice">> | null {
  const { id, title } = sender;
  if (!facts.stands || !isServed(sender, facts)) return null;
  if (facts.resolving === "failed") return { advice: FAILED };
  if (facts.resolving !== "on" || !facts.isListed(name, id)) return null;
  return {
    why: `A list blocks this name, so ${title} is told that there is no such name.`,
    advice: `To open it for all devices: portcullis dns open ${name}`,
  };
}

/** Whether the gateway's resolver answers the device. */
function isServed({ id, own }: Sender, { remoteExitOf }: Facts): boolean {
  return remoteExitOf(id) === null && !isOutside(own);
}

/** The exit that holds, whether it carries traffic, and what to do if not. */
function wayOf(
  holds: Match<HostName | Prefix> | null,
  { id, own }: Sender,
  { isOpen, remoteExitOf, stands }: Facts,
): { exit: Exit; open: boolean; advice: string | null } {
  const exit: Exit = holds?.rule.exit ?? parseExit(own) ?? { to: "blocked" };
  const remote = remoteExitOf(id);
  if (isOutsideExit(exit) && remote !== null && !isOutsideExit(remote))
    return { exit, open: false, advice: stands ? NOT_ON_THE_ROAD : NOT_IN_KERNEL };
  const open = isOpen(exit);
  return { exit, open, advice: stands ? adviceOf(exit, open, holds?.rule ?? null) : NOT_IN_KERNEL };
}

const NOT_IN_KERNEL = "The firewall is not as the gateway loaded it, and is being restored: portcullis check";
const NOT_ON_THE_ROAD =
  "A remote device leaves outside the tunnel only if it is direct itself, so this is refused.";

function whyOf(
  what: "address" | "name",
  match: Match<HostName | Prefix> | null,
  { title, own }: Sender,
  isOpen: boolean,
): string {
  if (match === null) return `No rule is for this ${what}, so it takes the exit of ${title}: ${own}.`;
  const { rule, by } = match;
  const whose = rule.devices.length === 0 ? "all devices" : "this device";
  const exit = formatExit(rule.exit);
  const leads = `The rule ${rule.id} leads ${by} to ${exit}, for ${whose}.`;
  if (what === "address")
    return `${leads} DNS (ports 53 and 853) ${
      isBlockedExit(rule.exit)
        ? "is blocked too"
        : isOpen
          ? `still takes the exit of the device: ${own}`
          : "is refused as well while that exit is down"
    }.`;
  switch (rule.exit.to) {
    case "blocked":
      return `${leads} Devices are told that there is no such name.`;
    case "direct":
      return `${leads} The question for it goes through the tunnel.`;
    case "tunnel":
      return `${leads} The question for it leaves there, too.`;
  }
}

function whyKept({ rule, by }: Match<HostName | Prefix>, { title }: Sender): string {
  return `${title} is blocked, and reaches only what rules of its own permit. The rule ${rule.id} (${by}) is for all devices.`;
}

function adviceOf(exit: Exit, isOpen: boolean, rule: Rule | null): string | null {
  if (isOpen) return null;
  switch (exit.to) {
    case "tunnel":
      return `The ${tunnelTitle(exit.name)} is not connected, so this is refused${
        rule === null ? "" : ", and so is the question for a name of it"
      }; to connect it: portcullis ${
        exit.name === "main" ? "connect" : `tunnel ${exit.name} connect`
      } <server>`;
    case "direct":
      return "The uplink is down: look at its cable and at the home router.";
    case "blocked":
      return rule === null
        ? "It is refused; to let the device out: portcullis device <device> exit <exit>"
        : `It is refused, as the rule says; to remove that: portcullis destination remove ${rule.id}`;
  }
}

/** Null if the device asks as it should. */
function adviceOfName(askedAt: number | null, sender: Sender, facts: Facts): string | null {
  const { title } = sender;
  if (!facts.stands) return NOT_IN_KERNEL;
  if (facts.resolving === "elsewhere") return NOT_RESOLVED;
  if (!isServed(sender, facts))
    return `The gateway's resolver does not answer ${title}, so names have no effect for it: remote devices, and those that are direct, ask their own.`;
  if (facts.resolving === "failed") return FAILED;
  if (askedAt !== null) return null;
  return `${title} has not asked the gateway for this name since the gateway started. It may remember an older answer: restart the program, or the device. If it still does not ask, it uses DNS over HTTPS ("private DNS", "secure DNS"): turn that off on it.`;
}

/** A name in lower case, or an address. */
function targetIn(text: string): { text: HostName; address: null } | { text: string; address: Address } {
  const address = parseAddress(text);
  if (address !== null) return { text: unmapped(address), address: unmapped(address) };
  const name = parseDomainName(text);
  if (name !== null) return { text: name, address: null };
  throw refused("target_invalid");
}
