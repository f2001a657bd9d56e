import { Type } from "typebox";
import { isIpv6 } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import { LISTED } from "../../transports/list.ts";
import { rangesIn } from "../../transports/ports.ts";
import { checked, type Outcome, offersIn, type Reading, readingOf } from "./entry.ts";

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
    ephemeral_peers: Type.Optional(Type.Unknown()),
    /** The label of its public record. */
    provider: Type.Optional(Type.String()),
  }),
);

/** Of a server, besides: what it offers. */
const offering = checkerOf(
  Type.Object(
    Object.fromEntries(Object.entries(LISTED).map(([name, { own }]) => [name, Type.Optional(own.schema)])),
  ),
);

/** The gateway's own format, for people with servers of their own; see docs/providers.md. */
export function readOwn(document: unknown): Reading | null {
  return list.Check(document) ? readingOf(document.servers, outcomeOf) : null;
}

function outcomeOf(entry: unknown): Outcome {
  if (!offering.Check(entry) || !server.Check(entry) || (entry.ipv6 !== undefined && !isIpv6(entry.ipv6)))
    return "malformed";
  const { hostname, country, city, ipv4, port, public_key, multihop_port, provider = "Managed" } = entry;
  const fields: Readonly<Record<string, unknown>> = entry;
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
    ...offersIn(({ own }, name) => own.read(fields[name])),
    ...(entry.ephemeral_peers === true && { ephemeralPeers: true as const }),
  });
}
