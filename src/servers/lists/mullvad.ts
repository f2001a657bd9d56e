import { Type } from "typebox";
import { checkerOf } from "../../base/checker.ts";
import { enumOf } from "../../base/enum.ts";
import { checked, type Outcome, type Reading, readingOf } from "./entry.ts";

/** Distinguishes this list from other arrays. */
const relay = checkerOf(Type.Object({ hostname: Type.String(), ipv4_addr_in: Type.String() }));

const wireguard = checkerOf(
  Type.Object({
    hostname: Type.String(),
    country_name: Type.String(),
    city_name: Type.String(),
    active: Type.Boolean(),
    ipv4_addr_in: Type.String(),
    pubkey: Type.String(),
    multihop_port: Type.Optional(Type.Unknown()),
  }),
);

const otherKind = checkerOf(Type.Object({ type: enumOf(["openvpn", "bridge"]) }));

/** Every relay listens there. */
const PORT = 51820;

/** Mullvad's flat list: api.mullvad.net/www/relays/wireguard/, and /all/, which has relays of other kinds too. */
export function readMullvad(document: unknown): Reading | null {
  if (!Array.isArray(document) || !document.some((entry) => relay.Check(entry))) return null;
  return readingOf<unknown>(document, outcomeOf);
}

function outcomeOf(entry: unknown): Outcome {
  if (otherKind.Check(entry)) return "left out";
  if (!wireguard.Check(entry)) return "malformed";
  if (!entry.active) return "left out";
  return checked({
    name: entry.hostname,
    // The `provider` of an entry is the company that owns the machine.
    label: "Mullvad",
    country: entry.country_name,
    city: entry.city_name,
    ipv4: entry.ipv4_addr_in,
    port: PORT,
    publicKey: entry.pubkey,
    ephemeralPeers: true,
    ...(typeof entry.multihop_port === "number" && { multihopPort: entry.multihop_port }),
  });
}
