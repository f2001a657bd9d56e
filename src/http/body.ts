import { GatewayError } from "../base/errors.ts";
import { nextTurn } from "../base/queue.ts";
import { MAX_BACKUP_BYTES } from "../shared/bounds.ts";
import type { Bodies } from "./bodies.ts";
import { parseJson } from "./json.ts";
import { refused } from "./refusals.ts";

/** Parser of the routes that take a body. */
export function jsonBody(
  bodies: Pick<Bodies, "take">,
  maxBytes = MAX_BODY_BYTES,
): (context: { request: Request }) => Promise<unknown> {
  return async ({ request }) => {
    requireJson(request);
    const bytes = await bodyOf(request, maxBytes, bodies);
    if (bytes.length === 0) throw refused("body_empty");
    return parseJson(decoded(bytes));
  };
}

/** Parser of the routes that change something but take no body: a body that is sent anyway is read and ignored. */
export function unusedBody(bodies: Pick<Bodies, "take">): (context: { request: Request }) => Promise<null> {
  return async ({ request }) => {
    const bytes = await bodyOf(request, MAX_BODY_BYTES, bodies);
    if (bytes.length > 0) requireJson(request);
    return null;
  };
}

/** Whether a client may send more than any body has. Bun would read on after the answer, for as long as it comes. */
export function isEndless({ headers }: Request): boolean {
  return Number(headers.get("content-length") ?? 0) > MAX_BACKUP_BYTES || headers.has("transfer-encoding");
}

/** 64 KiB: a wg-quick file with one peer and a long list of allowed IPs takes a tenth of it. */
const MAX_BODY_BYTES = 65_536;

/**
 * A page of another site can send text/plain without a CORS preflight, but not application/json
 * (https://fetch.spec.whatwg.org/#cors-safelisted-request-header).
 */
function requireJson(request: Request): void {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json *(; *charset="?utf-8"? *)?$/i.test(type)) {
    throw refused("body_type");
  }
}

/** What a body may be sent in before each further piece waits for a turn of the event loop, in which more of them come together. */
const PIECES_AT_ONCE = 16;

async function bodyOf(request: Request, maxBytes: number, bodies: Pick<Bodies, "take">): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const stated = Number(request.headers.get("content-length") ?? maxBytes);
  if (stated > maxBytes) throw tooLarge(maxBytes);
  bodies.take(request, stated);
  try {
    return await joined(request.body, maxBytes);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw refused("body_incomplete", {}, { cause: error });
  }
}

/** A client may send each byte as a piece of its own, which would be an object of its own. */
async function joined(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const sink = new Bun.ArrayBufferSink();
  sink.start({ asUint8Array: true });
  let [length, pieces] = [0, 0];
  for await (const piece of body) {
    length += piece.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    sink.write(piece);
    pieces += 1;
    if (pieces > PIECES_AT_ONCE) await nextTurn();
  }
  return sink.end() as Uint8Array;
}

function tooLarge(maxBytes: number): GatewayError {
  return refused("body_too_large", { max: maxBytes });
}

function decoded(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.startsWith("\uFEFF")) return text;
  } catch (error) {
    throw refused("body_not_utf8", {}, { cause: error });
  }
  // RFC 8259, section 8.1: a sender must not add one.
  throw refused("body_marked");
}
