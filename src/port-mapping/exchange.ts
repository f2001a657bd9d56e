import type { Address } from "../base/address.ts";
import type { Host, UdpPlace, UdpSocket } from "../system/host.ts";

/** The first wait for an answer; each further one is twice as long (RFC 6886, section 3.1). */
const FIRST_WAIT_MS = 250;
const POLL_MS = 10;

/** Where a server is, and the interface and address of this machine from which it is asked. */
export interface Server extends Pick<UdpPlace, "link" | "mark" | "own"> {
  address: Address;
}

/** A request in one datagram, and how its answer is distinguished from what else may come. */
export interface Question<Answer> {
  bytes: Uint8Array;
  port: number;
  /** `closed`: only another version of the protocol is known there. Null for what is no answer to this request. */
  read: (bytes: Uint8Array) => Answer | "closed" | null;
}

interface Deps {
  host: Pick<Host, "openUdp" | "sleep" | "monotonic">;
  server: Server;
  /** How often the request is sent before the server counts as silent. */
  attempts: number;
  signal: AbortSignal;
}

/** `closed`: nothing listens there, or only for another version of the protocol. `silent`: no answer in time. */
export type NoAnswer = "closed" | "silent";

/** Sends a request until its answer comes. An abort throws the signal's reason. */
export async function exchange<Answer>(question: Question<Answer>, deps: Deps): Promise<Answer | NoAnswer> {
  const { host, server, attempts, signal } = deps;
  const { address, ...place } = server;
  const socket = await host.openUdp({ ...place, peer: { address, port: question.port } });
  try {
    for (let attempt = 0; attempt < attempts; attempt++) {
      socket.send(question.bytes);
      const outcome = await answerWithin(FIRST_WAIT_MS * 2 ** attempt, socket, question, deps);
      signal.throwIfAborted();
      if (outcome !== null) return outcome;
    }
    return "silent";
  } finally {
    socket.close();
  }
}

async function answerWithin<Answer>(
  ms: number,
  socket: UdpSocket,
  { read }: Question<Answer>,
  { host, signal }: Deps,
): Promise<Answer | "closed" | null> {
  const end = host.monotonic() + ms;
  while (!signal.aborted && host.monotonic() < end) {
    await host.sleep(POLL_MS, signal);
    const received = socket.received();
    if (received === "refused") return "closed";
    for (const { bytes } of received) {
      const answer = read(bytes);
      if (answer !== null) return answer;
    }
  }
  return null;
}
