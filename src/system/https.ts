import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { isIP } from "node:net";
import { isLocal, parseAddress } from "../base/address.ts";
import { messageOf } from "../base/errors.ts";
import type { HttpsAnswer, PinnedRequest } from "./host.ts";
import { refused } from "./refusals.ts";

/** From the first connection attempt to the last byte; the largest list takes half of this on a slow line. */
const ANSWER_TIMEOUT_MS = 60_000;
/** Longest wait for a connection to one address before the next one is tried. */
const CONNECT_TIMEOUT_MS = 5_000;
/** The largest server list is smaller (see `servers/lists`); an answer must not fill the memory of a Pi. */
const MAX_BYTES = 32 * 2 ** 20;
/** Informational answers (RFC 9110, 15.2) that may precede the answer; a server could send them without end. */
const MAX_INFORMATIONAL = 10;

/**
 * Tries the addresses in turn, and no others: no system resolver, no proxy from the environment, no redirect. The
 * server's certificate must be for the URL's host, and from the request's authority if it names one. Throws `GatewayError("unable")` if there is no answer.
 */
export function ask(pinned: PinnedRequest, signal?: AbortSignal): Promise<HttpsAnswer> {
  const { onlyStatus, mostBytes = MAX_BYTES } = pinned;
  return exchange(pinned, onlyStatus ? headOf : (answer) => readAnswer(answer, mostBytes), signal);
}

/** What becomes of an answer whose body has not been read yet. */
export type Read = (answer: IncomingMessage) => Promise<HttpsAnswer>;

/**
 * Like `ask`; `read` takes the answer. With `readWithinMs`, the request's own time is for the beginning of the answer only,
 * and this for the rest.
 */
export async function exchange(
  pinned: PinnedRequest,
  read: Read,
  signal?: AbortSignal,
  readWithinMs?: number,
): Promise<HttpsAnswer> {
  const { host } = new URL(pinned.url);
  const deadline = new AbortController();
  const endAfter = (ms: number) => setTimeout(() => deadline.abort(new Error(LATE)), ms);
  let timer = endAfter(pinned.withinMs ?? ANSWER_TIMEOUT_MS);
  const readInTime: Read = (answer) => {
    if (readWithinMs !== undefined) {
      clearTimeout(timer);
      timer = endAfter(readWithinMs);
    }
    return read(answer);
  };
  const over = AbortSignal.any([deadline.signal, ...(signal === undefined ? [] : [signal])]);
  let fault: unknown = new Error("it has no address");
  try {
    for (const address of pinned.addresses) {
      try {
        return await askAt(address, pinned, readInTime, over);
      } catch (error) {
        fault = error;
        // Once a request was sent, it must not be sent again.
        if (over.aborted || !(error instanceof NoConnection)) break;
      }
    }
  } finally {
    clearTimeout(timer);
  }
  signal?.throwIfAborted();
  throw refused("request_failed", { host, reason: reasonOf(fault) }, { cause: fault });
}

const LATE = "no answer in time";

/** The connection failed before anything was sent. */
class NoConnection extends Error {}

function askAt(address: string, pinned: PinnedRequest, read: Read, over: AbortSignal): Promise<HttpsAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpsAnswer>();
  let connected = false;
  let informational = 0;
  const isPlain = new URL(pinned.url).protocol === "http:";
  if (isPlain && !isLocal(parseAddress(address)))
    throw new Error("plain http is for the local network only; use https");
  const request = isPlain ? httpRequest : httpsRequest;
  const outgoing = request(optionsFor(address, pinned), (answer) => read(answer).then(resolve, reject));
  const fail = (error: Error) =>
    reject(connected ? error : new NoConnection(messageOf(error), { cause: error }));
  const onOver = () => reject(over.reason);
  const connecting = setTimeout(() => fail(new Error(LATE)), CONNECT_TIMEOUT_MS);
  over.addEventListener("abort", onOver);
  outgoing.on("socket", (socket) =>
    socket.on(isPlain ? "connect" : "secureConnect", () => {
      connected = true;
      clearTimeout(connecting);
    }),
  );
  outgoing.on("error", fail);
  outgoing.on("information", () => {
    informational += 1;
    if (informational > MAX_INFORMATIONAL) reject(new Error("it does not come to its answer"));
  });
  outgoing.on("upgrade", () => reject(new Error("it switched to another protocol")));
  outgoing.end(pinned.body);
  return promise.finally(() => {
    clearTimeout(connecting);
    over.removeEventListener("abort", onOver);
    outgoing.destroy();
  });
}

function optionsFor(
  address: string,
  { url, method, headers, sourcePort, ownAddresses, authority }: PinnedRequest,
): RequestOptions {
  const { protocol, hostname, host, port, pathname, search } = new URL(url);
  return {
    host: address,
    port: port !== "" ? Number(port) : protocol === "http:" ? 80 : 443,
    path: pathname + search,
    method,
    headers: { Host: host, "Accept-Encoding": "identity", ...headers },
    agent: false,
    // No server name for an address (RFC 6066, 3).
    ...(isIP(hostname.replace(/^\[|\]$/g, "")) === 0 && { servername: hostname }),
    ...(sourcePort !== undefined && { localPort: sourcePort }),
    ...(ownAddresses !== undefined && { localAddress: ownFor(address, ownAddresses) }),
    ...(authority !== undefined && { ca: authority }),
  };
}

function ownFor(address: string, own: readonly string[]): string {
  const found = own.find((each) => isIP(each) === isIP(address));
  if (found === undefined) throw new NoConnection(`there is no address to reach ${address} from`);
  return found;
}

async function readAnswer(answer: IncomingMessage, mostBytes: number): Promise<HttpsAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw tooLarge(mostBytes);
    chunks.push(chunk);
  }
  assertComplete(answer);
  return { ...(await headOf(answer)), body: new TextDecoder().decode(Buffer.concat(chunks)) };
}

export function tooLarge(mostBytes: number): Error {
  const limit = mostBytes < 2 ** 20 ? `${mostBytes} bytes` : `${mostBytes / 2 ** 20} MiB`;
  return new Error(`its answer is larger than ${limit}`);
}

export function assertComplete(answer: IncomingMessage): void {
  if (!answer.complete) throw new Error("the connection was closed too early");
}

/** The answer without its body. */
export async function headOf(answer: IncomingMessage): Promise<HttpsAnswer> {
  const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
  return { status: answer.statusCode ?? 0, headers: Object.fromEntries(headers), body: "" };
}

function reasonOf(error: unknown): string {
  const { code } = ((error as Error).cause ?? error) as { code?: string };
  if (code === "ECONNREFUSED") return "connection refused";
  if (code === "EHOSTUNREACH" || code === "ENETUNREACH") return "nothing leads there";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "its certificate is for another name";
  return messageOf(error);
}
