import type { Address } from "../base/address.ts";
import type { Host, UdpPlace, UdpSocket } from "../system/host.ts";
import { type Answer, answerIn, type Request, requestBytes, SERVER_PORT } from "./message.ts";

/** The first wait for an answer; each further one is twice as long (RFC 6886, section 3.1). */
const FIRST_WAIT_MS = 250;
const POLL_MS = 10;

/** Where a server is, and by which interface it is asked. */
export interface Server extends Pick<UdpPlace, "link" | "mark"> {
  address: Address;
}

interface Deps {
  host: Pick<Host, "openUdp" | "sleep" | "monotonic">;
  server: Server;
  /** How often the request is sent before the server counts as silent. */
  attempts: number;
  signal: AbortSignal;
}

/** `closed`: nothing listens there, or only for another version of the protocol. `silent`: no answer in time. */
export type Outcome = Exclude<Answer, { answers: "nothing" }> | "closed" | "silent";

/** Sends a request until its answer comes. An abort throws the signal's reason. */
export async function exchange(request: Request, deps: Deps): Promise<Outcome> {
  const { host, server, attempts, signal } = deps;
  const { address, ...place } = server;
  const socket = await host.openUdp({ ...place, peer: { address, port: SERVER_PORT } });
  try {
    for (let attempt = 0; attempt < attempts; attempt++) {
      socket.send(requestBytes(request));
      const outcome = await answerWithin(FIRST_WAIT_MS * 2 ** attempt, socket, request, deps);
      signal.throwIfAborted();
      if (outcome !== null) return outcome;
    }
    return "silent";
  } finally {
    socket.close();
  }
}

async function answerWithin(
  ms: number,
  socket: UdpSocket,
  request: Request,
  { host, signal }: Deps,
): Promise<Outcome | null> {
  const end = host.monotonic() + ms;
  while (!signal.aborted && host.monotonic() < end) {
    await host.sleep(POLL_MS, signal);
    const received = socket.received();
    if (received === "refused") return "closed";
    for (const { bytes } of received) {
      const answer = answerIn(bytes);
      if (answer?.answers === "nothing") return "closed";
      if (answer !== null && belongs(answer, request)) return answer;
    }
  }
  return null;
}

/** An answer to an earlier request may come late, and messages have no number. */
function belongs(answer: Exclude<Answer, { answers: "nothing" }>, request: Request): boolean {
  if (answer.answers !== "mapping" || request.asks !== "mapping") return answer.answers === request.asks;
  return answer.protocol === request.protocol && answer.internal === request.internal;
}
