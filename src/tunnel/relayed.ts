import { type Endpoint, mustParseAddress } from "../base/address.ts";
import { RELAY_MARK } from "../network/slot.ts";
import type { Host, OpenRelay, RelayFault } from "../system/host.ts";
import { RELAYS, type RelaySpec } from "../transports/list.ts";
import type { Session } from "./session.ts";

/** A relay as WireGuard is configured for it. */
interface RelayTo {
  endpoint: Endpoint;
  wireguardPort: number;
}

type RelayTarget = Endpoint & { way: RelaySpec };

const LOOPBACK = mustParseAddress("127.0.0.1");

/** The relays of a tunnel's interfaces: during a switch there are two. */
export class Relayed {
  private readonly relays = new Map<string, { relay: OpenRelay; to: RelayTarget }>();

  constructor(private readonly host: Pick<Host, "openRelay">) {}

  /** The session's relay, which is opened unless it is there; null if WireGuard itself reaches the server. */
  async for(session: Session): Promise<RelayTo | null> {
    const { link, endpoint } = session;
    const way = await wayOf(session);
    const known = this.relays.get(link);
    const to = way && { ...endpoint, way };
    const isSame = to !== null && Bun.deepEquals(known?.to, to);
    if (!isSame) this.close(link);
    if (to === null) return null;
    const relay =
      isSame && known !== undefined ? known.relay : await this.host.openRelay({ ...to, mark: RELAY_MARK });
    this.relays.set(link, { relay, to });
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

async function wayOf({ server, transport, keys }: Session): Promise<RelaySpec | null> {
  if (transport === undefined) return null;
  const { config } = server;
  const settings = await RELAYS[transport].settings(config, (keys ?? config.interface).privateKey);
  return { by: transport, ...settings } as RelaySpec;
}
