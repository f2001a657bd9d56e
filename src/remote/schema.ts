import { type Static, type TLiteral, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { reasonFields } from "../base/reason.ts";
import { ROUTER_PROTOCOL_NAMES, type RouterProtocolName } from "../port-mapping/router-protocols.ts";
import { CodeEndpoint, MAX_CODE_CHARACTERS } from "./home-code.ts";

/** A remote device. */
export const RemoteDevice = objectOf({
  id: Type.String({ description: "as in /api/devices: its IPv4 address, with /32" }),
  name: Type.String(),
  addresses: Type.Array(Type.String(), { description: "its own, IPv4 first" }),
  public_key: Type.String(),
  exit: Type.String({ description: "name of a tunnel, blocked, or direct" }),
  lan: Type.Boolean({ description: "whether it may reach the LAN and the gateway" }),
  online: Type.Boolean({ description: "whether it was heard in the last five minutes" }),
  endpoint: Type.Union([Type.String(), Type.Null()], {
    description:
      "the address from which it connects; null before its first connection since remote access began",
  }),
  latest_handshake: Type.Union([Type.String(), Type.Null()], { description: "ISO 8601" }),
  rx_bytes: Type.Integer({ description: "what the gateway has sent to it" }),
  tx_bytes: Type.Integer({ description: "what it has sent" }),
});
export type RemoteDevice = Static<typeof RemoteDevice>;

/** The type of a union needs a tuple. */
const RouterProtocols = ROUTER_PROTOCOL_NAMES.map((name) => Type.Literal(name)) as [
  TLiteral<RouterProtocolName>,
];

/** One way by which devices may come in. */
export const EntryPoint = objectOf({
  kind: enumOf(["own", "router", "tunnel"], {
    description: "the gateway's own public address, a port of the home router, or one of a tunnel's server",
  }),
  state: enumOf(["open", "asking", "closed", "unknown"], {
    description: "unknown: the gateway cannot find out whether it is open",
  }),
  endpoint: Type.Union([Type.String(), Type.Null()], { description: "as host:port" }),
  protocol: Type.Union([...RouterProtocols, Type.Null()], {
    description: "how the home router opens it",
  }),
  ...reasonFields("why it is not open"),
});
export type EntryPoint = Static<typeof EntryPoint>;

/** GET /api/remote. */
export const RemoteStatus = objectOf({
  on: Type.Boolean({ description: "whether remote access is on (portcullis remote on)" }),
  port: Type.Union([Type.Integer(), Type.Null()], { description: "the UDP port; null if it was never on" }),
  interface: Type.String(),
  public_key: Type.Union([Type.String(), Type.Null()], { description: "the gateway's" }),
  through: Type.Union([Type.String(), Type.Null()], {
    description: "the tunnel through which devices connect; null for the uplink",
  }),
  endpoint: Type.Union([Type.String(), Type.Null()], {
    description: "the endpoint for devices, as host:port; null if it is not known",
  }),
  ...reasonFields("why no device can come in now"),
  ways: Type.Array(EntryPoint, { description: "empty while remote access is off" }),
  by_hand: Type.Union(
    [
      objectOf({
        port: Type.Integer({ description: "the router's UDP port" }),
        to: Type.Union([Type.String(), Type.Null()], { description: "the gateway's address" }),
        to_port: Type.Integer(),
      }),
      Type.Null(),
    ],
    {
      description:
        "what to enter in the home router if it forwards no port by itself; null if it need not forward one",
    },
  ),
  devices: Type.Array(RemoteDevice),
});
export type RemoteStatus = Static<typeof RemoteStatus>;
/** A port that the home router should forward. */
export type ByHand = NonNullable<RemoteStatus["by_hand"]>;

/** POST /api/remote/devices. */
export const NewRemoteDevice = objectOf({
  name: Type.String({ minLength: 1, description: "1 to 64 characters" }),
  public_key: Type.String({ description: "the device's; its private key never leaves it" }),
  exit: Type.Optional(
    Type.String({
      minLength: 1,
      description: "name of a tunnel, blocked, or direct (default: the default exit)",
    }),
  ),
  lan: Type.Optional(
    Type.Boolean({ description: "whether it may reach the LAN and the gateway (default: true)" }),
  ),
});
export type NewRemoteDevice = Static<typeof NewRemoteDevice>;

/** The answer: all that the device's file needs but its private key. */
export const AddedRemoteDevice = objectOf({
  id: Type.String(),
  name: Type.String(),
  addresses: Type.Array(Type.String(), { description: "its own, with their lengths" }),
  public_key: Type.String({ description: "the gateway's" }),
  preshared_key: Type.String({ description: "is not shown again" }),
  endpoint: objectOf(
    { host: Type.String(), port: Type.Integer() },
    { description: "the endpoint for the device" },
  ),
  allowed_ips: Type.Array(Type.String(), { description: "everything" }),
  home_ips: Type.Array(Type.String(), {
    description: "the LAN's prefixes: instead of allowed_ips, for a device that sends only what is for home",
  }),
  dns: Type.Array(Type.String()),
  mtu: Type.Integer(),
});
export type AddedRemoteDevice = Static<typeof AddedRemoteDevice>;

/** PATCH /api/remote/devices/:name. */
export const RemoteDeviceChange = objectOf({
  name: Type.Optional(Type.String({ minLength: 1, description: "1 to 64 characters" })),
  exit: Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      description: "name of a tunnel, blocked, or direct; null for the default exit",
    }),
  ),
  lan: Type.Optional(Type.Boolean({ description: "whether it may reach the LAN and the gateway" })),
});
export type RemoteDeviceChange = Static<typeof RemoteDeviceChange>;

