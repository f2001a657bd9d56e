import { type Static, Type } from "typebox";
import { isIpv4 } from "../base/address.ts";
import { enumOf } from "../base/enum.ts";
import { facts, inOrder } from "../base/fact.ts";
import { objectOf } from "../base/object.ts";
import { Blocked, Provider, type Quantum, Relayed, VIA, Wish } from "../servers/schema.ts";
import { blockedBefore } from "../servers/ways.ts";
import { METRIC_TEXT, SEEN_TEXT } from "../transports/texts.ts";
import type { InterfacePeer } from "../wireguard/interface.ts";
import { Last } from "./last.ts";
import { Order } from "./order.ts";
import { Quality } from "./quality-facts.ts";
import type { Session } from "./session.ts";
import { isUnanswered, STATES, type State, StateName } from "./state.ts";
import type { TargetSpec } from "./target.ts";

/** What is read of a tunnel, all of one moment. */
export interface SeenTunnel extends TunnelIntent {
  name: string;
  state: State;
  /** The session that is connected. */
  live: Session | null;
  /** As the kernel has it; null without a session. */
  peer: InterfacePeer | null;
  mtu: number | null;
  /** Whether its keys should be safe from quantum computers. */
  wantedQuantum: Quantum;
  /** Milliseconds on the monotonic clock. */
  now: number;
}

/** Why a tunnel is in its state, and where it should lead, as clients name it. */
export interface TunnelIntent {
  error: string | null;
  spec: (TargetSpec & { provider: Provider }) | null;
  order: Order | null;
}

/** What is known of a way from before. */
export interface Past {
  quality: Quality | null;
  last: Last | null;
}

interface SeenUse extends Past {
  devices: number;
}

export const Carrying = objectOf({ server: Type.String(), location: Type.String(), via: Type.Optional(VIA) });

/** Of a connection: in the status, that of `main`. */
export const CONNECTION = facts<SeenTunnel>()({
  server: {
    schema: Type.String(),
    description: "the connected server; empty if none",
    of: ({ live }) => live?.server.name ?? "",
    entity: { name: "Server", icon: "mdi:server-network" },
  },
  ip: {
    schema: Type.String(),
    description: "IPv4 address of the server's endpoint",
    of: ({ live }) => {
      const address = live?.endpoint.address;
      return address !== undefined && isIpv4(address) ? address : "";
    },
    entity: { key: "endpoint", entity_category: "diagnostic", name: "Endpoint", icon: "mdi:ip-network" },
  },
  location: {
    schema: Type.String({ examples: ["Stockholm, Sweden"] }),
    description: "where that server is; empty if not connected",
    of: ({ live }) => live?.server.location ?? "",
    entity: { name: "Location", icon: "mdi:map-marker" },
  },
  state: {
    schema: StateName,
    of: ({ state }) => state.name,
    metric: {
      name: "portcullis_tunnel_connected",
      help: "1 while the tunnel has a live session with a server.",
      value: (state) => Number(state === "connected"),
    },
    entity: { name: "State", device_class: "enum", options: STATES, attributes: true },
  },
  uptime_seconds: {
    schema: Type.Integer({ minimum: 0 }),
    description: "since that server first answered; 0 if not connected",
    of: upSecondsOf,
  },
  latest_handshake: {
    schema: Type.Union([Type.String({ description: "ISO 8601" }), Type.Null()]),
    description: "ISO 8601; null before the first",
    of: ({ peer }) => (peer?.latestHandshake ? new Date(peer.latestHandshake).toISOString() : null),
    metric: {
      name: "wireguard_latest_handshake_seconds",
      help: "Unix time of the latest handshake, 0 before the first.",
      value: (at) => (at == null ? 0 : Date.parse(at) / 1_000),
      isOfSession: true,
    },
    entity: {
      ...{ key: "handshake", from: "traffic", entity_category: "diagnostic" },
      ...{ name: "Latest handshake", device_class: "timestamp" },
    },
  },
  rx_bytes: {
    schema: Type.Integer({ minimum: 0 }),
    description: "received in this session, at most a second old",
    of: ({ peer }) => peer?.rxBytes ?? 0,
    metric: {
      name: "wireguard_received_bytes_total",
      help: "Bytes received from the server.",
      isOfSession: true,
    },
  },
  tx_bytes: {
    schema: Type.Integer({ minimum: 0 }),
    description: "sent in this session, at most a second old",
    of: ({ peer }) => peer?.txBytes ?? 0,
    metric: { name: "wireguard_sent_bytes_total", help: "Bytes sent to the server.", isOfSession: true },
  },
  error: {
    schema: Type.Union([Type.String(), Type.Null()]),
    description: "what is wrong, in a sentence; null if nothing is",
    of: ({ error }) => error,
    isAttribute: true,
  },
  mtu: {
    schema: Type.Union([Type.Integer(), Type.Null()]),
    description: "the longest packet that is sent into the tunnel, in bytes; null without a tunnel",
    of: ({ mtu }) => mtu,
  },
  unanswered: {
    schema: Type.Boolean(),
    description: "connected, but only handshakes come back: the tunnel carries nothing",
    of: ({ state }) => isUnanswered(state),
    metric: { help: "1 while nothing but handshakes comes back for what is sent into the tunnel." },
    entity: { name: "Carries nothing", device_class: "problem" },
  },
  via: { schema: Type.Optional(VIA), of: ({ live }) => live?.server.via?.name, isAttribute: true },
  port: {
    schema: Type.Optional(Type.Integer()),
    description: "the server's port, if it is not the usual one or if there is a `transport`",
    of: ({ live }) => portOf(live),
  },
  transport: {
    schema: Type.Optional(Relayed),
    description: SEEN_TEXT,
    of: ({ live }) => live?.transport,
    metric: {
      name: "portcullis_tunnel_relayed",
      help: METRIC_TEXT,
      value: (transport) => Number(transport !== undefined),
    },
  },
  blocked: {
    schema: Type.Optional(Blocked),
    description:
      "what the network seems to block, because only `transport` gets through: WireGuard by its bytes, all of UDP, or long flows of UDP; missing if not known",
    of: ({ live }) => (live && blockedBefore(live, live.server)) ?? undefined,
  },
  quantum: {
    schema: Type.Optional(Type.Boolean()),
    description: "whether its keys are safe from quantum computers; missing if that was not asked for",
    of: ({ live }) => live?.server.quantum && live.keys !== undefined,
    metric: {
      name: "portcullis_tunnel_quantum_safe",
      help: "1 while the tunnel's keys are safe from quantum computers.",
      value: (quantum) => Number(quantum === true),
    },
  },
  carrying: {
    schema: Type.Optional(Carrying),
    description: "while it connects elsewhere: the server that carries traffic until then; missing if none",
    of: ({ state }) => carryingIn(state),
  },
  order: { schema: Type.Optional(Order), of: ({ order }) => order ?? undefined },
});

