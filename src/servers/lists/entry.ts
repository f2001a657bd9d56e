import type { Address } from "../../base/address.ts";
import { isName } from "../../base/name.ts";
import { LISTED, LISTED_NAMES, type ListedName, type Offers } from "../../transports/list.ts";
import { inRange, isPort, type PortRange } from "../../transports/ports.ts";
import { isServerAddress } from "../../transports/server-address.ts";
import type { InList } from "../../transports/transport.ts";
import { isKey } from "../../wireguard/key-text.ts";

/** A WireGuard server of a provider's list: the fields that clients see, and those of the endpoint. */
export interface ListedServer {
  name: string;
  /** The `provider` of its public record. */
  label: string;
  country: string;
  city: string;
  ipv4: Address;
  port: number;
  /** Null if the server tells its key only when the gateway registers with it. */
  publicKey: string | null;
  /** The port at which every other server of its label forwards packets to this one. */
  multihopPort?: number;
  /** Its provider opens ports, but not at this server. */
  opensPorts?: false;
  /** Where it answers too. */
  ports?: readonly PortRange[];
  /** The transports that it offers; missing if none. */
  offers?: Offers;
  /** Inside the tunnel it agrees on keys that are safe from quantum computers. */
  ephemeralPeers?: true;
}

/** A server whose IPv4 address is not checked yet. */
export type UncheckedServer = Omit<ListedServer, "ipv4"> & { ipv4: string };

/** The result of an adapter from a document in its format. */
export interface Reading {
  servers: ListedServer[];
  /** The number of malformed entries. */
  skipped: number;
  /** The provider's resolver inside the tunnel, if the list names one. */
  resolver?: Address;
}

/** Null if the document is not in the adapter's format. */
export type Adapter = (document: unknown) => Reading | null;

/** The result for an entry; `left out` is for one that is not faulty, such as an inactive server. */
export type Outcome = ListedServer | "left out" | "malformed";

/** An entry with the name of an earlier one counts as malformed, so that a server's name is never ambiguous. */
export function readingOf<Entry>(entries: readonly Entry[], outcomeOf: (entry: Entry) => Outcome): Reading {
  const servers = new Map<string, ListedServer>();
  let skipped = 0;
  for (const entry of entries) {
    const outcome = outcomeOf(entry);
    if (outcome === "left out") continue;
    if (outcome === "malformed" || servers.has(outcome.name)) skipped++;
    else servers.set(outcome.name, outcome);
  }
  return { servers: [...servers.values()], skipped };
}

/** Checks the entries of every format: the author of a list chooses these texts, and clients print them. */
export function checked(server: UncheckedServer): ListedServer | "malformed" {
  const { name, ipv4, port, publicKey, multihopPort = 0, ports = [], offers, ephemeralPeers } = server;
  const places = { label: tidied(server.label), country: tidied(server.country), city: tidied(server.city) };
  const named = [name, ...Object.values(places)].every((text) => isName(text) && isVisible(text));
  const keyed = publicKey === null || isKey(publicKey);
  if (!named || !isServerAddress(ipv4) || !isPort(port) || !keyed) return "malformed";
  // Without a usable multi-hop port, the server can still be reached directly.
  return {
    ...{ name, ...places, ipv4, port, publicKey },
    ...(isPort(multihopPort) && { multihopPort }),
    ...(ports.length > 0 && { ports }),
    ...(offers && { offers }),
    ...(ephemeralPeers && { ephemeralPeers }),
  };
}

/** The transports that a server offers, as an entry of its list says of each; null if it does not offer one. */
export function offersIn(
  offerOf: (transport: InList<unknown>, name: ListedName) => unknown,
): Pick<ListedServer, "offers"> {
  const offers = LISTED_NAMES.flatMap((name) => {
    const offer = offerOf(LISTED[name], name);
    return offer === null ? [] : [[name, offer] as const];
  });
  return offers.length === 0 ? {} : { offers: Object.fromEntries(offers) as Offers };
}

/** The one that is preferred, or the first one if the list has others only. */
export function usualPort(preferred: number, ranges: readonly PortRange[]): number {
  return inRange(preferred, ranges) ? preferred : (ranges[0]?.[0] ?? preferred);
}

/** Some lists are sloppy here: Windscribe's has cities that end in a space. */
function tidied(text: string): string {
  return text.normalize("NFC").trim();
}

/** Direction marks, zero-width characters and line separators would make a terminal show another name. */
function isVisible(text: string): boolean {
  return !/[\p{C}\p{Zl}\p{Zp}]/u.test(text);
}
