import { Type } from "typebox";
import type { Address } from "../base/address.ts";
import { ALL_PORTS, DISGUISED_PORTS, type PortRange, portsToTry, rangesIn } from "./ports.ts";
import { isServerAddress } from "./server-address.ts";
import type { Place, Transport } from "./transport.ts";

/** Where a server understands Shadowsocks with Mullvad's password; at these addresses of its own, at every port. */
interface Offer {
  ports: readonly PortRange[];
  addresses?: readonly Address[];
}

/** SIP004 (AEAD) over UDP: a salt, the address that the server sends to, and a tag. */
const ADDED_BYTES = 32 + 7 + 16;

/** Each packet is encrypted once more, so that nothing in it can be distinguished from random bytes. */
export const SHADOWSOCKS = {
  protocol: "udp",
  offered: {
    by: "list",
    own: { schema: Type.Unknown(), read: (value) => offerIn(value, []) },
    ofMullvad: (relay, all) => offerIn(all.shadowsocks_port_ranges, relay.shadowsocks_extra_addr_in),
  },
  places,
  addedBytes: () => ADDED_BYTES,
  relay: {
    settings: async () => ({}),
    carriage: {
      kind: "datagrams",
      async disguise() {
        const { Shadowsocks } = await import("./disguises/shadowsocks.ts");
        return new Shadowsocks();
      },
    },
    words: { name: "shadowsocks", seen: "encrypted once more (`shadowsocks`)", by: "by Shadowsocks" },
  },
  words: {
    title: "By Shadowsocks",
    option: "encrypted (shadowsocks)",
    asked: "`shadowsocks` encrypts all of a packet",
  },
} as const satisfies Transport<Offer, object>;

function offerIn(ports: unknown, addresses: unknown): Offer | null {
  const ranges = rangesIn(ports);
  const own = (Array.isArray(addresses) ? addresses : []).filter(isServerAddress);
  if (ranges.length === 0 && own.length === 0) return null;
  return { ports: ranges, ...(own.length > 0 && { addresses: own.slice(0, 1) }) };
}

/** One of its addresses for that alone, which has every port, and its usual one, in turn. */
function places(_: unknown, known: number | null, { ports, addresses = [] }: Offer): Place[] {
  const [address] = addresses;
  const own =
    address === undefined ? [] : portsToTry(null, ALL_PORTS, known).map((port) => ({ address, port }));
  const usual = portsToTry(null, ports, known).map((port) => ({ port }));
  return own
    .flatMap((place, at) => [place, ...usual.slice(at, at + 1)])
    .concat(usual.slice(own.length))
    .slice(0, DISGUISED_PORTS);
}
