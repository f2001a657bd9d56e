import { type Address, addressFrom } from "../base/address.ts";
import type { Protocol } from "../forwards/opener.ts";
import type { NoAnswer, Question } from "./exchange.ts";

// The messages of NAT-PMP (RFC 6886).

export const SERVER_PORT = 5351;
export const ANNOUNCED = { address: "224.0.0.1", port: 5350 } as const;

export type Request = { asks: "address" } | MappingRequest;

export interface MappingRequest {
  asks: "mapping";
  protocol: Protocol;
  /** The port of the device; 0 with a lifetime of 0 means all of the sender's. */
  internal: number;
  /** The port that the sender would like, or 0. */
  external: number;
  /** In seconds; 0 removes the mapping. */
  lifetime: number;
}

/** Section 3.5; others may be defined one day. */
export const RESULT = {
  success: 0,
  version: 1,
  refused: 2,
  network: 3,
  resources: 4,
  opcode: 5,
} as const;

/** `nothing`: the server knows another version of the protocol, or not this operation. */
export type Answer = AddressAnswer | MappingAnswer | { answers: "nothing"; result: number };

export interface AddressAnswer {
  answers: "address";
  result: number;
  /** Seconds since the server lost its mappings, for example by a restart. */
  epoch: number;
  /** An IPv4 address, or null if the result is not success. */
  address: Address | null;
}

export interface MappingAnswer extends Omit<MappingRequest, "asks"> {
  answers: "mapping";
  result: number;
  epoch: number;
}

const OPCODES = { address: 0, udp: 1, tcp: 2 } as const;
/** Set in the opcode of an answer. */
const IS_ANSWER = 0x80;
/** The longest message of its successor PCP (RFC 6887, 7): no request is longer. */
const MAX_BYTES = 1_100;
const [ADDRESS_BYTES, REFUSAL_BYTES, ADDRESS_ANSWER_BYTES] = [2, 8, 12];
const [MAPPING_BYTES, MAPPING_ANSWER_BYTES] = [12, 16];

/** What comes of asking a server. */
export type Outcome = AddressAnswer | MappingAnswer | NoAnswer;

/** A request with the answers that belong to it. An answer to an earlier one may come late, and messages have no number. */
export function questionOf(request: Request): Question<AddressAnswer | MappingAnswer> {
  return {
    bytes: requestBytes(request),
    port: SERVER_PORT,
    read: (bytes) => {
      const answer = answerIn(bytes);
      if (answer?.answers === "nothing") return "closed";
      return answer !== null && belongs(answer, request) ? answer : null;
    },
  };
}

function belongs(answer: AddressAnswer | MappingAnswer, request: Request): boolean {
  if (answer.answers !== "mapping" || request.asks !== "mapping") return answer.answers === request.asks;
  return answer.protocol === request.protocol && answer.internal === request.internal;
}

/** A server's reaction to a packet; null gets no answer. */
export type Incoming = Request | { asks: "another version" | "another operation" } | null;

export function requestIn(packet: Uint8Array): Incoming {
  const [version, opcode] = packet;
  if (version === undefined || opcode === undefined || packet.length > MAX_BYTES) return null;
  // An answer to an answer could go back and forth for ever.
  if (opcode >= IS_ANSWER) return null;
  if (version !== 0) return { asks: "another version" };
  if (opcode === OPCODES.address) return { asks: "address" };
  const protocol = protocolOf(opcode);
  if (protocol === null) return { asks: "another operation" };
  if (packet.length < MAPPING_BYTES) return null;
  const view = viewOf(packet);
  return {
    asks: "mapping",
    protocol,
    internal: view.getUint16(4),
    external: view.getUint16(6),
    lifetime: view.getUint32(8),
  };
}

export function requestBytes(request: Request): Uint8Array {
  if (request.asks === "address") return new Uint8Array(ADDRESS_BYTES);
  const { protocol, internal, external, lifetime } = request;
  const view = new DataView(new ArrayBuffer(MAPPING_BYTES));
  view.setUint8(1, OPCODES[protocol]);
  view.setUint16(4, internal);
  view.setUint16(6, external);
  view.setUint32(8, lifetime);
  return new Uint8Array(view.buffer);
}

/** Null for a packet that is not an answer. */
export function answerIn(packet: Uint8Array): Answer | null {
  const [version, opcode = 0] = packet;
  if (version !== 0 || packet.length < REFUSAL_BYTES) return null;
  const view = viewOf(packet);
  const [result, epoch] = [view.getUint16(2), view.getUint32(4)];
  // The answer to another version is the only one without the bit, and that of the other version has no epoch (section
  // 3.5).
  if (result === RESULT.version || (result === RESULT.opcode && opcode >= IS_ANSWER))
    return { answers: "nothing", result };
  if (opcode < IS_ANSWER) return null;
  if (opcode === (OPCODES.address | IS_ANSWER)) return addressAnswerIn(packet, { result, epoch });
  const protocol = protocolOf(opcode & ~IS_ANSWER);
  if (protocol === null || packet.length < MAPPING_ANSWER_BYTES) return null;
  return {
    answers: "mapping",
    protocol,
    result,
    epoch,
    internal: view.getUint16(8),
    external: view.getUint16(10),
    lifetime: view.getUint32(12),
  };
}

function addressAnswerIn(
  packet: Uint8Array,
  { result, epoch }: Pick<AddressAnswer, "result" | "epoch">,
): AddressAnswer | null {
  if (result !== RESULT.success) return { answers: "address", result, epoch, address: null };
  if (packet.length < ADDRESS_ANSWER_BYTES) return null;
  const address = addressFrom(packet.subarray(8, ADDRESS_ANSWER_BYTES));
  return { answers: "address", result, epoch, address };
}

export function answerBytes(answer: AddressAnswer | MappingAnswer): Uint8Array {
  switch (answer.answers) {
    case "address": {
      const bytes = bytesOf(ADDRESS_ANSWER_BYTES, IS_ANSWER | OPCODES.address, answer.result, answer.epoch);
      bytes.set((answer.address ?? "0.0.0.0").split(".").map(Number), 8);
      return bytes;
    }
    case "mapping": {
      const { protocol, result, epoch, internal, external, lifetime } = answer;
      const bytes = bytesOf(MAPPING_ANSWER_BYTES, IS_ANSWER | OPCODES[protocol], result, epoch);
      const view = viewOf(bytes);
      view.setUint16(8, internal);
      view.setUint16(10, external);
      view.setUint32(12, lifetime);
      return bytes;
    }
  }
}

export function anotherVersionBytes(epoch: number): Uint8Array {
  return bytesOf(REFUSAL_BYTES, 0, RESULT.version, epoch);
}

/** The answer contains the whole request (section 3.5), and the epoch that every answer has (section 3.6). */
export function anotherOperationBytes(request: Uint8Array, epoch: number): Uint8Array {
  const bytes = new Uint8Array(Math.max(request.length, REFUSAL_BYTES));
  bytes.set(request);
  bytes.set(bytesOf(REFUSAL_BYTES, (request[1] ?? 0) | IS_ANSWER, RESULT.opcode, epoch));
  return bytes;
}

function bytesOf(length: number, opcode: number, result: number, epoch: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(length));
  view.setUint8(1, opcode);
  view.setUint16(2, result);
  view.setUint32(4, epoch);
  return new Uint8Array(view.buffer);
}

function protocolOf(opcode: number): Protocol | null {
  if (opcode === OPCODES.udp) return "udp";
  return opcode === OPCODES.tcp ? "tcp" : null;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
