import { type Static, Type } from "typebox";

/** GET /api/settings: what root has set on the gateway, and what has become of it. */
export const ShownSettings = Type.Object(
  {
    version: Type.String({ description: "the version that runs" }),
    upgrade: Type.Union([Type.String(), Type.Null()], {
      description: "what an upgrade still needs until the new version runs; null if nothing",
    }),
    command: Type.String({
      description: "what root types there, with flags, to change settings",
      examples: ["sudo portcullis setup"],
    }),
    autoconnect: Type.Boolean({ description: "a start connects to the last server again" }),
    failover: Type.Boolean({ description: "another server of its place replaces one that stays dead" }),
    port_mapping: Type.Boolean({ description: "devices may open ports by themselves" }),
    time_zone: Type.String({ description: "of the gateway's clock, in IANA's names" }),
    dhcp: Type.Union(
      [
        Type.Array(
          Type.Object(
            { interface: Type.String(), from: Type.String(), to: Type.String() },
            { additionalProperties: false },
          ),
        ),
        Type.Null(),
      ],
      { description: "the addresses that devices get from the gateway; null if --dhcp is off" },
    ),
    mqtt: Type.Union(
      [
        Type.Object(
          {
            broker: Type.String({ description: "its name or address, and its port" }),
            tls: Type.Boolean(),
            commands: Type.Boolean({ description: "Home Assistant may connect tunnels and choose exits" }),
            connected: Type.Boolean(),
            error: Type.Union([Type.String(), Type.Null()], {
              description: "why it is not connected; null before the first attempt has ended",
            }),
          },
          { additionalProperties: false },
        ),
        Type.Null(),
      ],
      { description: "the broker of Home Assistant; null without one" },
    ),
  },
  { additionalProperties: false },
);
export type ShownSettings = Static<typeof ShownSettings>;
export type ShownBroker = NonNullable<ShownSettings["mqtt"]>;
