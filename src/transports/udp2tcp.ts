import { Type } from "typebox";
import { isPort } from "./ports.ts";
import type { Transport } from "./transport.ts";

/** TCP ports at which a server takes WireGuard's packets, the first to be tried first. */
type Offer = readonly number[];

/** No list of Mullvad's has them; the app has them built in. The first is the one that most networks let pass. */
const PORTS_OF_MULLVAD: Offer = [443, 80, 5001];
/** More than any list has. Each of them is tried, so they must be few. */
const MAX_PORTS = 3;
/**
 * TCP's header has 24 bytes more than UDP's with its timestamps, and each packet's length takes 2. A longer packet gets
 * through, too, but takes two segments.
 */
const ADDED_BYTES = 24 + 2;

/** In a TCP connection (mullvad/udp-over-tcp), where UDP does not get through. */
export const UDP2TCP = {
  protocol: "tcp",
  offered: {
    by: "list",
    own: { schema: Type.Unknown(), read: portsIn },
    ofMullvad: () => PORTS_OF_MULLVAD,
  },
  places: (_, __, ports) => ports.map((port) => ({ port })),
  addedBytes: () => ADDED_BYTES,
  relay: {
    settings: async () => ({}),
    carriage: { kind: "stream" },
    words: { name: "udp2tcp", seen: "inside a TCP connection (`udp2tcp`)", by: "over TCP" },
  },
  words: {
    title: "Over TCP",
    option: "inside TCP (udp2tcp)",
    asked: "`udp2tcp` puts it inside a TCP connection",
  },
} as const satisfies Transport<Offer, object>;

/** `[443,80]`; what cannot be read is left out. */
function portsIn(value: unknown): Offer | null {
  const ports = Array.isArray(value) ? value.filter((each) => typeof each === "number" && isPort(each)) : [];
  return ports.length === 0 ? null : [...new Set<number>(ports)].slice(0, MAX_PORTS);
}
