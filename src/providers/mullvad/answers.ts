import { type Static, Type } from "typebox";
import { familyOf, type Prefix, parsePrefix } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import type { HttpsAnswer } from "../../system/host.ts";
import { checkedJson, malformed } from "../answers.ts";

// The provider may add fields to its answers, so there is no `additionalProperties: false` here.

/** It is sent in a header. */
const Token = Type.Object({ access_token: Type.String({ pattern: "^[\\x21-\\x7e]{1,4096}$" }) });

const Me = Type.Object({ expiry: Type.String({ maxLength: 64 }) });

/** A UUID today. It is sent in paths. */
export const DeviceId = Type.String({ pattern: "^[A-Za-z0-9-]{1,64}$" });
/** Two words today. It is printed to terminals. */
export const DeviceName = Type.String({ pattern: "^[^\\p{Cc}\\p{Cf}]{1,64}$" });

const Key = Type.String({ pattern: "^[A-Za-z0-9+/]{43}=$" });

const DeviceAnswer = Type.Object({
  id: DeviceId,
  name: DeviceName,
  pubkey: Key,
  created: Type.String({ maxLength: 64 }),
  ipv4_address: Type.String({ maxLength: 64 }),
  ipv6_address: Type.String({ maxLength: 64 }),
});

const Listed = Type.Object({ id: DeviceId, pubkey: Key });

/** A registration, which Mullvad calls a device. */
export interface MullvadDevice {
  id: string;
  name: string;
  publicKey: string;
  /** IPv4 first. */
  addresses: Prefix[];
  /** ISO 8601. */
  created: string;
}

export type ListedDevice = Static<typeof Listed>;

const token = checkerOf(Token);
const me = checkerOf(Me);
const device = checkerOf(DeviceAnswer);
const list = checkerOf(Type.Array(Type.Unknown()));
const listed = checkerOf(Listed);

export function tokenIn(answer: HttpsAnswer): string {
  return checkedJson(answer, token, "access token").access_token;
}

/** Until when the account is paid for, ISO 8601. */
export function expiryIn(answer: HttpsAnswer): string {
  return dateIn(checkedJson(answer, me, "account").expiry, "account");
}

/** Malformed entries are skipped: other devices of the account do not matter. */
export function devicesIn(answer: HttpsAnswer): ListedDevice[] {
  return checkedJson(answer, list, "list of devices").filter((each) => listed.Check(each));
}

export function deviceIn(answer: HttpsAnswer): MullvadDevice {
  const { id, name, pubkey, created, ipv4_address, ipv6_address } = checkedJson(answer, device, "device");
  return {
    id,
    name,
    publicKey: pubkey,
    addresses: [cidrIn(ipv4_address, 4), cidrIn(ipv6_address, 6)],
    created: dateIn(created, "device"),
  };
}

function cidrIn(text: string, family: 4 | 6): Prefix {
  const prefix = text.includes("/") ? parsePrefix(text) : null;
  return prefix !== null && familyOf(prefix) === family ? prefix : malformed("device");
}

function dateIn(text: string, what: string): string {
  const time = Date.parse(text);
  return Number.isNaN(time) ? malformed(what) : new Date(time).toISOString();
}
