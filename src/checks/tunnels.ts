import { type Address, familyOf, parseAddress } from "../base/address.ts";
import type { Dns } from "../dns/dns.ts";
import { Upstream } from "../dns/upstream.ts";
import { isKillSwitchWanted } from "../killswitch/operator-switch.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import type { Route } from "../system/ip.ts";
import type { SavedState } from "../tunnel/saved-state.ts";
import type { Session } from "../tunnel/session.ts";
import type { State } from "../tunnel/state.ts";
import type { Tunnel } from "../tunnel/tunnel.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import { detourTo } from "./detour.ts";
import { type Finding, warning } from "./finding.ts";
import { type Inside, measureInside, mtuFinding } from "./inside.ts";
import { type AskedResolver, askResolvers, dnsFinding } from "./resolvers.ts";
import { tunnelFinding } from "./tunnel.ts";

interface Deps {
  host: Host;
  savedState: SavedState;
  tunnels: Tunnels | null;
  dns: Pick<Dns, "state"> | null;
}

/** More than the keepalives and the handshake that may come in while a query waits for its answer, in bytes. */
const MORE_THAN_KEEPALIVES_BYTES = 512;

/** The data that was sent through `main`, and that came back. */
interface Sent {
  inside: Inside;
  asked: readonly AskedResolver[];
  /** Whether anything came back, for any program; null if nothing was sent. */
  data: boolean | null;
}

/**
 * The checks of the tunnels. Those that send data share one measurement, through `main`, which the gateway uses itself.
 */
export class TunnelChecks {
  private measured: Promise<Sent | null> | null = null;

  constructor(
    private readonly deps: Deps,
    private readonly network: () => Promise<HostNetwork>,
    /** The routes of the machine's own. */
    private readonly routes: () => Promise<readonly Route[]>,
  ) {}

  async finding(name: string): Promise<Finding | null> {
    const { host, savedState, tunnels } = this.deps;
    const tunnel = tunnels?.all().find((each) => each.name === name);
    if (tunnels === null || tunnel === undefined) return null;
    const data = tunnel === tunnels.main ? ((await this.sent())?.data ?? null) : null;
    const network = await this.network();
    const { state } = tunnel.controller;
    const server = addressOf(state);
    const row = await tunnel.controller.row(state);
    // A tunnel that has failed leads nowhere, so its row has no provider.
    const provider = "server" in state ? state.server.provider : row.provider;
    const via = "server" in state ? state.server.via?.name : undefined;
    const now = host.now();
    const last = savedState.handshake();
    return tunnelFinding({
      row: { ...row, provider, ...(via !== undefined && { wanted_via: via }) },
      now,
      online: network.online,
      detour: server && detourTo(server, await this.routes(), network),
      clockBehind: last !== null && now < last,
      othersAnswer: provider === "managed" && this.isKeyGood(tunnel),
      data,
    });
  }

  /** Null if there is nothing to ask. */
  async dnsFinding(): Promise<Finding | null> {
    return this.sentFinding(({ asked }) => dnsFinding(asked, this.deps.dns?.state === "on"));
  }

  /** Null if there is nothing to measure. */
  async mtuFinding(): Promise<Finding | null> {
    return this.sentFinding(({ inside }) => mtuFinding(inside));
  }

  private async sentFinding(judge: (sent: Sent) => Finding | null): Promise<Finding | null> {
    if (this.session === null) return null;
    if (!isKillSwitchWanted(this.deps.savedState)) return warning("inside_unmeasured", {});
    const sent = await this.sent();
    return sent && judge(sent);
  }

  /** Null without a tunnel. */
  get carriesIpv6(): boolean | null {
    const { session } = this;
    return session?.server.config.interface.addresses.some((address) => familyOf(address) === 6) ?? null;
  }

  /** The session of `main`, if its server answers. */
  private get session(): Session | null {
    const state = this.deps.tunnels?.main.controller.state;
    return state?.name === "connected" ? state.session : null;
  }

  private sent(): Promise<Sent | null> {
    this.measured ??= this.send();
    return this.measured;
  }

  private async send(): Promise<Sent | null> {
    const { savedState, tunnels } = this.deps;
    const { session } = this;
    if (session === null || tunnels === null || !isKillSwitchWanted(savedState)) return null;
    const { controller } = tunnels.main;
    const { rx_bytes: before, mtu } = await controller.row();
    if (mtu === null) return null;
    const [inside, asked] = await this.measure(session, mtu);
    const received = (await controller.row()).rx_bytes - before;
    const hasAnswer = inside.answered.length > 0 || asked.some(({ rcode }) => rcode !== null);
    const isData = hasAnswer || received > MORE_THAN_KEEPALIVES_BYTES;
    // The tunnel may have ended meanwhile.
    if (this.session !== session) return null;
    return { inside, asked, data: inside.resolver === null ? null : isData };
  }

  private async measure(session: Session, mtu: number): Promise<[Inside, AskedResolver[]]> {
    const { host } = this.deps;
    const network = await this.network();
    const upstream = Upstream.on(host);
    return Promise.all([
      measureInside(host, session, network, mtu),
      askResolvers(session, network, upstream),
    ]).finally(() => upstream.close());
  }

  /** Whether a managed server has accepted the key lately, which is the same for all of them. */
  private isKeyGood(asking: Tunnel): boolean {
    const { tunnels } = this.deps;
    if (tunnels === null) return false;
    const isManaged = ({ controller: { state } }: Tunnel) =>
      state.name === "connected" && state.session.server.provider === "managed";
    return (
      tunnels.roundTrips.hasAny("managed") || tunnels.all().some((each) => each !== asking && isManaged(each))
    );
  }
}

/** The address of the server's endpoint; null if it is not known without a lookup. */
function addressOf(state: State): Address | null {
  if ("session" in state && state.session !== null) return state.session.endpoint.address;
  return "server" in state ? parseAddress(state.server.config.peer.endpoint.host) : null;
}