/** What the operator gives `portcullis remote on`. */
export interface RemoteChoice {
  port: number | null;
  /** As `host` or `host:port`; IPv6 in brackets. */
  endpoint: string | null;
  through: string | null;
}

/** A link to another home. */
export const HomeLink = objectOf({
  name: Type.String(),
  state: enumOf(["waiting", "up", "down"], {
    description: "waiting: its answer has not come yet; up: it was heard in the last three minutes",
  }),
  ...reasonFields("why nothing passes, or not all; null if nothing is known"),
  code: Type.Union([Type.String(), Type.Null()], {
    description: "what the other home still has to be given, as far as it is known here; it has no secrets",
  }),
  public_key: Type.Union([Type.String(), Type.Null()], { description: "of the other gateway" }),
  endpoint: Type.Union([CodeEndpoint, Type.Null()], {
    description: "where this gateway calls the other; null if only the other calls",
  }),
  prefixes: Type.Array(Type.String(), { description: "the other home's network" }),
  devices: Type.Array(
    objectOf({
      id: Type.String(),
      name: Type.String(),
      addresses: Type.Array(Type.String(), { description: "at which it is reached; empty until it is seen" }),
    }),
    { description: "the devices here that the other home reaches; it reaches nothing else" },
  ),
  exit: Type.Union([Type.Boolean(), Type.Null()], {
    description:
      "whether the other home may leave here: its gateway is a device away from home, with an exit; null if it cannot, because its answer has not come yet, or because it knows no endpoint here",
  }),
  latest_handshake: Type.Union([Type.String(), Type.Null()], { description: "ISO 8601" }),
  rx_bytes: Type.Integer({ description: "what the other home has sent" }),
  tx_bytes: Type.Integer({ description: "what the gateway has sent to it" }),
});
export type HomeLink = Static<typeof HomeLink>;

/** GET /api/links. */
export const HomeLinks = objectOf({ links: Type.Array(HomeLink) });
export type HomeLinks = Static<typeof HomeLinks>;

/** POST /api/links. */
export const NewHomeLink = objectOf({
  name: Type.String({ minLength: 1, description: "what the other home is called here: 1 to 64 characters" }),
});

/** PATCH /api/links/:name. */
export const HomeLinkChange = objectOf({
  exit: Type.Boolean({ description: "whether the other home may leave here" }),
});
export type HomeLinkChange = Static<typeof HomeLinkChange>;

/** POST /api/links/take. */
export const TakenHomeCode = objectOf({
  code: Type.String({ maxLength: MAX_CODE_CHARACTERS, description: "from the other home" }),
  name: Type.Optional(
    Type.String({
      minLength: 1,
      description: "what the other home is called here (default: as its gateway calls itself)",
    }),
  ),
});

/** The answer of both. */
export const NewHomeCode = objectOf({
  name: Type.String(),
  code: Type.Union([Type.String(), Type.Null()], {
    description: "for the other home, to be taken there; null once both know each other",
  }),
});
export type NewHomeCode = Static<typeof NewHomeCode>;