/** Where a way led, and how good it is. */
export const PAST = facts<Past>()({
  quality: { schema: Type.Optional(Quality), of: ({ quality }) => quality ?? undefined },
  last: { schema: Type.Optional(Last), of: ({ last }) => last ?? undefined },
});

const ROW = facts<SeenTunnel>()({
  name: {
    schema: Type.String({ examples: ["main"] }),
    description: "`main`, or what the tunnel was called when it was made",
    of: ({ name }) => name,
  },
  provider: {
    schema: Type.Union([Provider, Type.Null()]),
    description: "of the server; null without one",
    of: ({ spec }) => spec?.provider ?? null,
    isAttribute: true,
  },
  wanted: {
    schema: Type.Union([Type.String(), Type.Null()]),
    description: "the server, country or city that was asked for; null while disconnected",
    of: ({ spec }) => spec?.server ?? null,
    isAttribute: true,
  },
  wanted_via: {
    schema: Type.Optional(Type.String()),
    description: "the server, country or city of the first hop; missing if directly",
    of: ({ spec }) => spec?.via,
  },
  wanted_transport: {
    schema: Type.Optional(Wish),
    description: "how `wanted` should be reached; missing for `auto`",
    of: ({ spec }) => spec?.transport,
  },
  wanted_quantum: {
    schema: Type.Optional(enumOf(["on", "require"])),
    description:
      "whether keys that are safe from quantum computers are wanted (`on`) or required (`require`); missing for `off`",
    of: ({ wantedQuantum: wanted }) => (wanted === "off" ? undefined : wanted),
  },
});

/** A tunnel's own, as its controller knows them. */
export const ROW_FACTS = inOrder({ ...CONNECTION, ...ROW }, [
  ...(["name", "provider", "server", "wanted", "state", "location", "ip", "uptime_seconds"] as const),
  ...(["latest_handshake", "rx_bytes", "tx_bytes", "error", "mtu", "unanswered"] as const),
  ...(["via", "wanted_via", "port", "transport", "blocked", "wanted_transport"] as const),
  ...(["quantum", "wanted_quantum"] as const),
]);

export const USE_FACTS = facts<SeenUse>()({
  devices: {
    schema: Type.Integer({ minimum: 0 }),
    description: "how many devices use it",
    of: ({ devices }) => devices,
    isAttribute: true,
  },
  ...PAST,
});

export const TUNNEL_FACTS = { ...ROW_FACTS, ...USE_FACTS };

export function upSecondsOf({ state, now }: SeenTunnel): number {
  return state.name === "connected" ? Math.max(0, Math.floor((now - state.since) / 1_000)) : 0;
}

function portOf(live: Session | null): number | undefined {
  const usual = live?.server.config.peer.endpoint.port;
  return live?.transport === undefined && live?.endpoint.port === usual ? undefined : live?.endpoint.port;
}

/** During a dial, the former tunnel carries traffic until another one is up, if its server answers. */
function carryingIn(state: State): Static<typeof Carrying> | undefined {
  if (state.name !== "connecting" || state.former?.name !== "connected") return undefined;
  if (isUnanswered(state.former)) return undefined;
  const { name, location, via } = state.former.session.server;
  return { server: name, location, ...(via !== undefined && { via: via.name }) };
}
