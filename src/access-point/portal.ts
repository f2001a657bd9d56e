import dgram from "node:dgram";
import { hostname } from "node:os";
import { mustParseAddress } from "../base/address.ts";
import { languageOf } from "../http/dashboard/first-look.ts";
import { answerTo } from "./mdns.ts";
import { portalPage } from "./page.ts";
import { PORTS } from "./settings.ts";

/** RFC 6762, section 3. */
const MDNS_GROUP = "224.0.0.251";
const HOP_LIMIT = 255;
const IDLE_S = 10;
const MOST_BODY_BYTES = 1_000;
/** RFC 8908, section 5. */
const CAPTIVE_JSON = "application/captive+json";

/**
 * What a station of the access point finds: a page at the gateway's address, to which every other name leads, and the
 * gateway's own name as it is called at home. It has no rights, and reads no file.
 */
export function servePortal(address: string): void {
  const name = `${hostname().toLowerCase()}.local`;
  Bun.serve({
    ...{ hostname: address, port: PORTS.http, idleTimeout: IDLE_S, maxRequestBodySize: MOST_BODY_BYTES },
    fetch: (request) => portalAnswer(request, address, name),
    error: () => new Response(null, { status: 400 }),
  });
  const socket = dgram.createSocket({ type: "udp4", reuseAddr: true });
  socket.on("error", () => {});
  socket.on("message", (message, { address: from, port }) => {
    const isLegacy = port !== PORTS.mdns;
    const answer = answerTo(message, name, mustParseAddress(address), isLegacy);
    if (answer !== null) socket.send(answer, port, isLegacy ? from : MDNS_GROUP);
  });
  socket.bind(PORTS.mdns, () => {
    socket.addMembership(MDNS_GROUP, address);
    socket.setMulticastInterface(address);
    socket.setMulticastTTL(HOP_LIMIT);
  });
}

/** Whatever a phone asks to find out whether it is online (RFC 8952) leads to the page. */
export function portalAnswer(request: Request, address: string, name: string): Response {
  const { headers, method } = request;
  const host = (headers.get("host") ?? "").replace(/:\d+$/, "").toLowerCase();
  const fresh = { "Cache-Control": "no-store" };
  const to = (url: string) => new Response(null, { status: 302, headers: { ...fresh, Location: url } });
  if (method !== "GET" && method !== "HEAD") return new Response(null, { status: 405, headers: fresh });
  if (host === name) return to(`https://${name}/`);
  const page = `http://${address}/`;
  if (host !== address) return to(page);
  if (headers.get("accept")?.includes(CAPTIVE_JSON)) {
    const json = JSON.stringify({ captive: true, "user-portal-url": page });
    return new Response(json, { headers: { ...fresh, "Content-Type": CAPTIVE_JSON } });
  }
  const html = portalPage(languageOf(headers), name);
  const type = { "Content-Type": "text/html; charset=utf-8" };
  const policy = { "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'" };
  return new Response(html, { headers: { ...fresh, ...type, ...policy } });
}
