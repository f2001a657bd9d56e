import { type Address, isIpv4, parseAddress } from "../base/address.ts";
import { type RouterUrl, textOfUrl, urlIn } from "./ssdp.ts";

// The few requests of UPnP (WANIPConnection) that a port needs. A router's answers may be anything: all of this takes
// a time that grows with their length, which is bounded, and nothing in them is followed but to the router's own address.

/** What opens ports, the best first. Routers from before 2015 may still have the last ones, of the DSL Forum. */
const CONNECTIONS = [
  /^urn:schemas-upnp-org:service:WANIPConnection:[2-9]$/,
  /^urn:schemas-upnp-org:service:WANIPConnection:1$/,
  /^urn:schemas-upnp-org:service:WANPPPConnection:[1-9]$/,
  /^urn:dslforum-org:service:WAN(?:IP|PPP)Connection:[1-9]$/,
];
const [NEWEST] = CONNECTIONS;
const SERVICE = /<(?:[\w.-]{1,32}:)?service(?:[ \t\r\n][^<>]*)?>/;
/** A router has about ten. */
const MAX_SERVICES = 64;
/** A router with two lines and both kinds of services has four. */
const MAX_CONNECTIONS = 6;
/** The longest namespace prefix of an element that is looked for. */
const MAX_PREFIX = 32;

/** What takes requests about ports. */
export interface Connection extends RouterUrl {
  service: string;
}

export type Fields = Readonly<Record<string, string>>;

/** Mistakes that the router names by number (WANIPConnection:2, 2.5). */
export const UPNP_ERROR = {
  notAuthorized: 606,
  conflict: 718,
  samePortOnly: 724,
  conflictWithOthers: 729,
} as const;

/** The services for ports in a description that was read at `from`, the best first. */
export function connectionsIn(description: string, router: Address, from: RouterUrl): Connection[] {
  const text = withoutComments(description);
  const own = textOfUrl(router, from);
  // The base of UPnP 1.0, which later versions deprecate.
  const base = urlIn(textIn(text, "URLBase"), own) ?? from;
  const all = text
    .split(SERVICE)
    .slice(1, MAX_SERVICES)
    .flatMap((part): Connection[] => {
      const service = textIn(part, "serviceType");
      const url = urlIn(unescaped(textIn(part, "controlURL")), textOfUrl(router, base));
      return url === null ? [] : [{ ...url, service }];
    });
  return CONNECTIONS.flatMap((kind) => all.filter(({ service }) => kind.test(service))).slice(
    0,
    MAX_CONNECTIONS,
  );
}

/** Whether the service picks a free port by itself (AddAnyPortMapping). */
export function picksPorts({ service }: Connection): boolean {
  return NEWEST?.test(service) === true;
}

/** The body of a request, and its header `SOAPAction`. */
export function requestFor({ service }: Connection, action: string, fields: Fields) {
  const inner = Object.entries(fields).map(([name, value]) => `<${name}>${escaped(value)}</${name}>`);
  return {
    action: `"${service}#${action}"`,
    body: `<?xml version="1.0"?>\r\n<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><s:Body><u:${action} xmlns:u="${service}">${inner.join("")}</u:${action}></s:Body></s:Envelope>\r\n`,
  };
}

/** The number of a refusal; null if the answer has none. */
export function errorIn(answer: string): number | null {
  return numberIn(answer, "errorCode");
}

/** Whether the line of this service is up (`GetStatusInfo`). */
export function isUpIn(answer: string): boolean {
  return /^(?:Connected|Up)$/i.test(textIn(answer, "NewConnectionStatus"));
}

/** Null if the router tells none. */
export function externalAddressIn(answer: string): Address | null {
  const text = textIn(answer, "NewExternalIPAddress");
  return isIpv4(text) ? parseAddress(text) : null;
}

/** The port that the router has picked (`AddAnyPortMapping`). */
export function pickedPortIn(answer: string): number | null {
  return numberIn(answer, "NewReservedPort");
}

/** A mapping that the router has, as it tells it in its list, or for one external port. */
export interface Entry {
  protocol: string;
  external: number | null;
  client: string;
  internal: number | null;
  description: string;
}

export function entryIn(answer: string): Entry {
  return {
    protocol: textIn(answer, "NewProtocol"),
    external: numberIn(answer, "NewExternalPort"),
    client: textIn(answer, "NewInternalClient"),
    internal: numberIn(answer, "NewInternalPort"),
    description: textIn(answer, "NewPortMappingDescription"),
  };
}

function numberIn(xml: string, name: string): number | null {
  const text = textIn(xml, name);
  return /^[0-9]{1,5}$/.test(text) ? Number(text) : null;
}

/** What stands in the first element of this name, which may have a prefix and attributes; empty if there is none. */
function textIn(xml: string, name: string): string {
  for (let at = xml.indexOf(name); at >= 0; at = xml.indexOf(name, at + name.length)) {
    if (!isStartTag(xml, at, name.length)) continue;
    const from = xml.indexOf(">", at) + 1;
    const end = xml.indexOf("<", from);
    return from === 0 || end < 0 ? "" : xml.slice(from, end).trim();
  }
  return "";
}

function isStartTag(xml: string, at: number, length: number): boolean {
  return (
    /<(?:[\w.-]+:)?$/.test(xml.slice(Math.max(0, at - MAX_PREFIX - 2), at)) &&
    /^[ \t\r\n>]/.test(xml.slice(at + length, at + length + 1))
  );
}

/** Routers leave services there that they do not have. */
function withoutComments(xml: string): string {
  const [first = "", ...rest] = xml.split("<!--");
  return (
    first +
    rest.map((part) => part.slice(part.indexOf("-->") < 0 ? part.length : part.indexOf("-->") + 3)).join("")
  );
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
