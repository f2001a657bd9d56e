import type { Address } from "../base/address.ts";
import type { Question } from "./exchange.ts";

// The search for a router's description (UPnP Device Architecture 2.0, 1.3.2), sent to the router alone.

const SSDP_PORT = 1900;
/** A path of a router has some twenty characters. */
const MAX_URL = 256;
const ROUTER = "urn:schemas-upnp-org:device:InternetGatewayDevice:1";

/** Where a router says that its description is, or where it takes requests: always at its own address. */
export interface RouterUrl {
  port: number;
  /** With its query. */
  path: string;
}

export function searchFor(router: Address): Question<RouterUrl> {
  const lines = ["M-SEARCH * HTTP/1.1", `HOST: ${router}:${SSDP_PORT}`, 'MAN: "ssdp:discover"', "MX: 1"];
  return {
    bytes: new TextEncoder().encode([...lines, `ST: ${ROUTER}`, "", ""].join("\r\n")),
    port: SSDP_PORT,
    read: (bytes) => locationIn(new TextDecoder("latin1").decode(bytes), router),
  };
}

function locationIn(text: string, router: Address): RouterUrl | null {
  const [status = "", ...lines] = text.split("\r\n");
  if (!/^HTTP\/1\.[01] 200\b/.test(status)) return null;
  const line = lines.find((each) => /^location:/i.test(each));
  return line === undefined ? null : urlAt(router, line.slice(line.indexOf(":") + 1).trim());
}

/** Null for whatever is not plain http to the router's own address: what it names is asked. */
export function urlAt(router: Address, text: string, base = `http://${router}/`): RouterUrl | null {
  if (text.length > MAX_URL || !/^[\x21-\x7e]*$/.test(text)) return null;
  const url = URL.parse(text, base);
  if (url === null || url.protocol !== "http:" || url.hostname !== router) return null;
  if (url.username !== "" || url.password !== "") return null;
  const port = url.port === "" ? 80 : Number(url.port);
  return port === 0 ? null : { port, path: url.pathname + url.search };
}

export function textOfUrl(router: Address, { port, path }: RouterUrl): string {
  return `http://${router}:${port}${path}`;
}
