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
  /** Whether root has named it as a mesh, which no network of the LAN can be. */
  mesh?: boolean;
}

/** What tells whether a network is closed in any way. */
type Closable = Pick<NetworkPart, "interface" | "page" | "mesh"> & { readonly exit: object | null };

/**
 * What the networks of the LAN have that the home has not. Null if nobody has looked at its networks yet. A mesh has
 * devices from anywhere, so a new one is blocked whatever the home's default exit is.
 */
export function networksIn(
  known: readonly NetworkPart[] | null,
  lans: readonly Lan[],
  areNewBlocked: boolean,
): NetworkPart[] {
  const blocksNew = known !== null && (areNewBlocked || missingIn(known, lans).length > 0);
  return lans.flatMap((lan) => {
    const own = known?.find((each) => each.interface === lan.interface);
    if (own === undefined) return lan.mesh || blocksNew ? [newNetwork(lan, known ?? [], lans)] : [];
    return own.exit === null && own.page && !own.others ? [] : [own];
  });
}

/** New is refused, never guessed: nobody has chosen where its devices leave. */
function newNetwork(lan: Lan, known: readonly NetworkPart[], lans: readonly Lan[]): NetworkPart {
  const page = hasPageAtFirst(lan, known, lans);
  return { interface: lan.interface, exit: { to: "blocked" }, page, others: false };
}

/**
 * The networks with an exit of their own, or without the page, that are gone. Each may return under another name; a mesh
 * only as a mesh, which is blocked as long as it is new.
 */
export function missingIn<Known extends Closable>(known: readonly Known[], lans: readonly Lan[]): Known[] {
  const isThere = (link: string) => lans.some((lan) => lan.interface === link);
  return known.filter(
    ({ interface: link, exit, page, mesh }) => !mesh && (exit !== null || !page) && !isThere(link),
  );
}

/** Not if it may be one that has no page, unless it would be closed to the whole home. */
export function hasPageAtFirst({ mesh }: Lan, known: readonly Closable[], lans: readonly Lan[]): boolean {
  if (mesh) return false;
  if (missingIn(known, lans).every(({ page }) => page)) return true;
  const others = known.filter((each) => lans.some((lan) => lan.interface === each.interface));
  return !others.some(({ page }) => page);
}

/** The exit of the devices without one of their own that come by this interface. */
export function exitOfLink(
  { networks = [], defaultExit }: { networks?: readonly NetworkPart[]; defaultExit: InsideExit },
  link: string | null | undefined,
): InsideExit {
  return networks.find((each) => each.interface === link)?.exit ?? defaultExit;
}
