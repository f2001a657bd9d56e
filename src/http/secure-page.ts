import { contains, parseAddress, unmapped } from "../base/address.ts";
import type { Settings } from "../base/settings.ts";
import { refusal } from "./errors.ts";
import { httpsOnly, originOf, type Ways } from "./https-only.ts";
import { LOOPBACK } from "./ip-restriction.ts";
import { isSecure } from "./origin.ts";
import { refused } from "./refusals.ts";
import { accessOf, isPage } from "./rules.ts";

/**
 * Leads a browser from a page over HTTP to the same one over HTTPS if tokens are asked for, so that nobody types one into a
 * page that others can read or change. Scripts, which use `/api` and `/ws`, are left alone. So is this machine itself:
 * what does not leave it needs no encryption, and a tunnel of SSH has one port only. Null if it does not apply.
 *
 * The answer is not permanent, and there is no Strict-Transport-Security: a browser would apply that to every port of
 * this host, HTTP's too, and would not let people accept a certificate that the gateway has signed itself.
 */
export function toHttps(
  request: Request,
  path: string,
  peer: string,
  { gate, https }: Ways & { gate: Pick<Settings, "auth"> },
): Response | null {
  if (gate.auth === "off" || isSecure(request) || !isPage(path)) return null;
  if (request.method !== "GET" || isThisMachine(peer)) return null;
  const port = https();
  if (port === null) return null;
  // Another program may have that port. The page itself would ask for a token.
  if (port === "down") return refusal(503, refused("https_down"), { "Retry-After": "5" });
  return new Response(null, { status: 307, headers: { Location: `${originOf(request, port)}${path}` } });
}

/**
 * The answer to a request over HTTP for what only HTTPS serves; null if it does not apply. It is given before the body is
 * read, but a client sends that at once, so others may have read it. This machine gets it too: what reaches it by loopback
 * may be a proxy that others talk to without encryption.
 */
export function refusalOverHttp(request: Request, path: string, ways: Ways): Response | null {
  const access = accessOf(path);
  if (isSecure(request) || access === undefined || access === "open") return null;
  return httpsOnly(request, ways);
}

function isThisMachine(peer: string): boolean {
  const address = parseAddress(peer);
  return address !== null && LOOPBACK.some((prefix) => contains(prefix, unmapped(address)));
}
