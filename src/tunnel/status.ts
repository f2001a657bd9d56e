import { isIpv4 } from "../base/address.ts";
import type { Provider } from "../servers/schema.ts";
import { blockedBefore } from "../servers/ways.ts";
import type { Interface } from "../wireguard/interface.ts";
import type { Carrying, Status, TunnelRow } from "./schema.ts";
import type { Session } from "./session.ts";
import { isUnanswered, type State } from "./state.ts";

/** A status without the fields about devices. */
export type TunnelStatus = Omit<Status, "direct_devices" | "direct_destinations">;

/** What a status shows in addition to the state. */
export interface Observed {
  provider: Provider;
  device: Interface | null;
  killSwitch: boolean;
  error: string | null;
  mtu: number | null;
  /** Milliseconds on the monotonic clock. */
  now: number;
}

/** The public view of a state; a server counts as connected only in `connected`. */
export function statusOf(
  state: State,
  { provider, device, killSwitch, error, mtu, now }: Observed,
): TunnelStatus {
  const seconds = state.name === "connected" ? Math.max(0, Math.floor((now - state.since) / 1000)) : 0;
  const session = state.name === "connected" ? state.session : null;
  const peer = device?.peer ?? null;
  return {
    connected: session !== null,
    provider,
    server: session?.server.name ?? "",
    ip: session !== null && isIpv4(session.endpoint.address) ? session.endpoint.address : "",
    location: session?.server.location ?? "",
    uptime: `${Math.floor(seconds / 3600)}h ${Math.floor((seconds % 3600) / 60)}m`,
    killswitch_active: killSwitch,
    state: state.name,
    uptime_seconds: seconds,
    latest_handshake: peer?.latestHandshake ? new Date(peer.latestHandshake).toISOString() : null,
    rx_bytes: peer?.rxBytes ?? 0,
    tx_bytes: peer?.txBytes ?? 0,
    error,
    mtu,
    unanswered: isUnanswered(state),
    ...(session?.server.via !== undefined && { via: session.server.via.name }),
    ...(session !== null && otherPort(session)),
    ...(session?.server.quantum !== undefined && { quantum: session.keys !== undefined }),
    ...carryingIn(state),
  };
}

/** During a dial, the former tunnel carries traffic until another one is up, if its server answers. */
function carryingIn(state: State): { carrying?: Carrying } {
  if (state.name !== "connecting" || state.former?.name !== "connected") return {};
  if (isUnanswered(state.former)) return {};
  const { name, location, via } = state.former.session.server;
  return { carrying: { server: name, location, ...(via !== undefined && { via: via.name }) } };
}

function otherPort(session: Session): Pick<Status, "port" | "transport" | "blocked"> {
  const { server, transport, endpoint } = session;
  const { port } = endpoint;
  const blocked = blockedBefore(session, server);
  if (transport !== undefined) return { port, transport, ...(blocked !== null && { blocked }) };
  return port === server.config.peer.endpoint.port ? {} : { port };
}

/** The row of one tunnel. The other fields of a status concern the whole gateway. */
export function rowOf(
  status: TunnelStatus,
  {
    name,
    provider,
    wanted,
    wanted_via,
    wanted_transport,
    wanted_quantum,
    order,
  }: Pick<
    TunnelRow,
    "name" | "provider" | "wanted" | "wanted_via" | "wanted_transport" | "wanted_quantum" | "order"
  >,
): Omit<TunnelRow, "devices"> {
  const {
    server,
    state,
    location,
    ip,
    uptime_seconds,
    latest_handshake,
    rx_bytes,
    tx_bytes,
    error,
    mtu,
    unanswered,
    via,
    port,
    transport,
    blocked,
    quantum,
    carrying,
  } = status;
  const figures = { uptime_seconds, latest_handshake, rx_bytes, tx_bytes };
  const hops = { ...(via !== undefined && { via }), ...(wanted_via !== undefined && { wanted_via }) };
  const other = {
    ...(port !== undefined && { port }),
    ...(transport !== undefined && { transport }),
    ...(blocked !== undefined && { blocked }),
    ...(wanted_transport !== undefined && { wanted_transport }),
    ...(quantum !== undefined && { quantum }),
    ...(wanted_quantum !== undefined && { wanted_quantum }),
    ...(carrying !== undefined && { carrying }),
    ...(order !== undefined && { order }),
  };
  return {
    ...{ name, provider, server, wanted, state, location, ip, ...figures, error, mtu, unanswered },
    ...{ ...hops, ...other },
  };
}
