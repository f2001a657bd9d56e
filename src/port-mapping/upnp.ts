import { type Address, isIpv4, parseAddress } from "../base/address.ts";
import { type RouterUrl, textOfUrl, urlAt } from "./ssdp.ts";

// The few requests of UPnP (WANIPConnection) that a port needs. A router's answers may be anything: all of this takes
// a time that grows with their length, which is bounded, and nothing in them is followed but to the router's own address.

const CONNECTION = /^urn:schemas-upnp-org:service:WAN(?:IP|PPP)Connection:[1-9]$/;
/** A router has about ten. */
const MAX_SERVICES = 64;

/** What takes requests about ports. */
export interface Connection extends RouterUrl {
  service: string;
}

export type Fields = Readonly<Record<string, string>>;

/** A mistake that the router names by number. */
export const UPNP_ERROR = {
  conflict: 718,
  onlyPermanent: 725,
} as const;

/** The first service for ports in a description that was read at `from`; null if there is none. */
export function connectionIn(description: string, router: Address, from: RouterUrl): Connection | null {
  const base = textOfUrl(router, from);
  for (const part of description.split("<service>").slice(1, MAX_SERVICES)) {
    const [text = ""] = part.split("</service>", 1);
    const service = textIn(text, "serviceType");
    const url = urlAt(router, unescaped(textIn(text, "controlURL")), base);
    if (CONNECTION.test(service) && url !== null) return { ...url, service };
  }
  return null;
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
  const text = textIn(answer, "errorCode");
  return /^[0-9]{1,4}$/.test(text) ? Number(text) : null;
}

/** Null if the router tells none. */
export function externalAddressIn(answer: string): Address | null {
  const text = textIn(answer, "NewExternalIPAddress");
  return isIpv4(text) ? parseAddress(text) : null;
}

/** A mapping that the router has. */
export interface Entry {
  protocol: string;
  external: number;
  client: string;
  description: string;
}

/** Null for what is no entry of the router's list. */
export function entryIn(answer: string): Entry | null {
  const external = textIn(answer, "NewExternalPort");
  if (!/^[0-9]{1,5}$/.test(external)) return null;
  return {
    protocol: textIn(answer, "NewProtocol"),
    external: Number(external),
    client: textIn(answer, "NewInternalClient"),
    description: textIn(answer, "NewPortMappingDescription"),
  };
}

/** What stands in the first element of this name, which may have attributes; empty if there is none. */
function textIn(xml: string, name: string): string {
  const start = xml.indexOf(`<${name}`);
  const from = xml.indexOf(">", start + name.length + 1) + 1;
  const end = xml.indexOf(`</${name}>`, from);
  return start < 0 || from === 0 || end < 0 ? "" : xml.slice(from, end).trim();
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
