import type { Address } from "../base/address.ts";
import { SSDP } from "../killswitch/router.ts";
import { ROUTER_MARK } from "../network/slot.ts";
import type { Host, UdpSocket } from "../system/host.ts";

// The search for a router's descriptions (UPnP Device Architecture 2.0, 1.3.2). Routers differ in what they answer: some
// the search for a gateway, some only one for everything; some only what is sent to the group, and some from another port.

const TARGETS = ["urn:schemas-upnp-org:device:InternetGatewayDevice:1", "ssdp:all"];
/** In an answer, what says that the description is a gateway's and not that of a media server beside it. */
const GATEWAY = /InternetGatewayDevice|WAN(?:IP|PPP)Connection/;
/** The first wait for answers; each further one is twice as long. They add up to 3.75 s. */
const FIRST_WAIT_MS = 250;
const ATTEMPTS = 4;
const POLL_MS = 10;
/** A router has one, or a few. */
const MAX_LOCATIONS = 4;
/** A path of a router has some twenty characters. */
const MAX_URL = 256;

/** Where a router says that its description is, or where it takes requests: always at its own address. */
export interface RouterUrl {
  port: number;
  /** With its query. */
  path: string;
}

/** Where the search is sent from. The kill switch lets the router's answers in to this port. */
export interface SearchPlace {
  router: Address;
  link: string;
  own: { address: Address; port: number };
}

type Network = Pick<Host, "openUdp" | "sleep" | "monotonic">;

/** Where the router's descriptions are, those of gateways first; empty if it does not answer. */
export async function search(place: SearchPlace, host: Network, signal: AbortSignal): Promise<RouterUrl[]> {
  const { router, link, own } = place;
  const socket = await host.openUdp({ link, own, mark: ROUTER_MARK });
  const found: Found = { gateways: new Map(), others: new Map() };
  try {
    for (let attempt = 0; attempt < ATTEMPTS && isNothing(found); attempt += 1) {
      for (const target of TARGETS)
        for (const address of [router, SSDP.group]) socket.send(messageFor(target), { ...SSDP, address });
      const end = host.monotonic() + FIRST_WAIT_MS * 2 ** attempt;
      while (found.gateways.size === 0 && host.monotonic() < end) {
        await host.sleep(POLL_MS, signal);
        signal.throwIfAborted();
        hear(socket, router, found);
      }
    }
  } finally {
    socket.close();
  }
  return [...found.gateways.values(), ...found.others.values()];
}

/** By their text, because a router answers each search several times. */
interface Found {
  gateways: Map<string, RouterUrl>;
  others: Map<string, RouterUrl>;
}

function isNothing({ gateways, others }: Found): boolean {
  return gateways.size + others.size === 0;
}

function hear(socket: UdpSocket, router: Address, { gateways, others }: Found): void {
  const received = socket.received();
  if (received === "refused") return;
  for (const { address, bytes } of received) {
    const text = new TextDecoder("latin1").decode(bytes);
    const url = address === router ? locationIn(text) : null;
    const kept = GATEWAY.test(text) ? gateways : others;
    if (url !== null && kept.size < MAX_LOCATIONS) kept.set(textOfUrl(router, url), url);
  }
}

/** Routers expect the group's address in `HOST`, also in what is sent to them alone. */
export function messageFor(target: string): Uint8Array {
  const lines = ["M-SEARCH * HTTP/1.1", `HOST: ${SSDP.group}:${SSDP.port}`, 'MAN: "ssdp:discover"', "MX: 1"];
  return new TextEncoder().encode([...lines, `ST: ${target}`, "", ""].join("\r\n"));
}

export function locationIn(text: string): RouterUrl | null {
  const [status = "", ...lines] = text.split(/\r?\n/);
  if (!/^HTTP\/1\.[01] 200\b/.test(status)) return null;
  const line = lines.find((each) => /^location[ \t]*:/i.test(each));
  return line === undefined ? null : urlIn(line.slice(line.indexOf(":") + 1).trim());
}

/**
 * Port and path of plain http; null for anything else. The host does not count: routers name an address that they had
 * before, or one of another interface, and whatever they name, only the router's own address is asked.
 */
export function urlIn(text: string, base?: string): RouterUrl | null {
  if (!/^[\x21-\x7e]+$/.test(text) || text.length > MAX_URL) return null;
  const url = URL.parse(text, base);
  if (url === null || url.protocol !== "http:" || url.username !== "" || url.password !== "") return null;
  const port = url.port === "" ? 80 : Number(url.port);
  return port === 0 ? null : { port, path: url.pathname + url.search };
}

export function textOfUrl(router: Address, { port, path }: RouterUrl): string {
  return `http://${router}:${port}${path}`;
}
