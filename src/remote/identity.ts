import type { Prefix } from "../base/address.ts";
import { nameIn } from "../base/name.ts";
import { type KeyPair, keyPairFrom, publicKeyOf } from "../wireguard/key.ts";
import { isKey } from "../wireguard/key-text.ts";
import { refused } from "./refusals.ts";
import { REMOTE_PRIVATE_KEY, type RemotePeer } from "./saved.ts";

/** What distinguishes remote devices: each has a name and a key of its own. */
export interface Known {
  peers: readonly RemotePeer[];
  nameOf: (id: Prefix) => string | null;
}

/** The device with this name or id. */
export function named({ peers, nameOf }: Known, nameOrId: string): RemotePeer {
  const found =
    peers.find(({ id }) => id === nameOrId) ?? peers.find(({ id }) => isSameName(nameOf(id) ?? "", nameOrId));
  if (found !== undefined) return found;
  throw refused("remote_unknown");
}

/** The name in a text, for the device `own`, or for a new one. */
export function freeName({ peers, nameOf }: Known, text: string, own: Prefix | null): string {
  const name = nameIn("name", text);
  const other = peers.find(({ id }) => id !== own && isSameName(nameOf(id) ?? "", name));
  if (other !== undefined) throw refused("remote_name_taken");
  return name;
}

/** The public key in a text; `own` is the gateway's. WireGuard has one peer for each key, with the addresses that came last. */
export function freeKey(
  others: readonly { public_key: string | null }[],
  key: string,
  own: string | null,
): string {
  if (!isKey(key)) throw refused("key_invalid");
  if (key === own || others.some(({ public_key }) => public_key === key)) throw refused("key_taken");
  return key;
}

/** The gateway's public key; null before it has one. */
export function gatewayKey(store: Parameters<typeof REMOTE_PRIVATE_KEY.read>[0]): string | null {
  const key = REMOTE_PRIVATE_KEY.read(store);
  return key === null ? null : publicKeyOf(key);
}

/**
 * The pair by which this home leaves at the other of a link: known before that has answered, and kept nowhere. Null
 * before the gateway has a key. Its derivation never changes.
 */
export function exitKeys(store: Parameters<typeof gatewayKey>[0], link: string): KeyPair | null {
  const key = REMOTE_PRIVATE_KEY.read(store);
  if (key === null) return null;
  return keyPairFrom(new Bun.CryptoHasher("sha256", key).update(`exit by the link ${link}`).digest());
}

function isSameName(one: string, other: string): boolean {
  return one.normalize("NFC").toLowerCase() === other.normalize("NFC").toLowerCase();
}
