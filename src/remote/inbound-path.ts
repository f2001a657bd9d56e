import type { GatewayError } from "../base/errors.ts";
import { type Reason, reasonOf } from "../base/reason.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { LEAST_MTU, linkMtuOf } from "../tunnel/mtu.ts";
import type { Session } from "../tunnel/session.ts";
import { carriedBy } from "../tunnel/state.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import { formatEndpoint } from "../wireguard/config-text.ts";
import { type Endpoint, noEndpoint } from "./endpoint.ts";
import { refused } from "./refusals.ts";
import type { Access } from "./saved.ts";
import type { ByHand, EntryPoint } from "./schema.ts";
import { noPort, type TunnelPort } from "./tunnel-port.ts";
import type { UplinkPaths } from "./uplink-paths.ts";

interface Deps {
  killSwitch: KillSwitch;
  tunnels: Pick<Tunnels, "all">;
  remote: { readonly access: Access | null };
  /** The port that the tunnel's provider forwards. */
  tunnelPort: Pick<TunnelPort, "open" | "trouble">;
  uplink: Pick<UplinkPaths, "endpoint" | "list" | "byHand">;
}

/** What WireGuard adds around a packet: with IPv6 outside, 80 bytes. */
const OVERHEAD_BYTES = 80;

/** The way by which devices come in: the uplink, or a tunnel whose provider forwards a port. */
export class InboundPath {
  constructor(private readonly deps: Deps) {}

  /** What devices call; null if the gateway does not know it. */
  get endpoint(): Endpoint | null {
    const { access } = this.deps.remote;
    if (access === null) return null;
    if (access.endpoint !== null) return access.endpoint;
    if (access.forwarded !== undefined) return this.forwarded(access);
    if (access.through === null) return this.deps.uplink.endpoint(access);
    const server = this.sessionOf(access.through)?.endpoint.address ?? null;
    return server === null ? null : { host: server, port: access.port };
  }

  /** The same for a device that is being added. */
  assertEndpoint(): Endpoint {
    const { endpoint } = this;
    if (endpoint === null) throw this.whyNone;
    return endpoint;
  }

  /** Each way, with its state. */
  get ways(): EntryPoint[] {
    const { remote, uplink } = this.deps;
    const { access } = remote;
    if (access === null) return [];
    if (access.through === null) return uplink.list(access);
    const session = this.sessionOf(access.through);
    const way = { kind: "tunnel", protocol: null } as const;
    const forwarded = access.forwarded === undefined ? null : this.forwarded(access);
    if (forwarded !== null) {
      const endpoint = formatEndpoint(forwarded.host, forwarded.port);
      return [{ ...way, state: "open", endpoint, error: null }];
    }
    if (session === null || access.forwarded !== undefined)
      return [{ ...way, state: "closed", endpoint: null, ...(this.fault ?? { error: null }) }];
    const endpoint = formatEndpoint(session.endpoint.address, access.port);
    return [{ ...way, state: "unknown", endpoint, error: null }];
  }

  /** What to enter in the home router by hand, or null. */
  get byHand(): ByHand | null {
    const { remote, uplink } = this.deps;
    const { access } = remote;
    return access === null || access.through !== null ? null : uplink.byHand(access);
  }

  /** What a device may send: it fits into the way in, and IPv6 permits no less. */
  get mtu(): number {
    const { killSwitch, remote } = this.deps;
    const { uplinkMtu } = killSwitch.network;
    const through = remote.access?.through ?? null;
    const session = through === null ? null : this.sessionOf(through);
    const outer = session === null ? uplinkMtu : linkMtuOf(session.server.config, uplinkMtu);
    const inner = through !== null && session === null ? LEAST_MTU : outer - OVERHEAD_BYTES;
    return Math.max(inner, LEAST_MTU);
  }

  /** Why no device can come in by it now, or null. */
  get fault(): Reason | null {
    const fault = this.refusal;
    return fault === null ? null : reasonOf(fault);
  }

  private get refusal(): GatewayError | null {
    const { killSwitch, remote, tunnelPort } = this.deps;
    const through = remote.access?.through ?? null;
    if (!killSwitch.isWanted) return refused("remote_unprotected");
    if (killSwitch.remote === null) return refused("remote_closed");
    if (through !== null && this.sessionOf(through) === null)
      return refused("remote_tunnel_down", { tunnel: through });
    if (through === null && !killSwitch.network.online) return refused("uplink_down");
    if (through !== null && remote.access?.forwarded !== undefined && tunnelPort.open === null)
      return noPort(tunnelPort.trouble, through);
    return this.endpoint === null ? this.whyNone : null;
  }

  private get whyNone(): GatewayError {
    const { remote, uplink } = this.deps;
    const { access } = remote;
    if (access === null || access.through !== null) return noEndpoint(null, null);
    const [way] = uplink.list(access);
    const why = way?.state === "asking" ? "the home router is being asked" : (way?.error ?? null);
    return noEndpoint(why, uplink.byHand(access));
  }

  /** Where the provider has opened the port. */
  private forwarded({ through }: Access): Endpoint | null {
    const { open } = this.deps.tunnelPort;
    const host = open?.address ?? this.sessionOf(through ?? "")?.endpoint.address ?? null;
    return open === null || host === null ? null : { host, port: open.external };
  }

  private sessionOf(tunnel: string): Session | null {
    const found = this.deps.tunnels.all().find(({ name }) => name === tunnel);
    return found === undefined ? null : carriedBy(found.controller.state);
  }
}
