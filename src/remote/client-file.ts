import { formatConfig } from "../wireguard/config-text.ts";
import type { AddedRemoteDevice } from "./schema.ts";

/** What of a device's traffic goes through the gateway: everything, or only what is for home. */
export type Reach = "everything" | "home";

/** Keeps the way through a home router open while nothing is sent. */
const KEEPALIVE_SECONDS = 25;

/** A file for wg-quick and for WireGuard's apps. */
export function clientFile(added: AddedRemoteDevice, privateKey: string, reach: Reach): string {
  const { addresses, dns, mtu, public_key, preshared_key, endpoint, allowed_ips, home_ips } = added;
  const isHome = reach === "home";
  return formatConfig({
    // What does not go by the gateway has the resolver of the network where the device is.
    interface: { privateKey, addresses, dns: isHome ? [] : dns, searchDomains: [], mtu },
    peer: {
      publicKey: public_key,
      presharedKey: preshared_key,
      endpoint,
      allowedIps: isHome ? home_ips : allowed_ips,
      persistentKeepalive: KEEPALIVE_SECONDS,
    },
  });
}

/** The longest name of an interface in Linux, and of a tunnel in WireGuard's apps. */
const MAX_NAME_CHARACTERS = 15;

/** The file's name, by which apps and wg-quick name the tunnel. */
export function clientFileName(device: string): string {
  const plain = device
    .normalize("NFKD")
    .replace(/[^\w-]+/g, "")
    .replace(/^-+/, "");
  return `${plain.slice(0, MAX_NAME_CHARACTERS) || "home"}.conf`;
}
