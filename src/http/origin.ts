import { contains, isIpv4, isIpv6, isLinkLocal, parsePrefix, unmapped } from "../address.ts";
import { GatewayError } from "../errors.ts";

export interface Neighbourhood {
  /** The machine's own name and those that the operator configured; each is also known as `<name>.local`. */
  names: readonly string[];
  /** The networks of the LAN, in CIDR form, as they are now. */
  lan: () => readonly string[];
  /** The interfaces of the LAN, for a link-local address is one of every cable. */
  interfaces: () => readonly string[];
}

/** Refuses a request from outside the LAN, and one that a page of another site makes a browser send. */
export function refuseStrangers(request: Request, peer: string | null, near: Neighbourhood): void {
  const { names, lan, interfaces } = near;
  if (peer === null || !isNeighbour(peer, lan(), interfaces())) {
    throw new GatewayError("forbidden", "only the local network is served");
  }
  const host = request.headers.get("host") ?? "";
  if (!isOurs(host, names)) {
    // DNS rebinding: the page of a name that resolves to this address would be of the same origin.
    throw new GatewayError("forbidden", "Host must be this gateway's address or name");
  }
  const origin = request.headers.get("origin");
  if (origin !== null && !isSameOrigin(origin, host)) {
    throw new GatewayError("forbidden", "Origin is another site's");
  }
  if (request.headers.get("sec-fetch-site") === "cross-site") {
    throw new GatewayError("forbidden", "the request comes from a page of another site (Sec-Fetch-Site)");
  }
}

/** Loopback and the LAN; who has a link-local address has the interface behind it (RFC 4007: `fe80::1%eth0`). */
export function isNeighbour(peer: string, lan: readonly string[], interfaces: readonly string[]): boolean {
  const question = [peer, ...lan, ...interfaces].join(" ");
  const answer = answers.get(question) ?? isIn(peer, lan, interfaces);
  if (answers.size >= MOST_ANSWERS) answers.clear();
  answers.set(question, answer);
  return answer;
}

/** To read addresses takes as long as all the rest of a refusal, and a client that floods asks the same each time. */
const answers = new Map<string, boolean>();

/** More than the devices of a home. */
const MOST_ANSWERS = 1_000;

function isIn(peer: string, lan: readonly string[], interfaces: readonly string[]): boolean {
  const [bare = "", ...zone] = peer.split("%");
  const address = unmapped(bare);
  if (isLinkLocal(address)) return interfaces.includes(zone.join("%"));
  return [...ALWAYS_NEAR, ...lan].some((cidr) => {
    const prefix = parsePrefix(cidr);
    return prefix !== null && contains(prefix, address);
  });
}

const ALWAYS_NEAR = ["127.0.0.0/8", "::1/128"];

/** An address cannot be rebound, so any will do; a name has to be one of ours. */
export function isOurs(host: string, names: readonly string[]): boolean {
  const match = /^(?:\[(?<v6>[^\]]*)\]|(?<name>[^:]*))(?::(?<port>[0-9]{1,5}))?$/.exec(host);
  const { v6, name = "", port = "80" } = match?.groups ?? {};
  if (match === null || Number(port) > 65535) return false;
  if (v6 !== undefined) return isIpv6(v6);
  const known = ["localhost", ...names, ...names.map((each) => `${each}.local`)];
  return isIpv4(name) || known.some((each) => each.toLowerCase() === name.toLowerCase());
}

function isSameOrigin(origin: string, host: string): boolean {
  // Both through the URL parser, so that letter case and a default port do not matter.
  const theirs = URL.parse(origin);
  return theirs !== null && theirs.origin === URL.parse(`http://${host}`)?.origin && theirs.pathname === "/";
}
