import { type Endpoint, parseAddress } from "../base/address.ts";
import { formatEndpoint, lines } from "./config-text.ts";
import { publicKeyOf } from "./key.ts";
import { refused } from "./refusals.ts";
import type { Config } from "./schema.ts";

/** The state of a WireGuard interface. The parsers below drop private and preshared keys. */
export interface Interface extends OwnEnd {
  peer: InterfacePeer | null;
}

export interface OwnEnd {
  publicKey: string | null;
  /** 0 means none. */
  fwmark: number;
}

export interface InterfacePeer {
  publicKey: string;
  /** Null if there is none, or if it is link-local: such an address alone does not lead to it. */
  endpoint: Endpoint | null;
  /** Milliseconds since 1970, with fractions if WireGuard reports them; 0 if there was none yet. */
  latestHandshake: number;
  rxBytes: number;
  txBytes: number;
}

/** The other end as it is configured on an interface: a server, or a remote device. */
export interface Peer {
  config: Pick<Config["peer"], "publicKey" | "presharedKey" | "allowedIps">;
  /** The current address of the endpoint's host; null if the peer calls first. */
  endpoint: Endpoint | null;
  /** Seconds; 0 means off. */
  keepalive: number;
}

/** The interface's own end. */
export interface Own {
  privateKey: string;
  fwmark: number;
  /** The UDP port at which peers call; any if absent. */
  listenPort?: number;
}

/** The text for `wg setconf IF /dev/stdin`. */
export function setconfText({ privateKey, fwmark, listenPort }: Own, peers: readonly Peer[]): string {
  return lines([
    "[Interface]",
    `PrivateKey = ${privateKey}`,
    `FwMark = ${fwmark}`,
    listenPort !== undefined && `ListenPort = ${listenPort}`,
    ...peers.flatMap(peerSection),
  ]);
}

/** A peer in a file for `wg`. */
export function peerSection({ config, endpoint, keepalive }: Peer): (string | false)[] {
  return [
    "",
    "[Peer]",
    `PublicKey = ${config.publicKey}`,
    config.presharedKey !== undefined && `PresharedKey = ${config.presharedKey}`,
    endpoint !== null && `Endpoint = ${formatEndpoint(endpoint.address, endpoint.port)}`,
    config.allowedIps.length > 0 && `AllowedIPs = ${config.allowedIps.join(", ")}`,
    `PersistentKeepalive = ${keepalive}`,
  ];
}

/** The same as a `set=1` request of the cross-platform userspace interface (wireguard.com/xplatform). */
export function uapiText({ privateKey, fwmark, listenPort }: Own, peers: readonly Peer[]): string {
  const text = lines([
    "set=1",
    `private_key=${hexOf(privateKey)}`,
    `fwmark=${fwmark}`,
    listenPort !== undefined && `listen_port=${listenPort}`,
    "replace_peers=true",
    ...peers.flatMap((peer) => peerLines(peer)),
  ]);
  return `${text}\n`;
}

/** A peer in a `set=1` request. */
export function peerLines({ config, endpoint, keepalive }: Peer, ...more: string[]): (string | false)[] {
  return [
    `public_key=${hexOf(config.publicKey)}`,
    config.presharedKey !== undefined && `preshared_key=${hexOf(config.presharedKey)}`,
    endpoint !== null && `endpoint=${formatEndpoint(endpoint.address, endpoint.port)}`,
    `persistent_keepalive_interval=${keepalive}`,
    ...more,
    ...config.allowedIps.map((prefix) => `allowed_ip=${prefix}`),
  ];
}

export function parseDump(text: string): Interface {
  const { peers, ...own } = dumped(text);
  return { ...own, peer: onlyOne(peers) };
}

/** The peers of an interface that may have several. */
export function peersInDump(text: string): InterfacePeer[] {
  return dumped(text).peers;
}

/** The interface's own end, however many peers it has. */
export function ownInDump(text: string): OwnEnd {
  return dumped(text);
}

export function parseUapi(text: string): Interface {
  const { own, peers } = exchanged(text);
  return Object.assign(ownEndOf(own), { peer: onlyOne(peers) });
}

