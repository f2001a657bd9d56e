import { contains, parseAddress, unmapped } from "../base/address.ts";
import { refusal } from "./errors.ts";
import type { Gate } from "./gate.ts";
import { LOOPBACK } from "./ip-restriction.ts";
import { isSecure } from "./origin.ts";
import { isPage } from "./rules.ts";

export interface Ways {
  gate: Pick<Gate, "auth">;
  /** The port at which HTTPS listens; null if it is off, and `down` while it should listen and does not. */
  https: () => number | "down" | null;
}

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
  { gate, https }: Ways,
): Response | null {
  if (gate.auth === "off" || isSecure(request) || !isPage(path)) return null;
  if (request.method !== "GET" || isThisMachine(peer)) return null;
  const port = https();
  if (port === null) return null;
  // Another program may have that port. The page itself would ask for a token.
  if (port === "down") return refusal(503, DOWN, { "Retry-After": "5" });
  // It has been checked to be an address or a name of the gateway.
  const name = (request.headers.get("host") ?? "").replace(/:[0-9]+$/, "");
  return new Response(null, { status: 307, headers: { Location: `https://${name}:${port}${path}` } });
}

const DOWN =
  "this page is shown over HTTPS only, which does not work at present; for the reason, on the gateway: sudo portcullis check";

function isThisMachine(peer: string): boolean {
  const address = parseAddress(peer);
  return address !== null && LOOPBACK.some((prefix) => contains(prefix, unmapped(address)));
}
