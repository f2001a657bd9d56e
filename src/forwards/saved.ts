import { type Static, Type } from "typebox";
import { type Address, familyOf, parseAddress } from "../base/address.ts";
import { checkerOf, listIn } from "../base/checker.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import type { Protocol } from "./opener.ts";
import { ForwardProtocol, Port } from "./schema.ts";

/** The setting that has the forwards of people. */
export const KEY = "forwards";
/** Each forward needs some rules in the firewall, which the first packet of each connection passes. */
export const MAX_FORWARDS = 64;
/** A port that is forwarded to port 53 of a device would be dropped as DNS outside a tunnel. */
export const DNS_PORT = 53;

/** A forward as it is saved. */
const Saved = Type.Object(
  {
    device: Type.String(),
    protocol: ForwardProtocol,
    port: Port,
    /** The external port that is set on the provider's site; missing if the provider is asked for one. */
    fixed: Type.Optional(Port),
    /** The device's IPv4 address when it was last seen, where it is looked for after a restart. */
    address: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);

const savedSchema = checkerOf(Saved);

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

/** The valid forwards of a setting's value. */
export function forwardsIn(text: string | null): SavedForward[] {
  const found = new Map<string, SavedForward>();
  for (const each of listIn(text)) {
    const forward = savedSchema.Check(each) ? parsed(each) : null;
    if (forward !== null && !found.has(keyOf(forward))) found.set(keyOf(forward), forward);
  }
  return [...found.values()].slice(0, MAX_FORWARDS);
}

export function textOf(forwards: readonly SavedForward[]): string {
  return JSON.stringify(
    forwards.map(({ device, protocol, port, fixed, address }) => ({
      ...{ device, protocol, port },
      ...(fixed !== null && { fixed }),
      ...(address !== null && { address }),
    })),
  );
}

/** Whether the value of the setting is one that the gateway could have written. */
export function areForwards(text: string): boolean {
  return textOf(forwardsIn(text)) === text;
}

/** The forwards in words, by the fields that identify each. */
export function forwardRows(text: string | null): ReadonlyMap<string, string> {
  const from = (fixed: number | null) =>
    fixed === null ? "from a port of the provider" : `from port ${fixed}`;
  return new Map(forwardsIn(text).map((each) => [keyOf(each), from(each.fixed)]));
}

/** The value of the setting that has the forwards of both values. If they differ, the other's count. */
export function unitedForwards(one: string | null, other: string): string {
  const here = new Map(forwardsIn(one).map((each) => [keyOf(each), each]));
  const given = forwardsIn(other).map((each) => {
    const known = here.get(keyOf(each));
    // The last address of the device is newer here.
    return known?.fixed === each.fixed ? known : each;
  });
  const keys = new Set(given.map(keyOf));
  const kept = [...here.values()].filter((each) => !keys.has(keyOf(each)));
  return textOf([...given, ...kept].slice(0, MAX_FORWARDS));
}

function parsed({ device, protocol, port, fixed, address }: Static<typeof Saved>): SavedForward | null {
  const mac = parseMac(device);
  const known = address === undefined ? null : parseAddress(address);
  if (mac === null || (address !== undefined && (known === null || familyOf(known) === 6))) return null;
  return { device: mac, protocol, port, fixed: fixed ?? null, address: known };
}