export function ownInUapi(text: string): OwnEnd {
  return ownEndOf(exchanged(text).own);
}

export function peersInUapi(text: string): InterfacePeer[] {
  return exchanged(text).peers;
}

/** Reads `wg show IF dump` (wg(8)): the interface on the first line, a peer on each line that follows. */
function dumped(text: string): OwnEnd & { peers: InterfacePeer[] } {
  const [own = [], ...peers] = text
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  const [, publicKey = "", , fwmark = ""] = own;
  if (own.length !== 4 || peers.some((peer) => peer.length !== 8)) refuse();
  return {
    publicKey: unless("(none)", publicKey),
    fwmark: fwmark === "off" ? 0 : numberIn(fwmark),
    peers: peers.map(([publicKey = "", , endpoint = "", , handshake = "", rx = "", tx = ""]) => ({
      publicKey,
      endpoint: endpointIn(endpoint),
      latestHandshake: numberIn(handshake) * 1000,
      rxBytes: numberIn(rx),
      txBytes: numberIn(tx),
    })),
  };
}

/** Reads the answer to `get=1` of the cross-platform userspace interface (wireguard.com/xplatform). */
function exchanged(text: string): { own: ReadonlyMap<string, string>; peers: InterfacePeer[] } {
  const pairs = text.trimEnd().split("\n").map(pairOf);
  const [last, errno] = pairs.pop() ?? [];
  if (last !== "errno" || errno !== "0") refuse();
  const starts = pairs.flatMap(([key], index) => (key === "public_key" ? [index] : []));
  return {
    own: new Map(pairs.slice(0, starts[0])),
    peers: starts.map((start, index) => uapiPeer(new Map(pairs.slice(start, starts[index + 1])))),
  };
}

function ownEndOf(own: ReadonlyMap<string, string>): OwnEnd {
  const privateKey = own.get("private_key");
  return {
    // Computed on demand: it costs more than all the rest, and the state is read many times a second.
    get publicKey() {
      return privateKey === undefined ? null : publicKeyOf(base64Of(privateKey));
    },
    fwmark: numberIn(own.get("fwmark") ?? "0"),
  };
}

function uapiPeer(peer: ReadonlyMap<string, string>): InterfacePeer {
  const seconds = numberIn(peer.get("last_handshake_time_sec") ?? "0");
  const nanoseconds = numberIn(peer.get("last_handshake_time_nsec") ?? "0");
  return {
    publicKey: base64Of(peer.get("public_key")),
    endpoint: endpointIn(peer.get("endpoint") ?? ""),
    latestHandshake: seconds * 1000 + nanoseconds / 1_000_000,
    rxBytes: numberIn(peer.get("rx_bytes") ?? "0"),
    txBytes: numberIn(peer.get("tx_bytes") ?? "0"),
  };
}

function pairOf(line: string): [string, string] {
  const equals = line.indexOf("=");
  return equals < 0 ? refuse() : [line.slice(0, equals), line.slice(equals + 1)];
}

function onlyOne(peers: InterfacePeer[]): InterfacePeer | null {
  if (peers.length > 1) throw refused("interface_with_peers");
  return peers[0] ?? null;
}

/** C and Go spell some IPv6 addresses differently (`::0.1.0.0`, `::1:0`); here both have one spelling. */
function endpointIn(text: string): Endpoint | null {
  const [, host = "", port] = /^\[?([^\]]*)\]?:([0-9]+)$/.exec(text) ?? [];
  const address = parseAddress(host);
  return address === null ? null : { address, port: Number(port) };
}

function unless(none: string, text: string): string | null {
  return text === none ? null : text;
}

function numberIn(text: string): number {
  return /^([0-9]+|0x[0-9a-f]+)$/.test(text) ? Number(text) : refuse();
}

export function hexOf(base64: string): string {
  return Uint8Array.fromBase64(base64).toHex();
}

export function base64Of(hex: string | undefined): string {
  if (hex === undefined || !/^[0-9a-f]{64}$/.test(hex)) return refuse();
  return Uint8Array.fromHex(hex).toBase64();
}

function refuse(): never {
  throw refused("interface_unclear");
}
