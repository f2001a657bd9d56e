import type { Lan } from "../network/lan.ts";
import type { InsideExit } from "../shared/exits.ts";

/** What is decided about a network of the LAN, which is known by the name of its interface. */
export interface NetworkPart {
  interface: string;
  /** Of its devices without an exit of their own; null for the home's default exit. */
  exit: InsideExit | null;
  /** Whether its devices may use the page, and all else on the gateway that is neither DNS nor DHCP. */
  page: boolean;
  /** Whether packets pass between it and the other networks that have this, too. */
  others: boolean;
}

/**
 * What the networks of the LAN have that the home has not. Null if nobody has looked at its networks yet. A mesh has
 * devices from anywhere, so a new one is blocked whatever the home's default exit is.
 */
export function networksIn(
  known: readonly NetworkPart[] | null,
  lans: readonly Lan[],
  areNewBlocked: boolean,
): NetworkPart[] {
  return lans.flatMap(({ interface: link, mesh = false }) => {
    const own = known?.find((each) => each.interface === link);
    if (own === undefined) return mesh || (known !== null && areNewBlocked) ? [newNetwork(link, !mesh)] : [];
    return own.exit === null && own.page && !own.others ? [] : [own];
  });
}

/** New is refused, never guessed: nobody has chosen where its devices leave. */
function newNetwork(link: string, page: boolean): NetworkPart {
  return { interface: link, exit: { to: "blocked" }, page, others: false };
}

/** The exit of the devices without one of their own that come by this interface. */
export function exitOfLink(
  { networks = [], defaultExit }: { networks?: readonly NetworkPart[]; defaultExit: InsideExit },
  link: string | null | undefined,
): InsideExit {
  return networks.find((each) => each.interface === link)?.exit ?? defaultExit;
}
