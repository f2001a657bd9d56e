import type { OpenRelay, RelayFault, RelayPlace } from "../../src/system/host.ts";

const FIRST_PORT = 40_001;
const WIREGUARD_PORT = 50_000;

/** Relays to servers, and what becomes of their connections. */
export class FakeRelays {
  /** Servers, `address:port`, without a connection to them; of one that is silent, no relay tells. */
  readonly faults = new Map<string, RelayFault | "silent">();
  /** Where WireGuard reaches those that are open, and their servers. */
  readonly opened = new Map<number, RelayPlace>();
  private next = FIRST_PORT;

  open(place: RelayPlace): OpenRelay {
    const port = this.next++;
    this.opened.set(port, place);
    return {
      port,
      wireguardPort: WIREGUARD_PORT,
      fault: () => {
        const fault = this.faults.get(`${place.address}:${place.port}`) ?? null;
        return fault === "silent" ? null : fault;
      },
      close: () => void this.opened.delete(port),
    };
  }

  /** The server, `address:port`, that WireGuard reaches there. */
  serverAt(endpoint: string): string {
    const place = this.opened.get(Number(/^127\.0\.0\.1:(\d+)$/.exec(endpoint)?.[1]));
    return place === undefined ? endpoint : `${place.address}:${place.port}`;
  }

  /** Whether what WireGuard sends there reaches a server. */
  carries(endpoint: string): boolean {
    const [, port] = /^127\.0\.0\.1:(\d+)$/.exec(endpoint) ?? [];
    if (port === undefined) return true;
    const place = this.opened.get(Number(port));
    return place !== undefined && !this.faults.has(`${place.address}:${place.port}`);
  }
}
