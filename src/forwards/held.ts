import { type Address, familyOf } from "../address.ts";
import { GatewayError } from "../errors.ts";
import type { ContactPart, ForwardPart } from "../killswitch/forwarded.ts";
import { parseMac } from "../mac.ts";
import type { Keeper, Opened } from "./keeper.ts";
import { PROTOCOLS } from "./opener.ts";
import type { ForwardId, SavedForward } from "./saved.ts";
import type { Forward } from "./schema.ts";

/** One port of a device, and what keeps it open. */
export interface Held extends SavedForward {
  /** Null if a person asked for it; else until when the device wants it. */
  until: Until | null;
  /** The external port that the device would like, or that was open before; null for any. */
  preferred: number | null;
  keeper: Keeper;
  /** What listeners were told last. */
  told: Forward | null;
}

/** A moment on the monotonic clock, and the same as ISO 8601. */
export interface Until {
  at: number;
  date: string;
}

/** What a client has given. */
export interface GivenId {
  device: string;
  protocol: string;
  port: number;
}

export function idIn({ device, protocol, port }: GivenId): ForwardId {
  const mac = parseMac(device);
  const known = PROTOCOLS.find((each) => each === protocol);
  if (mac === null)
    throw new GatewayError(
      "bad_request",
      "device: must be a MAC address, such as 02:00:00:00:00:20; only a single device on the LAN itself can be forwarded to",
    );
  if (known === undefined) throw new GatewayError("bad_request", "protocol: must be tcp or udp");
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new GatewayError("bad_request", "port: must be a number from 1 to 65535");
  return { device: mac, protocol: known, port };
}

/** What the firewall must lead to the device. Providers open ports of IPv4; those that a person has set may be of both. */
export function partOf(
  { device, protocol, port, keeper }: Held,
  addresses: readonly Address[],
): ForwardPart[] {
  const { opened } = keeper;
  if (opened === null) return [];
  const {
    way,
    opener,
    port: { inside },
  } = opened;
  const used = addresses.filter((each) => opener.kind === "fixed" || familyOf(each) === 4);
  const {
    tunnel,
    session: { endpoint },
  } = way;
  return [{ device, tunnel, endpoint, protocol, inside, addresses: used, port }];
}

/** What the firewall must permit to ask the provider. */
export function contactOf({ way, opener }: Pick<Opened, "way" | "opener">): ContactPart[] {
  const contact = opener.contact(way);
  return contact === null ? [] : [{ tunnel: way.tunnel, endpoint: way.session.endpoint, ...contact }];
}

export function rowOf(
  { device, protocol, port, fixed, until, keeper }: Held,
  { name, tunnel }: { name: string; tunnel: string | null },
): Forward {
  const { opened, asked, isOpen, trouble } = keeper;
  return {
    ...{ device, name, protocol, port, fixed, tunnel },
    external: isOpen ? (opened?.port.external ?? null) : null,
    address: isOpen ? (opened?.port.address ?? null) : null,
    opener: (opened ?? asked)?.opener.kind ?? null,
    asked_by: until === null ? "operator" : "device",
    state: isOpen ? "open" : trouble === null || asked !== null ? "opening" : "closed",
    error: isOpen ? null : trouble,
    expires_at: until?.date ?? null,
  };
}
