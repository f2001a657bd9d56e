import { type Static, Type } from "typebox";
import { Blocked, Provider, Relayed, VIA, Wish } from "../servers/schema.ts";
import { SEEN_TEXT } from "../transports/texts.ts";
import { Last } from "./last.ts";
import { Order } from "./order.ts";

export const StateName = Type.Union([
  Type.Literal("disconnected"),
  Type.Literal("connecting"),
  Type.Literal("connected"),
  Type.Literal("reconnecting"),
  Type.Literal("failed"),
]);
export type StateName = Static<typeof StateName>;

const Mtu = Type.Union([Type.Integer(), Type.Null()], {
  description: "size of the longest packet that is sent into the tunnel, in bytes; null without one",
});

const Unanswered = Type.Boolean({
  description:
    "connected, and nothing but handshakes comes back for what is sent: the tunnel carries nothing",
});

const Port = Type.Integer({
  description:
    "the port at which the server is reached, because it does not answer at its usual one, or that of `transport`; missing if it is the usual one",
});

const By = Type.Union(Relayed.anyOf, {
  description: SEEN_TEXT,
});

const BlockedHere = Type.Union(Blocked.anyOf, {
  description:
    "what the network in between seems to block, because only `transport` gets through: WireGuard by its bytes, all of UDP, or flows of UDP that last; missing if that is not known",
});

const Keyed = Type.Boolean({
  description:
    "whether its keys are safe from quantum computers; missing if that was not asked for, or without a tunnel",
});

const Carrying = Type.Object(
  { server: Type.String(), location: Type.String(), via: Type.Optional(VIA) },
  {
    additionalProperties: false,
    description:
      "while it connects elsewhere: the server through which traffic goes until then; missing if there is none",
  },
);
export type Carrying = Static<typeof Carrying>;

export const Quality = Type.Object(
  {
    state: Type.Union([Type.Literal("good"), Type.Literal("slow"), Type.Literal("lossy")]),
    round_trip_ms: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
      description: "the median until an answer; null if none came",
    }),
    variation_ms: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
      description: "how far an answer's time differs from the one before it, on average",
    }),
    loss_percent: Type.Number({
      minimum: 0,
      maximum: 100,
      description: "of the questions without an answer",
    }),
  },
  {
    additionalProperties: false,
    description:
      "of the last 30 questions to the tunnel's own resolver, inside the tunnel; missing while nothing was measured",
  },
);
export type Quality = Static<typeof Quality>;

/** GET /api/status: the seven fields of the contract, then the fields that follow from it. */
export const Status = Type.Object(
  {
    connected: Type.Boolean({
      description: "a WireGuard handshake with the server succeeded and has not expired",
    }),
    provider: Provider,
    server: Type.String(),
    ip: Type.String({ description: "IPv4 address of the server's endpoint" }),
    location: Type.String({ examples: ["Stockholm, Sweden"] }),
    uptime: Type.String({ examples: ["2h 34m"] }),
    killswitch_active: Type.Boolean({ description: "read from the kernel" }),
    state: StateName,
    uptime_seconds: Type.Integer({ minimum: 0 }),
    latest_handshake: Type.Union([Type.String({ description: "ISO 8601" }), Type.Null()]),
    rx_bytes: Type.Integer({ minimum: 0 }),
    tx_bytes: Type.Integer({ minimum: 0 }),
    error: Type.Union([Type.String(), Type.Null()]),
    mtu: Mtu,
    unanswered: Unanswered,
    direct_devices: Type.Integer({
      minimum: 0,
      description: "how many devices may leave outside the tunnel",
    }),
    direct_destinations: Type.Integer({
      minimum: 0,
      description: "how many rules for destinations lead outside the tunnel",
    }),
    via: Type.Optional(VIA),
    port: Type.Optional(Port),
    transport: Type.Optional(By),
    blocked: Type.Optional(BlockedHere),
    quantum: Type.Optional(Keyed),
    carrying: Type.Optional(Carrying),
    quality: Type.Optional(Quality),
    order: Type.Optional(Order),
    last: Type.Optional(Last),
    uplink_quality: Type.Optional(
      Type.Object(Quality.properties, {
        additionalProperties: false,
        description:
          "the same of the last 30 ARP requests to the uplink's router; missing while nothing was measured",
      }),
    ),
    forwarded_ports: Type.Optional(
      Type.Array(Type.Integer(), {
        description: "ports of the server that lead to devices; missing if there are none",
      }),
    ),
    limited_devices: Type.Optional(
      Type.Integer({ minimum: 1, description: "how many devices have a rate of their own; missing if none" }),
    ),
  },
  { additionalProperties: false },
);
export type Status = Static<typeof Status>;

/** One tunnel of GET /api/tunnels; fields that a status has too mean the same, for this tunnel. */
export const TunnelRow = Type.Object(
  {
    name: Type.String({ examples: ["main"] }),
    provider: Type.Union([Provider, Type.Null()], { description: "of the server; null without one" }),
    server: Type.String(),
    wanted: Type.Union([Type.String(), Type.Null()], {
      description:
        "the server, country or city that the tunnel should lead to; after a failed connect, what was asked for",
    }),
    state: StateName,
    location: Type.String(),
    ip: Type.String(),
    uptime_seconds: Type.Integer({ minimum: 0 }),
    latest_handshake: Type.Union([Type.String({ description: "ISO 8601" }), Type.Null()]),
    rx_bytes: Type.Integer({ minimum: 0 }),
    tx_bytes: Type.Integer({ minimum: 0 }),
    error: Type.Union([Type.String(), Type.Null()]),
    mtu: Mtu,
    unanswered: Unanswered,
    devices: Type.Integer({ minimum: 0, description: "how many devices leave by it" }),
    via: Type.Optional(VIA),
    port: Type.Optional(Port),
    transport: Type.Optional(By),
    blocked: Type.Optional(BlockedHere),
    quantum: Type.Optional(Keyed),
    carrying: Type.Optional(Carrying),
    quality: Type.Optional(Quality),
    order: Type.Optional(Order),
    last: Type.Optional(Last),
    wanted_via: Type.Optional(
      Type.String({
        description:
          "the server, country or city through which `wanted` should be reached; missing if directly",
      }),
    ),
    wanted_transport: Type.Optional(
      Type.Union(Wish.anyOf, {
        description: "how `wanted` should be reached; missing if in whatever way works (`auto`)",
      }),
    ),
    wanted_quantum: Type.Optional(
      Type.Union([Type.Literal("on"), Type.Literal("require")], {
        description:
          "that its keys should be safe from quantum computers if the server can (`on`), or else nothing is carried (`require`); missing if not (`off`)",
      }),
    ),
  },
  { additionalProperties: false },
);
export type TunnelRow = Static<typeof TunnelRow>;
