import { type Static, Type } from "typebox";
import { Credentials } from "../providers/schema.ts";
import { Managed, Provider, ServerTree, VIA } from "../servers/schema.ts";
import { TunnelRow } from "../tunnel/schema.ts";

/** GET /api/providers. */
export const Providers = Type.Object(
  { providers: Type.Array(Provider), current: Provider },
  { additionalProperties: false },
);

/** GET /api/managed. */
export const ManagedChoices = Type.Object(
  {
    current: Managed,
    choices: Type.Array(
      Type.Object(
        {
          name: Managed,
          label: Type.String(),
          account: Type.Boolean({ description: "whether the gateway has an account there" }),
          credentials: Type.Array(
            Type.Object(
              {
                field: Type.KeyOf(Credentials),
                title: Type.String({ description: "the provider's term for it" }),
                optional: Type.Boolean(),
              },
              { additionalProperties: false },
            ),
            { description: "what a login asks for" },
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);
export type ManagedChoices = Static<typeof ManagedChoices>;

/** DELETE /api/accounts/:provider. */
export const Logout = Type.Object({
  forget: Type.Optional(
    Type.Literal("true", { description: "remove it here even if the provider does not answer or refuses" }),
  ),
});

/** PUT /api/managed. */
export const ManagedChoice = Type.Object({ name: Managed }, { additionalProperties: false });

/** GET /api/servers/counts. */
export const ServerCounts = Type.Object(
  {
    current: Provider,
    usable: Type.Object(
      { managed: Type.Integer(), custom: Type.Integer(), imported: Type.Integer() },
      {
        additionalProperties: false,
        description: "how many servers of each provider can be connected to; managed ones need an account",
      },
    ),
  },
  { additionalProperties: false },
);
export type ServerCounts = Static<typeof ServerCounts>;

/** POST /api/provider/:provider. */
export const Switched = Type.Object(
  { success: Type.Literal(true), provider: Provider },
  { additionalProperties: false },
);

/** GET /api/servers. */
export const Servers = Type.Object(
  { servers: ServerTree, provider: Provider },
  { additionalProperties: false },
);

/** POST /api/disconnect. */
export const Disconnected = Type.Object(
  { success: Type.Literal(true), message: Type.String() },
  { additionalProperties: false },
);

/** GET /api/tunnels. */
export const TunnelRows = Type.Object({ tunnels: Type.Array(TunnelRow) }, { additionalProperties: false });

const LayerPart = Type.Object(
  {
    name: Type.String({ examples: ["chain forward"] }),
    holds: Type.Boolean(),
    found: Type.String({ description: "what was found, for people" }),
    remedy: Type.Optional(
      Type.String({
        description: "the command that ends it; missing if it holds, or if the gateway repairs it by itself",
      }),
    ),
  },
  { additionalProperties: false },
);

/** GET /api/killswitch. */
export const KillSwitchLayers = Type.Object(
  {
    active: Type.Boolean({ description: "as `killswitch_active` in the status" }),
    wanted: Type.Boolean({ description: "false if it was turned off (portcullis killswitch off)" }),
    layers: Type.Array(
      Type.Object(
        {
          name: Type.Union([Type.Literal("firewall"), Type.Literal("routing")]),
          holds: Type.Boolean({ description: "whether it blocks all traffic outside the tunnel by itself" }),
          parts: Type.Array(LayerPart),
        },
        { additionalProperties: false },
      ),
      { description: "the two layers" },
    ),
    direct_devices: Type.Integer({
      minimum: 0,
      description: "how many devices the kernel lets leave outside the tunnel",
    }),
    error: Type.Union([Type.String(), Type.Null()], {
      description: "why the last change did not reach the kernel",
    }),
  },
  { additionalProperties: false },
);
export type KillSwitchLayers = Static<typeof KillSwitchLayers>;

/** GET /api/network. */
export const Network = Type.Object(
  {
    hostname: Type.String(),
    lan: Type.Array(
      Type.Object(
        {
          interface: Type.String(),
          addresses: Type.Array(Type.String(), { description: "the gateway's own, IPv4 first" }),
          prefixes: Type.Array(Type.String()),
        },
        { additionalProperties: false },
      ),
    ),
    uplink: Type.Union([Type.String(), Type.Null()], { description: "its interface; null if unknown" }),
    online: Type.Boolean({ description: "whether the uplink has a carrier and a way to the internet" }),
    dhcp: Type.Boolean({ description: "whether devices get their addresses from the gateway (--dhcp)" }),
    other_routers: Type.Array(
      Type.Object(
        {
          interface: Type.String(),
          address: Type.String({ description: "of the IPv6 router, or of the DHCP server" }),
          mac: Type.String(),
          found: Type.String({ description: "what it advertises to devices, for people" }),
        },
        { additionalProperties: false },
      ),
      { description: "machines of the LAN that lead devices past the gateway" },
    ),
  },
  { additionalProperties: false },
);
export type Network = Static<typeof Network>;

/** GET /api/round-trips. */
export const RoundTripList = Type.Object(
  {
    round_trips: Type.Array(
      Type.Object(
        {
          provider: Provider,
          server: Type.String(),
          via: Type.Optional(VIA),
          ms: Type.Number({ minimum: 0 }),
          measured_at: Type.String({ description: "ISO 8601" }),
        },
        { additionalProperties: false },
      ),
      { description: "the shortest first" },
    ),
  },
  { additionalProperties: false },
);
export type RoundTripList = Static<typeof RoundTripList>;

/** POST /api/import. */
export const Imported = Type.Object(
  {
    success: Type.Literal(true),
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description: "settings of the file that have no effect or that the gateway handles in its own way",
      }),
    ),
  },
  { additionalProperties: false },
);

/** GET /api/keypair. */
export const KeyPair = Type.Object(
  {
    private_key: Type.String({ description: "base64, 44 characters" }),
    public_key: Type.String({ description: "base64, 44 characters" }),
  },
  { additionalProperties: false },
);
