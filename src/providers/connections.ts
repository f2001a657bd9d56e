import { parseAddress } from "../base/address.ts";
import type { Settings } from "../base/settings.ts";
import type { Server } from "../servers/schema.ts";
import type { Host, Send } from "../system/host.ts";
import type { Config } from "../wireguard/schema.ts";
import { apiOf } from "./given.ts";
import type { Connections, PortOfProvider, ServerToRegister } from "./provider.ts";
import { refused } from "./refusals.ts";
import type { Registrations } from "./registrations.ts";

interface Deps {
  settings: Settings;
  registrations: Registrations;
  clock: Pick<Host, "now" | "monotonic">;
}

/**
 * What the current provider does for one connection. It does not wait for the operator's changes of the account, because
 * they may wait for the connection.
 */
export class ServerConnections {
  constructor(private readonly deps: Deps) {}

  /** The configuration for one connection to a server that assigns it. */
  async register({ name, config }: Server, send: Send): Promise<Config> {
    const connections = this.current();
    const address = parseAddress(config.peer.endpoint.host);
    if (connections === null || address === null) throw refused("account_needed", { server: name });
    const { interface: own, peer } = await connections.registerWith({ name, address }, send);
    const { dns } = config.interface;
    return { interface: { ...own, ...(dns.length > 0 && { dns }) }, peer };
  }

  /** Has the current provider send one port into the tunnel to a server; null if it has no such ports. */
  async forwardPort(server: ServerToRegister, send: Send): Promise<PortOfProvider | null> {
    return this.current()?.forwardPort(server, send) ?? null;
  }

  /** Null if its servers assign nothing. */
  private current(): Connections | null {
    const { settings, registrations, clock } = this.deps;
    const { provider } = registrations.current();
    if (provider?.connectionsWith === undefined) return null;
    const slot = registrations.slotOf(provider);
    return provider.connectionsWith({ api: apiOf(settings, provider), slot, clock });
  }
}
