import { type Static, Type } from "typebox";
import { type Prefix, parseAddress, parsePrefix } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import type { HttpsAnswer } from "../../system/host.ts";
import { checkedJson, malformed } from "../answers.ts";

// IVPN's own desktop app defines these shapes (daemon/api/types/responses.go). It may add more fields.

/** It is sent in request bodies. */
export const Token = Type.String({ pattern: "^[\\x21-\\x7e]{1,256}$" });

const ServiceStatus = Type.Object({
  is_active: Type.Boolean(),
  /** Seconds since 1970; the largest date that JavaScript can write. */
  active_until: Type.Integer({ minimum: 0, maximum: 8_640_000_000_000 }),
});

const New = Type.Object({
  token: Token,
  service_status: ServiceStatus,
  wireguard: Type.Object({ status: Type.Integer(), ip_address: Type.Optional(Type.String()) }),
});
const Status = Type.Object({ service_status: ServiceStatus });
const KeySet = Type.Object({ ip_address: Type.String() });

const newSession = checkerOf(New);
const status = checkerOf(Status);
const keySet = checkerOf(KeySet);

/** A registration, which IVPN calls a session. */
export interface IvpnSession {
  token: string;
  paid: Subscription;
  /** Null if IVPN made the session but did not take the key. */
  address: Prefix | null;
}

export interface Subscription {
  isActive: boolean;
  /** ISO 8601. */
  until: string;
}

export function sessionIn(answer: HttpsAnswer): IvpnSession {
  const { token, service_status, wireguard } = checkedJson(answer, newSession, "session");
  const isTaken = wireguard.status === 200 && wireguard.ip_address !== undefined;
  return {
    token,
    paid: paidOf(service_status),
    address: isTaken ? addressIn(wireguard.ip_address ?? "") : null,
  };
}

export function paidIn(answer: HttpsAnswer): Subscription {
  return paidOf(checkedJson(answer, status, "status").service_status);
}

/** The address in the tunnel that belongs to the new key. */
export function newAddressIn(answer: HttpsAnswer): Prefix {
  return addressIn(checkedJson(answer, keySet, "address").ip_address) ?? malformed("address");
}

function paidOf({ is_active, active_until }: Static<typeof ServiceStatus>): Subscription {
  return { isActive: is_active, until: new Date(active_until * 1000).toISOString() };
}

/** Null for anything but a plain IPv4 address. */
function addressIn(text: string): Prefix | null {
  const address = parseAddress(text);
  return address === null || address.includes(":") ? null : parsePrefix(`${address}/32`);
}
