import { type Static, Type } from "typebox";

/** One WireGuard exit as the gateway uses it: wg-quick's `[Interface]` and its single `[Peer]`, validated and canonical. */
export const Config = Type.Object(
  {
    interface: Type.Object(
      {
        privateKey: Type.String(),
        /** CIDR, host bits kept: `10.64.0.2/32`. At least one. */
        addresses: Type.Array(Type.String(), { minItems: 1 }),
        /** Resolver addresses. */
        dns: Type.Array(Type.String()),
        /** Search domains among the DNS entries. */
        searchDomains: Type.Array(Type.String()),
        /** Bytes. */
        mtu: Type.Optional(Type.Integer({ minimum: 576, maximum: 65535 })),
      },
      { additionalProperties: false },
    ),
    peer: Type.Object(
      {
        publicKey: Type.String(),
        presharedKey: Type.Optional(Type.String()),
        endpoint: Type.Object(
          {
            /** IPv4, IPv6 without brackets, or a DNS name. */
            host: Type.String(),
            port: Type.Integer({ minimum: 1, maximum: 65535 }),
          },
          { additionalProperties: false },
        ),
        /** CIDR, host bits cleared. */
        allowedIps: Type.Array(Type.String(), { minItems: 1 }),
        /** Seconds; 0 is off, absent is the gateway's choice. */
        persistentKeepalive: Type.Optional(Type.Integer({ minimum: 0, maximum: 65535 })),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);
export type Config = Static<typeof Config>;
