import { contains, parseAddress, unmapped } from "../base/address.ts";
import { setupCommand } from "../system/layout.ts";
import { refusal } from "./errors.ts";
import type { Gate } from "./gate.ts";
import { LOOPBACK } from "./ip-restriction.ts";
import { isSecure } from "./origin.ts";
import { refused } from "./refusals.ts";
import { accessOf, isPage } from "./rules.ts";

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
  if (port === "down") return refusal(503, refused("https_down"), { "Retry-After": "5" });
  return new Response(null, { status: 307, headers: { Location: `${originOf(request, port)}${path}` } });
}

/**
 * The answer to a request over HTTP for what only HTTPS serves; null if it does not apply. It is given before the body is
 * read, but a client sends that at once, so others may have read it. This machine gets it too: what reaches it by loopback
 * may be a proxy that others talk to without encryption.
 */
export function refusalOverHttp(
  request: Request,
  path: string,
  { https }: Pick<Ways, "https">,
): Response | null {
  if (isSecure(request) || accessOf(path) !== "private") return null;
  const port = https();
  const at = typeof port === "number" ? originOf(request, port) : (port ?? "off");
  return refusal(403, refused("https_only", { https: at, command: COMMANDS[at] ?? "" }), {
    Connection: "close",
  });
}

/** HTTPS under the name that the client has used, which has been checked to be an address or a name of the gateway. */
function originOf(request: Request, port: number): string {
  const name = (request.headers.get("host") ?? "").replace(/:[0-9]+$/, "");
  return `https://${name}:${port}`;
}

/** What to type where HTTPS is no answer. */
const COMMANDS: Readonly<Record<string, string>> = {
  off: setupCommand("--https on"),
  down: "sudo portcullis check",
};

function isThisMachine(peer: string): boolean {
  const address = parseAddress(peer);
  return address !== null && LOOPBACK.some((prefix) => contains(prefix, unmapped(address)));
}
