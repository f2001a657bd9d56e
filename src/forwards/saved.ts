import { type Static, Type } from "typebox";
import { type Address, familyOf, parseAddress } from "../base/address.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import { objectOf } from "../base/object.ts";
import { listIn, SavedList } from "../base/saved.ts";
import type { Protocol } from "./opener.ts";
import { ForwardProtocol, Port } from "./schema.ts";

/** A port that is forwarded to port 53 of a device would be dropped as DNS outside a tunnel. */
export const DNS_PORT = 53;

/** One as it is saved. */
const Stored = objectOf({
  device: Type.String(),
  protocol: ForwardProtocol,
  port: Port,
  /** The external port that is set on the provider's site; missing if the provider is asked for one. */
  fixed: Type.Optional(Port),
  /** The device's IPv4 address when it was last seen, where it is looked for after a restart. */
  address: Type.Optional(Type.String()),
});
const storedIn = listIn(Stored);

/** What identifies a forward. */
export interface ForwardId {
  device: Mac;
  protocol: Protocol;
  port: number;
}

export interface SavedForward extends ForwardId {
  fixed: number | null;
  address: Address | null;
}

export function keyOf({ device, protocol, port }: ForwardId): string {
  return `${device} ${protocol} ${port}`;
}

/** The forwards of people. */
export const FORWARDS = new SavedList<SavedForward>({
  key: "forwards",
  what: "forward",
  /** Each forward needs some rules in the firewall, which the first packet of each connection passes. */
  max: 64,
  maxCharacters: 200,
  entriesIn: (text) => storedIn(text).flatMap((each) => parsed(each) ?? []),
  format: (forwards) =>
    JSON.stringify(
      forwards.map(({ device, protocol, port, fixed, address }) => ({
        ...{ device, protocol, port },
        ...{ fixed: fixed ?? undefined, address: address ?? undefined },
      })),
    ),
  nameOf: keyOf,
  wordsOf: ({ fixed }) => (fixed === null ? "from a port of the provider" : `from port ${fixed}`),
  merge: (here, given) => {
    const known = new Map(here.map((each) => [keyOf(each), each]));
    // Where the device was seen here is newer.
    const newest = given.map((each) => {
      const present = known.get(keyOf(each));
      return present?.fixed === each.fixed ? present : each;
    });
    return [...newest, ...here];
  },
});

function parsed({ device, protocol, port, fixed, address }: Static<typeof Stored>): SavedForward | null {
  const mac = parseMac(device);
  const known = address === undefined ? null : parseAddress(address);
  if (
    mac === null ||
    port === DNS_PORT ||
    (address !== undefined && (known === null || familyOf(known) === 6))
  )
    return null;
  return { device: mac, protocol, port, fixed: fixed ?? null, address: known };
}
