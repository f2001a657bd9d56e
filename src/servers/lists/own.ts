import { Type } from "typebox";
import { isIpv6 } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import { checked, type Outcome, portsIn, type Reading, rangesIn, readingOf, shadowsocksIn } from "./entry.ts";

const list = checkerOf(Type.Object({ servers: Type.Array(Type.Unknown()) }));

const server = checkerOf(
  Type.Object({
    hostname: Type.String(),
    country: Type.String(),
    city: Type.String(),
    ipv4: Type.String(),
    ipv6: Type.Optional(Type.String()),
    port: Type.Integer(),
    public_key: Type.String(),
    multihop_port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65535 })),
    ports: Type.Optional(Type.Unknown()),
    lwo: Type.Optional(Type.Boolean()),
    shadowsocks: Type.Optional(Type.Unknown()),
    udp2tcp: Type.Optional(Type.Unknown()),
    ephemeral_peers: Type.Optional(Type.Unknown()),
    /** The label of its public record. */
    provider: Type.Optional(Type.String()),
  }),
);

/** The gateway's own format, for people with servers of their own; see docs/providers.md. */
export function readOwn(document: unknown): Reading | null {
  return list.Check(document) ? readingOf(document.servers, outcomeOf) : null;
}

function outcomeOf(entry: unknown): Outcome {
  if (!server.Check(entry) || (entry.ipv6 !== undefined && !isIpv6(entry.ipv6))) return "malformed";
  const { hostname, country, city, ipv4, port, public_key, multihop_port, provider = "Managed" } = entry;
  const multihop = multihop_port === undefined ? {} : { multihopPort: multihop_port };
  const place = { country, city };
  return checked({
    name: hostname,
    label: provider,
    ...place,
    ipv4,
    port,
    publicKey: public_key,
    ...multihop,
    ports: rangesIn(entry.ports),
    ...(entry.lwo && { lwo: true }),
    ...shadowsocksIn(entry.shadowsocks, []),
    udp2tcp: portsIn(entry.udp2tcp),
    ...(entry.ephemeral_peers === true && { ephemeralPeers: true as const }),
  });
}
