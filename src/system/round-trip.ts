import { randomBytes } from "node:crypto";
import { openBoundUdp } from "./bound-socket.ts";
import type { ResolverPath } from "./host.ts";

const PORT = 53;
/** An answer that takes longer is of no use to anyone who asks a resolver. */
const ANSWERED_WITHIN_MS = 3_000;
const ID_BYTES = 2;
const HEADER_BYTES = 12;
/** "Recursion desired", and one question. */
const HEADER = Buffer.from([0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]);
/**
 * Exists everywhere, reveals nothing about the client (RFC 7050, 2), and every resolver has it cached: type A, class
 * IN.
 */
const QUESTION = Buffer.from("\x08ipv4only\x04arpa\x00\x00\x01\x00\x01", "latin1");
const IS_ANSWER = 0x80;

/**
 * Sends a resolver one query of 59 bytes, from a new port; returns the milliseconds until its answer, whatever that is,
 * or null. The socket is bound to the link: while that is gone, nothing is sent.
 */
export async function roundTripTo({ link, mark, address }: ResolverPath): Promise<number | null> {
  const query = Buffer.concat([randomBytes(ID_BYTES), HEADER, QUESTION]);
  const { promise, resolve } = Promise.withResolvers<number | null>();
  const socket = await openBoundUdp(
    { link, mark, peer: { address, port: PORT } },
    {
      onData: (bytes) => {
        if (answers(bytes, query)) resolve(performance.now() - sent);
      },
      onEnd: () => resolve(null),
    },
  );
  const timer = setTimeout(() => resolve(null), ANSWERED_WITHIN_MS);
  const sent = performance.now();
  if (!socket.send(query)) resolve(null);
  return promise.finally(() => {
    clearTimeout(timer);
    socket.close();
  });
}

/** A resolver that refuses may leave the question out. */
function answers(bytes: Uint8Array, query: Buffer): boolean {
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (message.length < HEADER_BYTES || ((message[ID_BYTES] ?? 0) & IS_ANSWER) === 0) return false;
  const question = message.subarray(HEADER_BYTES, HEADER_BYTES + QUESTION.length);
  return (
    message.subarray(0, ID_BYTES).equals(query.subarray(0, ID_BYTES)) &&
    (message.length === HEADER_BYTES || question.equals(QUESTION))
  );
}
