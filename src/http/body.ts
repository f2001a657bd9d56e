import { GatewayError } from "../base/errors.ts";
import { parseJson } from "./json.ts";

/** Parser of the routes that take a body. */
export function jsonBody(maxBytes = MAX_BODY_BYTES): (context: { request: Request }) => Promise<unknown> {
  return async ({ request }) => {
    requireJson(request);
    const bytes = await bodyOf(request, maxBytes);
    if (bytes.length === 0) throw new GatewayError("bad_request", "body is empty: a JSON object is expected");
    return parseJson(decoded(bytes));
  };
}

/** Parser of the routes that change something but take no body: a body that is sent anyway is read and ignored. */
export async function unusedBody({ request }: { request: Request }): Promise<null> {
  const bytes = await bodyOf(request, MAX_BODY_BYTES);
  if (bytes.length > 0) requireJson(request);
  return null;
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
    throw new GatewayError("bad_request", "Content-Type must be application/json");
  }
}

async function bodyOf(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of request.body ?? []) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError("bad_request", "body is incomplete", { cause: error });
  }
  return Buffer.concat(chunks);
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError("bad_request", `body is too large: at most ${maxBytes} bytes`);
}

function decoded(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.startsWith("\uFEFF")) return text;
  } catch (error) {
    throw new GatewayError("bad_request", "body is not valid UTF-8", { cause: error });
  }
  // RFC 8259, section 8.1: a sender must not add one.
  throw new GatewayError("bad_request", "body starts with a byte order mark");
}
