import { Type } from "typebox";
import { type Address, type Prefix, parseAddress, prefixOf } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import type { HttpsAnswer } from "../../system/host.ts";
import { EVERYTHING } from "../../wireguard/fieldset.ts";
import { isKey } from "../../wireguard/key-text.ts";
import type { Config } from "../../wireguard/schema.ts";
import { answerIn, checkedJson, malformed } from "../answers.ts";

// PIA's manual-connections and its desktop app define these shapes. They may add more fields.

const BASE64 = "^[A-Za-z0-9+/_-]{1,4096}={0,2}$";

/** It is sent in a query and in a header. */
const Token = Type.Object({ token: Type.String({ pattern: "^[\\x21-\\x7e]{1,4096}$" }) });

const AccountStatus = Type.Object({
  active: Type.Boolean(),
  /** Seconds since 1970; at most the last date that JavaScript can write. */
  expiration_time: Type.Integer({ minimum: 0, maximum: 8_640_000_000_000 }),
});

const Added = Type.Object({
  status: Type.Literal("OK"),
  server_key: Type.String(),
  /** The server tells it as a number, in some versions also as text. */
  server_port: Type.Union([
    Type.Integer({ minimum: 1, maximum: 65535 }),
    Type.String({ pattern: "^[1-9][0-9]{0,4}$" }),
  ]),
  /** May have the length of a prefix. */
  peer_ip: Type.String({ maxLength: 64 }),
  dns_servers: Type.Array(Type.String(), { minItems: 1, maxItems: 16 }),
});

/** The answer of `getSignature`: the signed text, and the signature, both in base64. They are sent in a query. */
const Signed = Type.Object({
  status: Type.Literal("OK"),
  payload: Type.String({ pattern: BASE64 }),
  signature: Type.String({ pattern: BASE64 }),
});

/** In the payload, next to a token that belongs to the port. */
const Payload = Type.Object({
  port: Type.Integer({ minimum: 1, maximum: 65535 }),
  /** ISO 8601, with or without fractions of a second. */
  expires_at: Type.String({ pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,24}(Z|[+-][0-9:]{4,5})$" }),
});

const Failed = Type.Object({ status: Type.String({ pattern: "^(?!OK$)" }) });

const token = checkerOf(Token);
const accountStatus = checkerOf(AccountStatus);
const added = checkerOf(Added);
const failed = checkerOf(Failed);
const signed = checkerOf(Signed);
const payload = checkerOf(Payload);

export interface Subscription {
  isActive: boolean;
  /** ISO 8601. */
  until: string;
}

export function tokenIn(answer: HttpsAnswer): string {
  return checkedJson(answer, token, "access token").token;
}

export function paidIn(answer: HttpsAnswer): Subscription {
  const { active, expiration_time } = checkedJson(answer, accountStatus, "account");
  return { isActive: active, until: new Date(expiration_time * 1000).toISOString() };
}

/** Whether a server has refused to register a key: `{"status":"ERROR","message":…}`, with HTTP status 200. */
export function isFailure(answer: HttpsAnswer): boolean {
  return failed.Check(answerIn(answer));
}

/**
 * The values that the server assigned to a private key. The endpoint is the address that was asked, whatever the answer
 * says.
 */
export function configIn(answer: HttpsAnswer, privateKey: string, address: Address): Config {
  const { server_key, server_port, peer_ip, dns_servers } = checkedJson(answer, added, "key");
  const port = Number(server_port);
  const dns = dns_servers.map(parseAddress).filter((each) => each !== null);
  if (!isKey(server_key) || port > 65535 || dns.length === 0) malformed("key");
  return {
    interface: { privateKey, addresses: [ownAddress(peer_ip)], dns, searchDomains: [] },
    peer: {
      publicKey: server_key,
      endpoint: { host: address, port },
      allowedIps: [...EVERYTHING],
    },
  };
}

/** A port that PIA has reserved, and the proof of it. */
export interface SignedPort {
  payload: string;
  signature: string;
}

export function signedPortIn(answer: HttpsAnswer): SignedPort {
  const { payload: text, signature } = checkedJson(answer, signed, "port");
  const port = { payload: text, signature };
  return signedIn(port) === null ? malformed("port") : port;
}

/** The port that is signed, and when the signature expires, in milliseconds since 1970; null if it is unreadable. */
export function signedIn({ payload: text }: SignedPort): { port: number; expires: number } | null {
  const value = payload.read(Buffer.from(text, "base64").toString("utf8"));
  const expires = Date.parse(value?.expires_at ?? "");
  return value === null || Number.isNaN(expires) ? null : { port: value.port, expires };
}

function ownAddress(text: string): Prefix {
  const address = parseAddress(text.replace(/\/[0-9]{1,2}$/, ""));
  return address === null || address.includes(":") ? malformed("address") : prefixOf(address);
}
