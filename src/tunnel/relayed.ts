import { type Endpoint, mustParseAddress } from "../base/address.ts";
import { RELAY_MARK } from "../network/slot.ts";
import type { Host, OpenRelay, RelayFault } from "../system/host.ts";
import type { Session } from "./session.ts";

/** A relay as WireGuard is configured for it. */
interface RelayTo {
  endpoint: Endpoint;
  wireguardPort: number;
}

const LOOPBACK = mustParseAddress("127.0.0.1");

/** The relays of a tunnel's interfaces: during a switch there are two. */
export class Relayed {
  private readonly relays = new Map<string, { relay: OpenRelay; to: Endpoint }>();

  constructor(private readonly host: Pick<Host, "openRelay">) {}

  /** The session's relay, which is opened unless it is there; null if WireGuard itself reaches the server. */
  async for({ link, endpoint, transport }: Session): Promise<RelayTo | null> {
    const known = this.relays.get(link);
    const isSame = transport !== undefined && Bun.deepEquals(known?.to, endpoint);
    if (!isSame) this.close(link);
    if (transport === undefined) return null;
    const relay =
      isSame && known !== undefined
        ? known.relay
        : await this.host.openRelay({ ...endpoint, mark: RELAY_MARK });
    this.relays.set(link, { relay, to: endpoint });
    const { port, wireguardPort } = relay;
    return { endpoint: { address: LOOPBACK, port }, wireguardPort };
  }

  fault(link: string): RelayFault | null {
    return this.relays.get(link)?.relay.fault() ?? null;
  }

  /** Also those whose interface was never made. */
  closeOthers(kept: string | null): void {
    for (const link of this.relays.keys()) if (link !== kept) this.close(link);
  }

  close(link: string): void {
    this.relays.get(link)?.relay.close();
    this.relays.delete(link);
  }
}
