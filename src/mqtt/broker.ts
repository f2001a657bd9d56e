import { isIP } from "node:net";
import { type Address, contains, type Prefix, parseAddress, parsePrefix, unmapped } from "../base/address.ts";

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

/** The broker that `--mqtt` names. The settings have checked the text. */
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

/**
 * The gateway's own address in the tunnel, if the tunnel leads to an address; else null. The kill switch may be off:
 * then packets that the tunnel does not carry would leave outside it.
 */
export type TunnelTo = (address: Address) => Address | null;

/** Looks up a name as other programs of the machine do, so that `.local` works if they know it (nsswitch.conf(5)). */
export async function addressesOf(host: string): Promise<Address[]> {
  const isName = isIP(host) === 0;
  const found = isName ? await Bun.dns.lookup(host, { backend: "libc", socketType: "tcp" }) : [];
  const texts = isName ? found.map(({ address }) => address) : [host];
  return texts.flatMap((text) => parseAddress(text) ?? []).map(unmapped);
}

const LOOPBACK = ["127.0.0.0/8", "::1/128"].map((text) => parsePrefix(text)).filter((each) => each !== null);

/** How the gateway's own packets reach an address, in a tunnel with the source address; null if only outside the tunnel. */
export function wayTo(
  address: Address,
  lans: readonly Prefix[],
  tunnelTo: TunnelTo,
): "LAN" | { from: Address } | null {
  if ([...LOOPBACK, ...lans].some((prefix) => contains(prefix, address))) return "LAN";
  const from = tunnelTo(address);
  return from && { from };
}
