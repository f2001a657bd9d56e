import { NotFoundError, ParseError, ValidationError } from "elysia";
import { type Code, GatewayError } from "../base/errors.ts";
import { redacted } from "../base/secrets.ts";
import { refused } from "./refusals.ts";
import type { Issue } from "./standard-schema.ts";

/** Logs a fault whose details are not shown to the client. */
export type Fault = (message: string) => void;

const STATUS: Record<Code, number> = {
  bad_request: 400,
  forbidden: 403,
  interrupted: 500,
  kernel_refused: 500,
  no_answer: 500,
  not_found: 404,
  rate_limited: 429,
  storage_full: 500,
  timed_out: 500,
  unable: 500,
};

/** The answer to whatever was thrown, the framework's own errors included. */
export function answerTo(thrown: unknown, request: Request, fault: Fault): Response {
  const error = gatewayErrorFrom(thrown);
  if (error === null || STATUS[error.code] >= 500) {
    fault(`${request.method} ${shownPathOf(request)}: ${describe(thrown)}`);
  }
  if (error === null) return refusal(500, refused("internal_error"));
  const said =
    error === NOT_FOUND
      ? refused("not_found", { method: request.method, path: shownPathOf(request) })
      : error;
  return refusal(STATUS[error.code], said, { "Error-Code": error.code });
}

/** Thrown if no route matches; the answer names the method and the path. */
export const NOT_FOUND = refused("not_found", { method: "", path: "" });

/** The path of a request as it was sent, percent-encoded, without the query. */
export function pathOf(request: Request): string {
  // The URL of a request without a usable Host has no origin, and `new URL` would throw.
  return request.url.replace(/^https?:\/\/[^/]*/, "").replace(/[?#].*$/s, "");
}

/** The path for the log and for answers: shortened, and without a secret that someone has put there. */
export function shownPathOf(request: Request): string {
  const path = redacted(pathOf(request));
  return path.length > MAX_SHOWN ? `${path.slice(0, MAX_SHOWN)}…` : path;
}

/** Long enough for `/api/custom/remove/` and 64 characters that take 12 bytes each when encoded. */
const MAX_SHOWN = 800;

/** An error answer; `more` are headers that the status code requires. */
export function refusal(
  status: number,
  { message: error, args }: GatewayError,
  more: Record<string, string> = {},
): Response {
  const headers = { "content-type": "application/json", ...more };
  return new Response(JSON.stringify({ success: false, error, args }), { status, headers });
}

/** Elysia wraps what a parser throws in a ParseError. Null stands for a cause that is not shown to clients. */
function gatewayErrorFrom(thrown: unknown): GatewayError | null {
  if (thrown instanceof GatewayError) return thrown;
  if (thrown instanceof NotFoundError) return NOT_FOUND;
  if (thrown instanceof ParseError) return gatewayErrorFrom(thrown.cause);
  return thrown instanceof ValidationError && thrown.type !== "response" ? faultOf(thrown) : null;
}

/** For the log. A ValidationError's own message quotes the whole body, and any other message may quote a key. */
export function describe(thrown: unknown): string {
  if (thrown instanceof ValidationError)
    return `the answer does not fit its schema: ${faultOf(thrown).message}`;
  if (!(thrown instanceof Error)) return "something other than an Error was thrown";
  const cause = thrown.cause === undefined ? "" : `, because ${describe(thrown.cause)}`;
  const text = thrown instanceof GatewayError ? thrown.message : (thrown.stack ?? thrown.message);
  return redacted(text.replace(/\.$/, "") + cause);
}

/** What `standard-schema.ts` gives as the only issue. */
function faultOf({ valueError }: ValidationError): GatewayError {
  const { fault } = (valueError ?? {}) as Partial<Issue>;
  return fault ?? refused("invalid", { field: "a field" });
}
