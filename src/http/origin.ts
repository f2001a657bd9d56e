import { isIpv4, isIpv6 } from "../base/address.ts";
import { NAMES_AT_HOME } from "../base/home-zone.ts";
import { refused } from "./refusals.ts";

/**
 * Refuses a request that a page of another site makes a browser send. `names` are the machine's own name and those
 * that the operator configured; each is also known as `<name>.local`. To a page (`isPage`), another site may have a link,
 * as the page over HTTP has to that over HTTPS.
 */
export function refuseOtherSites(request: Request, names: readonly string[], isPage: boolean): void {
  const host = request.headers.get("host") ?? "";
  if (!isOwnHost(host, names)) {
    // DNS rebinding: a page of a name that resolves to this address would be of the same origin.
    throw refused("host_foreign");
  }
  const origin = request.headers.get("origin");
  if (origin !== null && !isSameOrigin(origin, ownOrigin(request, host))) {
    throw refused("origin_foreign");
  }
  if (request.headers.get("sec-fetch-site") === "cross-site" && !(isPage && isVisit(request))) {
    throw refused("page_foreign");
  }
}

/** Whether a person has followed a link, to see the answer in a window of its own. */
function isVisit({ method, headers }: Request): boolean {
  return (
    method === "GET" &&
    headers.get("sec-fetch-mode") === "navigate" &&
    headers.get("sec-fetch-dest") === "document"
  );
}

/**
 * Whether a browser sends a request that no page of the gateway has made: a person has typed its address, or a page of another
 * site makes the browser send it. Over plain HTTP the two are the same: Chromium sends neither `Sec-Fetch-Site` nor, with GET,
 * `Origin`, and a page can leave out `Referer`, but cannot forge it. Nor can it change how the browser calls itself.
 */
export function isVisitFromElsewhere(request: Request): boolean {
  const { method, headers } = request;
  const isBrowser = /^Mozilla\//.test(headers.get("user-agent") ?? "") && headers.has("accept-language");
  if (method !== "GET" || !isBrowser || headers.has("origin")) return false;
  const referer = URL.parse(headers.get("referer") ?? "");
  return referer === null || !isSameOrigin(referer.origin, ownOrigin(request, headers.get("host") ?? ""));
}

/** Any IP address is accepted, because an address cannot be rebound; a name must be one of the gateway's. */
export function isOwnHost(host: string, names: readonly string[]): boolean {
  const match = /^(?:\[(?<v6>[^\]]*)\]|(?<name>[^:]*))(?::(?<port>[0-9]{1,5}))?$/.exec(host);
  const { v6, name = "", port = "80" } = match?.groups ?? {};
  if (match === null || Number(port) > 65535) return false;
  if (v6 !== undefined) return isIpv6(v6);
  const known = ["localhost", ...names, ...names.map((each) => `${each}.local`), ...NAMES_AT_HOME];
  return isIpv4(name) || known.some((each) => each.toLowerCase() === name.toLowerCase());
}

/** Whether a request came by HTTPS. The server has made the URL: a client chooses only what follows its scheme. */
export function isSecure(request: Request): boolean {
  return request.url.startsWith("https:");
}

/** The pages of HTTP and HTTPS are different origins. */
function ownOrigin(request: Request, host: string): string {
  return `${isSecure(request) ? "https" : "http"}://${host}`;
}

function isSameOrigin(origin: string, own: string): boolean {
  // The URL parser normalizes letter case and the default port of both.
  const theirs = URL.parse(origin);
  return theirs !== null && theirs.origin === URL.parse(own)?.origin && theirs.pathname === "/";
}
