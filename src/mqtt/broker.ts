import { isIP } from "node:net";
import { type Address, contains, type Prefix, parseAddress, parsePrefix, unmapped } from "../address.ts";

/** The ports of MQTT and of MQTT over TLS that IANA has assigned. */
const PORT = 1883;
const TLS_PORT = 8883;

export interface Broker {
  tls: boolean;
  /** A name or an address. */
  host: string;
  port: number;
  user: string | null;
}

/** The broker that `--mqtt` names; the settings have checked the text. */
export function brokerIn(url: string): Broker {
  const { protocol, hostname, port, username } = new URL(url);
  const tls = protocol === "mqtts:";
  return {
    tls,
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (tls ? TLS_PORT : PORT) : Number(port),
    user: username === "" ? null : decodeURIComponent(username),
  };
}

/** Looks a name up as other programs of the machine do, so that `.local` works where they know it (nsswitch.conf(5)). */
export async function addressesOf(host: string): Promise<Address[]> {
  if (isIP(host) !== 0) return [host].flatMap((one) => parseAddress(one) ?? []);
  const found = await Bun.dns.lookup(host, { backend: "libc", socketType: "tcp" });
  return found.flatMap(({ address }) => parseAddress(address) ?? []);
}

const LOOPBACK = ["127.0.0.0/8", "::1/128"].map((text) => parsePrefix(text)).filter((each) => each !== null);

/** How the gateway's own packets reach an address; null if only outside the tunnel. */
export function wayTo(
  address: Address,
  lans: readonly Prefix[],
  isTunnelUp: boolean,
): "LAN" | "tunnel" | null {
  const plain = unmapped(address);
  if ([...LOOPBACK, ...lans].some((prefix) => contains(prefix, plain))) return "LAN";
  return isTunnelUp ? "tunnel" : null;
}
