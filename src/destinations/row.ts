import type { Prefix } from "../base/address.ts";
import { formatExit } from "../devices/exit.ts";
import type { DeviceId } from "../devices/id.ts";
import { NO_DEVICE } from "../killswitch/exits.ts";
import { isOutsideExit } from "../shared/exits.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Rule } from "./rules.ts";
import type { Destination } from "./schema.ts";

interface Facts {
  isOpen: boolean;
  /** Who resolves names. */
  resolving: "on" | "off" | "elsewhere" | "failed";
  /** How many its names have. */
  addresses: number;
  /** How many other names have some of these, as far as devices have asked. */
  others: number;
  /** Devices that can have no more of them. */
  full: readonly DeviceId[];
  /** Whether they cannot be written. */
  isUnsaved: boolean;
  ownerOf: (prefix: Prefix) => string | null;
  nameOf: (id: DeviceId) => string;
  /** Whether the gateway's resolver answers the device. */
  isServed: (id: DeviceId) => boolean;
}

/** A rule for people. The network may have changed since it was made. */
export function rowOf(rule: Rule, facts: Facts): Destination {
  const { id, names, prefixes, devices, exit, note } = rule;
  const { isOpen, addresses } = facts;
  const warnings = [
    ...warningsOfExit(rule, facts),
    ...(names.length === 0 ? [] : warningsOfNames(rule, facts)),
  ];
  return {
    ...{ id, names: [...names], prefixes: [...prefixes], devices: [...devices] },
    ...{ exit: formatExit(exit), note, open: isOpen, addresses },
    warning: warnings.length === 0 ? null : warnings.join(" "),
  };
}

function warningsOfExit({ prefixes, exit }: Rule, { isOpen, ownerOf }: Facts): string[] {
  const [taken] = prefixes.flatMap((prefix) => ownerOf(prefix) ?? []);
  if (taken !== undefined) return [`Some of these addresses are those of ${taken} now, and stay there.`];
  switch (exit.to) {
    case "direct":
      return isOpen
        ? [
            "It leaves outside the tunnel: your internet provider sees it, and whatever else has these addresses leaves there too.",
          ]
        : ["The uplink is down: it is refused."];
    case "tunnel":
      return isOpen
        ? []
        : [
            `The ${tunnelTitle(exit.name)} is not connected: it is refused until then, and takes no other exit.`,
          ];
    case "blocked":
      return [];
  }
}

function warningsOfNames({ devices, exit }: Rule, facts: Facts): string[] {
  const { resolving, full, isUnsaved, nameOf, isServed } = facts;
  const unserved = devices.filter((id) => !isServed(id)).map(nameOf);
  return [
    ...(resolving === "elsewhere" ? [NOT_RESOLVED] : []),
    ...(resolving === "failed" ? [FAILED] : []),
    ...(isUnsaved ? [UNSAVED] : []),
    ...(unserved.length === 0
      ? []
      : [
          `Its names have no effect for ${unserved.join(", ")}: remote devices, and those that are direct, do not ask the gateway's resolver.`,
        ]),
    ...(isOutsideExit(exit)
      ? [
          `Other names on the same addresses leave outside the tunnel as well, as long as these are in use. Devices have asked for ${facts.others === 0 ? "none" : facts.others} so far.`,
        ]
      : []),
    ...(full.length === 0
      ? []
      : [
          `Its names have as many addresses as they can for ${full.map((id) => (id === NO_DEVICE ? "unknown devices" : nameOf(id))).join(", ")}: answers with others are refused.`,
        ]),
  ];
}

export const NOT_RESOLVED =
  "Another resolver of this machine answers at port 53, so the names have no effect: stop it, or use networks instead.";
const UNSAVED =
  "Addresses of its names cannot be written, so answers with them are refused: is the disk full, or read-only?";
export const FAILED = "The resolver cannot listen, so all questions are refused: portcullis dns";
