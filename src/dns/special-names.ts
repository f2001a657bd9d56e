import { HOME_ZONE } from "../base/home-zone.ts";

/** Firefox asks it, and leaves DNS over HTTPS off if there is no such name. */
const CANARY = "use-application-dns.net";

/**
 * Names that only a home's own resolver could resolve: names of homes and of multicast DNS, of private networks (RFC
 * 6303, RFC 6762, RFC 8375), and the test of browsers for a resolver that others have chosen.
 */
const NEVER_OUTSIDE: ReadonlySet<string> = new Set([
  CANARY,
  ...[HOME_ZONE, "local", "localhost", "invalid", "onion", "internal", "lan", "home"],
  ...["10.in-addr.arpa", "168.192.in-addr.arpa", "254.169.in-addr.arpa", "127.in-addr.arpa"],
  ...Array.from({ length: 16 }, (_, index) => `${16 + index}.172.in-addr.arpa`),
  ...["8", "9", "a", "b"].map((digit) => `${digit}.e.f.ip6.arpa`),
  ...["c.f.ip6.arpa", "d.f.ip6.arpa"],
]);

/** A resolver names its encrypted addresses there (RFC 9462): the tunnel's would lead devices past the gateway's. */
const OF_RESOLVER = "resolver.arpa";

/** Whether the name says something of the resolver that is asked, and of no other (RFC 9462, section 6.4). */
export function isOfResolver(name: string): boolean {
  return name === OF_RESOLVER || name.endsWith(`.${OF_RESOLVER}`);
}

/** Whether no resolver outside is ever asked for the name: it, or a name above it, is special. */
export function staysAtHome(name: string): boolean {
  for (let at = 0; ; ) {
    if (NEVER_OUTSIDE.has(at === 0 ? name : name.slice(at))) return true;
    const dot = name.indexOf(".", at);
    if (dot < 0) return false;
    at = dot + 1;
  }
}
