import type { Prefix } from "../base/address.ts";
import { formatExit } from "../devices/exit.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Rule } from "./rules.ts";
import type { Destination } from "./schema.ts";

/** A rule for people. The network may have changed since it was made. */
export function rowOf(rule: Rule, isOpen: boolean, ownerOf: (prefix: Prefix) => string | null): Destination {
  const { id, prefixes, devices, exit, note } = rule;
  const taken = prefixes.flatMap((prefix) => ownerOf(prefix) ?? []);
  return {
    ...{ id, prefixes: [...prefixes], devices: [...devices] },
    ...{ exit: formatExit(exit), note, open: isOpen },
    warning: warningOf(rule, isOpen, taken),
  };
}

function warningOf({ exit }: Rule, isOpen: boolean, [taken]: readonly string[]): string | null {
  if (taken !== undefined) return `Some of these addresses are those of ${taken} now, and stay there.`;
  if (exit.to === "direct")
    return isOpen
      ? "It leaves outside the tunnel: your internet provider sees it, and whatever else has these addresses leaves there too."
      : "The uplink is down: it is refused.";
  if (exit.to === "tunnel" && !isOpen)
    return `The ${tunnelTitle(exit.name)} is not connected: it is refused until then, and takes no other exit.`;
  return null;
}
