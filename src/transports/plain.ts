import { portsToTry } from "./ports.ts";
import type { Transport } from "./transport.ts";

/** WireGuard itself, by UDP. */
export const PLAIN = {
  protocol: "udp",
  offered: { by: "all" },
  places: ({ config, ports = [] }, known) =>
    portsToTry(config.peer.endpoint.port, ports, known).map((port) => ({ port })),
  addedBytes: () => 0,
  relay: null,
  words: {
    title: "Plain WireGuard",
    option: "plain WireGuard",
    asked: "`plain` is WireGuard by UDP, at the server's usual port or the list's other ports",
  },
} as const satisfies Transport<undefined>;
