import { type Static, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { Credentials } from "../providers/schema.ts";
import { Managed, Provider, ServerTree, VIA } from "../servers/schema.ts";
import { TunnelRow } from "../tunnel/schema.ts";

/** GET /api/providers. */
export const Providers = objectOf({ providers: Type.Array(Provider), current: Provider });

/** GET /api/managed. */
export const ManagedChoices = objectOf({
  current: Managed,
  choices: Type.Array(
    objectOf({
      name: Managed,
      label: Type.String(),
      account: Type.Boolean({ description: "whether the gateway has an account there" }),
      credentials: Type.Array(
        objectOf({
          field: Type.KeyOf(Credentials),
          title: Type.String({ description: "the provider's term for it" }),
          optional: Type.Boolean(),
        }),
        { description: "what a login asks for" },
      ),
    }),
  ),
});
export type ManagedChoices = Static<typeof ManagedChoices>;

/** DELETE /api/accounts/:provider. */
export const Logout = Type.Object({
  forget: Type.Optional(
    Type.Literal("true", { description: "remove it here even if the provider does not answer or refuses" }),
  ),
});

/** PUT /api/managed. */
export const ManagedChoice = objectOf({ name: Managed });

/** GET /api/servers/counts. */
export const ServerCounts = objectOf({
  current: Provider,
  usable: objectOf(
    { managed: Type.Integer(), custom: Type.Integer(), imported: Type.Integer() },
    { description: "how many servers of each provider can be connected to; managed ones need an account" },
  ),
});
export type ServerCounts = Static<typeof ServerCounts>;

/** POST /api/provider/:provider. */
export const Switched = objectOf({ success: Type.Literal(true), provider: Provider });

/** GET /api/servers. */
export const Servers = objectOf({ servers: ServerTree, provider: Provider });

/** POST /api/disconnect. */
export const Disconnected = objectOf({ success: Type.Literal(true), message: Type.String() });

/** GET /api/tunnels. */
export const TunnelRows = objectOf({ tunnels: Type.Array(TunnelRow) });

const LayerPart = objectOf({
  name: Type.String({ examples: ["chain forward"] }),
  holds: Type.Boolean(),
  found: Type.String({ description: "what was found, for people" }),
  remedy: Type.Optional(
    Type.String({
      description: "the command that ends it; missing if it holds, or if the gateway repairs it by itself",
    }),
  ),
});

/** GET /api/killswitch. */
export const KillSwitchLayers = objectOf({
  active: Type.Boolean({ description: "as `killswitch_active` in the status" }),
  wanted: Type.Boolean({ description: "false if it was turned off (portcullis killswitch off)" }),
  layers: Type.Array(
    objectOf({
      name: enumOf(["firewall", "routing"]),
      holds: Type.Boolean({ description: "whether it blocks all traffic outside the tunnel by itself" }),
      parts: Type.Array(LayerPart),
    }),
    { description: "the two layers" },
  ),
  direct_devices: Type.Integer({
    minimum: 0,
    description: "how many devices the kernel lets leave outside the tunnel",
  }),
  error: Type.Union([Type.String(), Type.Null()], {
    description: "why the last change did not reach the kernel",
  }),
});
export type KillSwitchLayers = Static<typeof KillSwitchLayers>;

/** GET /api/network. */
export const Network = objectOf({
  hostname: Type.String(),
  lan: Type.Array(
    objectOf({
      interface: Type.String(),
      addresses: Type.Array(Type.String(), { description: "the gateway's own, IPv4 first" }),
      prefixes: Type.Array(Type.String()),
    }),
  ),
  uplink: Type.Union([Type.String(), Type.Null()], { description: "its interface; null if unknown" }),
  online: Type.Boolean({ description: "whether the uplink has a carrier and a way to the internet" }),
  dhcp: Type.Boolean({ description: "whether devices get their addresses from the gateway (--dhcp)" }),
  other_routers: Type.Array(
    objectOf({
      interface: Type.String(),
      address: Type.String({ description: "of the IPv6 router, or of the DHCP server" }),
      mac: Type.String(),
      found: Type.String({ description: "what it advertises to devices, for people" }),
    }),
    { description: "machines of the LAN that lead devices past the gateway" },
  ),
});
export type Network = Static<typeof Network>;

/** GET /api/round-trips. */
export const RoundTripList = objectOf({
  round_trips: Type.Array(
    objectOf({
      provider: Provider,
      server: Type.String(),
      via: Type.Optional(VIA),
      ms: Type.Number({ minimum: 0 }),
      measured_at: Type.String({ description: "ISO 8601" }),
    }),
    { description: "the shortest first" },
  ),
});
export type RoundTripList = Static<typeof RoundTripList>;

/** POST /api/import. */
export const Imported = objectOf({
  success: Type.Literal(true),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description: "settings of the file that have no effect or that the gateway handles in its own way",
    }),
  ),
});

/** GET /api/keypair. */
export const KeyPair = objectOf({
  private_key: Type.String({ description: "base64, 44 characters" }),
  public_key: Type.String({ description: "base64, 44 characters" }),
});
