import type { Config } from "../wireguard/schema.ts";
import { publicKeyIn } from "../wireguard/webcrypto.ts";

/** The public keys of both ends. What the server sends is hidden or signed by the key that it knows the gateway by. */
export interface Keys {
  serverKey: string;
  ownKey: string;
}

export async function keysOf({ peer }: Config, privateKey: string): Promise<Keys> {
  return { serverKey: peer.publicKey, ownKey: await publicKeyIn(privateKey) };
}
