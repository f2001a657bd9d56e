import { type Static, Type } from "typebox";
import {
  addressOf,
  isHostName,
  isIpv4,
  isIpv6,
  type Prefix,
  parsePrefix,
  prefixOf,
} from "../base/address.ts";
import { checkerOf } from "../base/checker.ts";
import { objectOf } from "../base/object.ts";
import { listIn, Saved, SavedList } from "../base/saved.ts";
import type { HomePart, RemotePart } from "../killswitch/remote-part.ts";
import { isTunnelName } from "../tunnel/name.ts";
import { isKey } from "../wireguard/key-text.ts";
import { addressesIn, gatewayIn, type Networks, numberOf } from "./networks.ts";

/** What the operator has decided about remote access. */
const StoredAccess = objectOf({
  on: Type.Boolean(),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  /** The name or address that devices call, and its port; null if the gateway's own is used. */
  endpoint: Type.Union([
    objectOf({ host: Type.String(), port: Type.Integer({ minimum: 1, maximum: 65_535 }) }),
    Type.Null(),
  ]),
  through: Type.Union([Type.String(), Type.Null()]),
  /** If the tunnel's provider is asked for a port; the one that it gave last, or null. */
  forwarded: Type.Optional(
    objectOf({ external: Type.Union([Type.Integer({ minimum: 1, maximum: 65_535 }), Type.Null()]) }),
  ),
  ipv4: Type.String(),
  ipv6: Type.String(),
});
type StoredAccess = Static<typeof StoredAccess>;
export type Access = Omit<StoredAccess, "ipv4" | "ipv6"> & Networks;

export const REMOTE_ID = "^10\\.[0-9]+\\.[0-9]+\\.[0-9]+/32$";

const StoredPeer = objectOf({
  /** Its IPv4 address, as a prefix. */
  id: Type.String({ pattern: REMOTE_ID }),
  public_key: Type.String(),
  /** Another home that leaves here has none: codes have no secrets. */
  preshared_key: Type.Optional(Type.String()),
  lan: Type.Boolean(),
});

/** A remote device, as WireGuard knows it. The latest one comes last. */
export type RemotePeer = Omit<Static<typeof StoredPeer>, "id"> & { id: Prefix };

const storedPeers = listIn(StoredPeer);

export const REMOTE_PEERS = new SavedList<RemotePeer>({
  key: "remote_devices",
  what: "remote device",
  /** As many as a home's phones and laptops; each is in some rules of the firewall. */
  max: 64,
  maxCharacters: 300,
  entriesIn: (text) =>
    storedPeers(text).flatMap((peer) => {
      const id = parsePrefix(peer.id);
      const keys = [peer.public_key, ...(peer.preshared_key === undefined ? [] : [peer.preshared_key])];
      return id !== null && keys.every(isKey) ? [{ ...peer, id }] : [];
    }),
  format: JSON.stringify,
  nameOf: ({ id }) => id,
  claimOf: ({ public_key }) => public_key,
  wordsOf: ({ public_key, lan }) => `key ${public_key.slice(0, KEY_SHOWN)}…${lan ? "" : ", without the LAN"}`,
});

/** Enough characters to tell one key from another. */
const KEY_SHOWN = 8;

/** The gateway's own key, which is never shown; null if there is none. */
export const REMOTE_PRIVATE_KEY = new Saved<string | null>(
  "remote_key",
  (text) => (text !== null && isKey(text) ? text : null),
  (key) => key ?? "",
);

const storedAccess = checkerOf(StoredAccess);

/** What the operator has decided; null if there is nothing, or if this version cannot read it. */
export const REMOTE_DECISION = new Saved<Access | null>("remote", accessIn);

function accessIn(text: string | null): Access | null {
  const value = storedAccess.read(text);
  if (value === null) return null;
  const [ipv4, ipv6] = [parsePrefix(value.ipv4), parsePrefix(value.ipv6)];
  const { endpoint, through } = value;
  const isEndpoint = endpoint === null || isEndpointHost(endpoint.host);
  if (ipv4 === null || ipv6 === null || !isEndpoint) return null;
  if (!/^10\.\d+\.\d+\.0\/24$/.test(ipv4) || !/^fd[0-9a-f:]+::\/64$/.test(ipv6)) return null;
  if (through !== null && through !== "main" && !isTunnelName(through)) return null;
  return { ...value, ipv4, ipv6 };
}

export function isEndpointHost(host: string): boolean {
  return isIpv4(host) || isIpv6(host) || isHostName(host);
}

/** The addresses of a device in the present networks. */
export function addressesOf(networks: Networks, id: Prefix) {
  return addressesIn(networks, numberOf(addressOf(id)));
}

export function idOf(networks: Networks, number: number): Prefix {
  const [ipv4] = addressesIn(networks, number);
  if (ipv4 === undefined) throw new Error("a device has an IPv4 address");
  return prefixOf(ipv4);
}

/** What the kill switch must permit; null while nothing is. */
export function partOf(
  link: string,
  access: Access | null,
  peers: readonly RemotePeer[],
  homes: readonly HomePart[] = [],
): RemotePart | null {
  if (access === null || !access.on) return null;
  const { port, through, ipv4, ipv6 } = access;
  const devices = peers.map(({ id, lan }) => ({ id, lan, addresses: addressesOf(access, id) }));
  return {
    interface: link,
    port,
    through,
    addresses: gatewayIn(access),
    networks: [ipv4, ipv6],
    devices,
    ...(homes.length > 0 && { homes }),
  };
}
