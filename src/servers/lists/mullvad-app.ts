import { Type } from "typebox";
import { type Address, isIpv4, isPrivate } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import { type PortRange, rangesIn } from "../../transports/ports.ts";
import { checked, type Outcome, offersIn, type Reading, readingOf, usualPort } from "./entry.ts";

const list = checkerOf(
  Type.Object({
    locations: Type.Record(Type.String(), Type.Unknown()),
    wireguard: Type.Object({
      relays: Type.Array(Type.Unknown()),
      port_ranges: Type.Optional(Type.Unknown()),
      ipv4_gateway: Type.Optional(Type.Unknown()),
    }),
  }),
);

const place = checkerOf(Type.Object({ country: Type.String(), city: Type.String() }));

const relay = checkerOf(
  Type.Object({
    hostname: Type.String(),
    location: Type.String(),
    active: Type.Boolean(),
    public_key: Type.String(),
    ipv4_addr_in: Type.String(),
  }),
);

/** WireGuard's usual port, which the app prefers too. */
const PREFERRED_PORT = 51820;

/** The list of Mullvad's apps: api.mullvad.net/app/v1/relays. */
export function readMullvadApp(document: unknown): Reading | null {
  if (!list.Check(document)) return null;
  const { relays, port_ranges, ipv4_gateway } = document.wireguard;
  const locations = new Map(Object.entries(document.locations));
  // Every relay listens on all of them.
  const everywhere = { ports: rangesIn(port_ranges), wireguard: document.wireguard };
  const reading = readingOf(relays, (entry) => outcomeOf(entry, locations, everywhere));
  return isResolver(ipv4_gateway) ? { ...reading, resolver: ipv4_gateway } : reading;
}

function outcomeOf(
  entry: unknown,
  locations: ReadonlyMap<string, unknown>,
  { ports, wireguard }: { ports: readonly PortRange[]; wireguard: Readonly<Record<string, unknown>> },
): Outcome {
  if (!relay.Check(entry)) return "malformed";
  if (!entry.active) return "left out";
  const location = locations.get(entry.location);
  if (!place.Check(location)) return "malformed";
  return checked({
    name: entry.hostname,
    label: "Mullvad",
    country: location.country,
    city: location.city,
    ipv4: entry.ipv4_addr_in,
    port: usualPort(PREFERRED_PORT, ports),
    publicKey: entry.public_key,
    ports,
    ...offersIn(({ ofMullvad }) => ofMullvad(entry, wireguard)),
    ephemeralPeers: true,
  });
}

/** A public address cannot be the gateway inside a tunnel. */
function isResolver(gateway: unknown): gateway is Address {
  return typeof gateway === "string" && isIpv4(gateway) && isPrivate(gateway);
}
