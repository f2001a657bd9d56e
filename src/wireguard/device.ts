import { parseIp } from "../address.ts";
import { GatewayError } from "../errors.ts";
import { formatEndpoint, lines } from "./config.ts";
import { publicKeyOf } from "./key.ts";
import type { Config } from "./schema.ts";

/** What a WireGuard interface says of itself. Private and preshared keys end in the parsers below. */
export interface Device {
  publicKey: string | null;
  /** 0 is none. */
  fwmark: number;
  peer: DevicePeer | null;
}

export interface DevicePeer {
  publicKey: string;
  /** `address:port` or `[IPv6]:port`. */
  endpoint: string | null;
  /** Milliseconds since 1970; 0 is none yet. */
  latestHandshake: number;
  rxBytes: number;
  txBytes: number;
}

/** What the gateway adds to a configuration when it connects. */
export interface Link {
  /** Where the endpoint's host is found now. */
  endpoint: { address: string; port: number };
  fwmark: number;
  /** Seconds; 0 is off. */
  keepalive: number;
}

/** The text for `wg setconf IF /dev/stdin`. */
export function setconfText(config: Config, link: Link): string {
  const { interface: own, peer } = config;
  return lines([
    "[Interface]",
    `PrivateKey = ${own.privateKey}`,
    `FwMark = ${link.fwmark}`,
    "",
    "[Peer]",
    `PublicKey = ${peer.publicKey}`,
    peer.presharedKey !== undefined && `PresharedKey = ${peer.presharedKey}`,
    `Endpoint = ${formatEndpoint(link.endpoint.address, link.endpoint.port)}`,
    `AllowedIPs = ${peer.allowedIps.join(", ")}`,
    `PersistentKeepalive = ${link.keepalive}`,
  ]);
}

/** The same as `set=1` of the cross-platform userspace interface (wireguard.com/xplatform). */
export function uapiText(config: Config, link: Link): string {
  const { interface: own, peer } = config;
  const text = lines([
    "set=1",
    `private_key=${hexOf(own.privateKey)}`,
    `fwmark=${link.fwmark}`,
    "replace_peers=true",
    `public_key=${hexOf(peer.publicKey)}`,
    peer.presharedKey !== undefined && `preshared_key=${hexOf(peer.presharedKey)}`,
    `endpoint=${formatEndpoint(link.endpoint.address, link.endpoint.port)}`,
    `persistent_keepalive_interval=${link.keepalive}`,
    ...peer.allowedIps.map((prefix) => `allowed_ip=${prefix}`),
  ]);
  return `${text}\n`;
}

/** Reads `wg show IF dump` (wg(8)): the interface on the first line, a peer on each line that follows. */
export function parseDump(text: string): Device {
  const [own = [], ...peers] = text
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  const [, publicKey = "", , fwmark = ""] = own;
  if (own.length !== 4 || peers.some((peer) => peer.length !== 8)) refuse();
  return {
    publicKey: unless("(none)", publicKey),
    fwmark: fwmark === "off" ? 0 : numberIn(fwmark),
    peer: onlyOne(
      peers.map(([publicKey = "", , endpoint = "", , handshake = "", rx = "", tx = ""]) => ({
        publicKey,
        endpoint: canonical(unless("(none)", endpoint)),
        latestHandshake: numberIn(handshake) * 1000,
        rxBytes: numberIn(rx),
        txBytes: numberIn(tx),
      })),
    ),
  };
}

/** Reads the answer to `get=1` of the cross-platform userspace interface (wireguard.com/xplatform). */
export function parseUapi(text: string): Device {
  const pairs = text.trimEnd().split("\n").map(pairOf);
  const [last, errno] = pairs.pop() ?? [];
  if (last !== "errno" || errno !== "0") refuse();
  const starts = pairs.flatMap(([key], index) => (key === "public_key" ? [index] : []));
  const own = new Map(pairs.slice(0, starts[0]));
  const privateKey = own.get("private_key");
  return {
    // Worked out where it is wanted: it costs more than all the rest, and this is asked many times a second.
    get publicKey() {
      return privateKey === undefined ? null : publicKeyOf(base64Of(privateKey));
    },
    fwmark: numberIn(own.get("fwmark") ?? "0"),
    peer: onlyOne(starts.map((start, index) => uapiPeer(new Map(pairs.slice(start, starts[index + 1]))))),
  };
}

function uapiPeer(peer: ReadonlyMap<string, string>): DevicePeer {
  const seconds = numberIn(peer.get("last_handshake_time_sec") ?? "0");
  const nanoseconds = numberIn(peer.get("last_handshake_time_nsec") ?? "0");
  return {
    publicKey: base64Of(peer.get("public_key")),
    endpoint: canonical(peer.get("endpoint") ?? null),
    latestHandshake: seconds * 1000 + Math.floor(nanoseconds / 1_000_000),
    rxBytes: numberIn(peer.get("rx_bytes") ?? "0"),
    txBytes: numberIn(peer.get("tx_bytes") ?? "0"),
  };
}

function pairOf(line: string): [string, string] {
  const equals = line.indexOf("=");
  return equals < 0 ? refuse() : [line.slice(0, equals), line.slice(equals + 1)];
}

function onlyOne(peers: DevicePeer[]): DevicePeer | null {
  if (peers.length > 1) throw new GatewayError("unable", "The WireGuard interface has several peers.");
  return peers[0] ?? null;
}

/** C and Go spell some IPv6 addresses differently (`::0.1.0.0`, `::1:0`); here there is one spelling. */
function canonical(endpoint: string | null): string | null {
  const [, host = "", port] = /^\[?([^\]]*)\]?:([0-9]+)$/.exec(endpoint ?? "") ?? [];
  const address = parseIp(host);
  return address === null ? endpoint : formatEndpoint(address, Number(port));
}

function unless(none: string, text: string): string | null {
  return text === none ? null : text;
}

function numberIn(text: string): number {
  return /^([0-9]+|0x[0-9a-f]+)$/.test(text) ? Number(text) : refuse();
}

function hexOf(base64: string): string {
  return Uint8Array.fromBase64(base64).toHex();
}

function base64Of(hex: string | undefined): string {
  if (hex === undefined || !/^[0-9a-f]{64}$/.test(hex)) return refuse();
  return Uint8Array.fromHex(hex).toBase64();
}

function refuse(): never {
  throw new GatewayError(
    "unable",
    "The WireGuard interface gave an answer that the gateway does not understand.",
  );
}
