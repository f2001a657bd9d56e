import type { Prefix } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import { nameIn } from "../base/name.ts";
import { publicKeyOf } from "../wireguard/key.ts";
import { isKey } from "../wireguard/key-text.ts";
import { refusal } from "./endpoint.ts";
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
  throw new GatewayError("not_found", "name: no device on the road has this name");
}

/** The name in a text, for the device `own`, or for a new one. */
export function freeName({ peers, nameOf }: Known, text: string, own: Prefix | null): string {
  const name = nameIn("name", text);
  const other = peers.find(({ id }) => id !== own && isSameName(nameOf(id) ?? "", name));
  if (other !== undefined) throw refusal("name", "another device on the road has this name");
  return name;
}

/** The public key in a text; `own` is the gateway's. */
export function freeKey({ peers }: Known, key: string, own: string | null): string {
  if (!isKey(key)) throw refusal("public_key", "must be a WireGuard key: 44 characters of base64");
  if (key === own || peers.some(({ public_key }) => public_key === key))
    throw refusal("public_key", "is in use already; each device needs a key of its own");
  return key;
}

/** The gateway's public key; null before it has one. */
export function gatewayKey(store: Parameters<typeof REMOTE_PRIVATE_KEY.read>[0]): string | null {
  const key = REMOTE_PRIVATE_KEY.read(store);
  return key === null ? null : publicKeyOf(key);
}

function isSameName(one: string, other: string): boolean {
  return one.normalize("NFC").toLowerCase() === other.normalize("NFC").toLowerCase();
}
