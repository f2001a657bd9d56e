import { type Address, addressFrom, bytesOf, familyOf, mustParseAddress, unmapped } from "../base/address.ts";
import type { Question } from "./exchange.ts";

// The messages of PCP (RFC 6887) for one UDP port. It has NAT-PMP's port, and answers with a nonce of the request.

export const PCP_PORT = 5351;

export interface PcpRequest {
  /** The address of this machine from which it is sent, and for which the port is. */
  own: Address;
  /** 12 bytes, the same for all requests about a mapping, which cannot be changed without them. */
  nonce: Uint8Array;
  internal: number;
  /** The port that the sender would like. */
  external: number;
  /** In seconds; 0 removes the mapping. */
  lifetime: number;
}

export interface PcpAnswer {
  result: number;
  /** In seconds: of the mapping, or after a refusal how long it holds. */
  lifetime: number;
  /** Seconds since the router lost its mappings, for example by a restart. */
  epoch: number;
  external: number;
  address: Address;
}

/** Section 7.4. */
export const PCP_RESULT = {
  success: 0,
  version: 1,
  opcode: 4,
} as const;

const VERSION = 2;
const MAP = 1;
const IS_ANSWER = 0x80;
const UDP = 17;
/** A header, and what MAP adds to it (sections 7.1 and 11.1). */
const [HEADER_BYTES, MAP_BYTES] = [24, 60];
const MAX_BYTES = 1_100;

export function pcpQuestionOf(request: PcpRequest): Question<PcpAnswer> {
  return {
    bytes: pcpRequestBytes(request),
    port: PCP_PORT,
    read: (bytes) => pcpAnswerIn(bytes, request),
  };
}

export function pcpRequestBytes({ own, nonce, internal, external, lifetime }: PcpRequest): Uint8Array {
  const bytes = new Uint8Array(MAP_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set([VERSION, MAP]);
  view.setUint32(4, lifetime);
  bytes.set(wide(own), 8);
  bytes.set(nonce, 24);
  view.setUint8(36, UDP);
  view.setUint16(40, internal);
  view.setUint16(42, external);
  // Any external address of the same family.
  bytes.set(wide(mustParseAddress(own.includes(":") ? "::" : "0.0.0.0")), 44);
  return bytes;
}

/** Null for a packet that is no answer to the request. */
export function pcpAnswerIn(bytes: Uint8Array, { nonce, internal }: PcpRequest): PcpAnswer | "closed" | null {
  const [version, opcode = 0] = bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // A router that knows NAT-PMP only says so in its own format (RFC 6886, section 3.5).
  if (version === 0 && bytes.length >= 4 && view.getUint16(2) === PCP_RESULT.version) return "closed";
  if (bytes.length < HEADER_BYTES || bytes.length > MAX_BYTES || opcode !== (MAP | IS_ANSWER)) return null;
  const result = view.getUint8(3);
  if (result === PCP_RESULT.version || result === PCP_RESULT.opcode) return "closed";
  if (version !== VERSION || bytes.length < MAP_BYTES) return null;
  const isOwn =
    Buffer.compare(bytes.subarray(24, 36), nonce) === 0 &&
    view.getUint8(36) === UDP &&
    view.getUint16(40) === internal;
  if (!isOwn) return null;
  return {
    result,
    lifetime: view.getUint32(4),
    epoch: view.getUint32(8),
    external: view.getUint16(42),
    address: unmapped(addressFrom(bytes.subarray(44, MAP_BYTES))),
  };
}

/** Sixteen bytes; IPv4 as `::ffff:a.b.c.d` (section 5). */
function wide(address: Address): Uint8Array {
  return bytesOf(familyOf(address) === 4 ? mustParseAddress(`::ffff:${address}`) : address);
}
