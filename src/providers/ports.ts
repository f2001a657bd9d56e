import type { Address } from "../base/address.ts";
import { type Opener, type OpenPort, PortRefusal, type TunnelEnd } from "../forwards/opener.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { Send } from "../system/host.ts";
import { Refusal } from "./answers.ts";
import type { ServerConnections } from "./connections.ts";
import type { PortOfProvider, ServerToRegister } from "./provider.ts";
import { refused } from "./refusals.ts";

interface Deps {
  connections: Pick<ServerConnections, "forwardPort">;
  /** Sends through the tunnel `main`. */
  send: (signal: AbortSignal) => Send;
  now: () => number;
}

/** With a wrong clock, every reservation may seem to have expired. */
const SOONEST_MS = 60_000;

/** Opens the one port that PIA sends into a tunnel. The core of forwarded ports refuses a second one. */
export class AccountOpener implements Opener {
  readonly kind = "pia";

  constructor(private readonly deps: Deps) {}

  /** The firewall permits what the gateway sends into main. */
  contact(): null {
    return null;
  }

  async open(
    way: TunnelEnd,
    { protocol }: Pick<OpenPort, "protocol">,
    signal: AbortSignal,
  ): Promise<OpenPort> {
    const { port, expires, bindEachMs } = await this.forwarded(way, signal);
    const validMs = expires - this.deps.now();
    return {
      protocol,
      external: port,
      inside: port,
      address: null,
      renewAfterMs: Math.min(bindEachMs, Math.max(validMs, SOONEST_MS)),
      expiresAfterMs: 2 * bindEachMs,
    };
  }

  /** PIA does not tell the address. As elsewhere for a tunnel, it is assumed to be the address of the server. */
  async publicAddress({ session }: TunnelEnd): Promise<Address> {
    return session.endpoint.address;
  }

  /** The number changes once PIA's reservation has expired. */
  renew(way: TunnelEnd, port: OpenPort, signal: AbortSignal): Promise<OpenPort> {
    return this.open(way, port, signal);
  }

  /** PIA has no request for that: its server forgets the port. */
  async close(): Promise<void> {}

  private async forwarded(way: TunnelEnd, signal: AbortSignal): Promise<PortOfProvider> {
    const server = serverOf(way);
    const { connections, send } = this.deps;
    const forwarded = await connections.forwardPort(server, send(signal)).catch((error: unknown) => {
      signal.throwIfAborted();
      if (error instanceof Refusal) throw new PortRefusal("refused", error);
      throw error;
    });
    if (forwarded !== null) return forwarded;
    throw new PortRefusal("unsupported", refused("server_not_of_account", { server: server.name }));
  }
}

function serverOf({ tunnel, session: { server, endpoint } }: TunnelEnd): ServerToRegister {
  if (tunnel !== MAIN) throw new PortRefusal("unsupported", refused("pia_port_elsewhere"));
  if (server.opensPorts === false)
    throw new PortRefusal(
      "unsupported",
      refused("pia_region_without_ports", { server: server.name, location: server.location }),
    );
  return { name: server.name, address: endpoint.address };
}
