import { GatewayError } from "../errors.ts";
import type { Host } from "../system/host.ts";
import { answerTo, type Fault, NOT_FOUND, pathOf, shownPathOf } from "./errors.ts";
import { type Budget, type Endpoint, Limiter } from "./limits.ts";
import { type Neighbourhood, refuseStrangers } from "./origin.ts";
import { setSecureHeaders } from "./secure-headers.ts";

export interface PipelineOptions extends Neighbourhood {
  clock: Pick<Host, "now" | "monotonic">;
  /** Called once for every answer. */
  log: (method: string, path: string, status: number, ms: number) => void;
  fault: Fault;
}

/** Passes a request on to the routes. */
export type Next = (request: Request) => Promise<Response> | Response;

/**
 * What every request passes before any route, and every answer on its way out. It stands around Elysia
 * instead of in its hooks, because no hook sees all answers alike: errors, unknown paths and upgrades differ.
 */
export function pipelineFor(options: PipelineOptions) {
  const limiter = new Limiter();
  const { clock, log, fault } = options;
  return async (request: Request, peer: string | null, next: Next): Promise<Response> => {
    const start = clock.monotonic();
    const endpoint = endpointOf(pathOf(request));
    let budget: Budget | null = null;
    let response: Response;
    try {
      refuseStrangers(request, peer, options);
      budget = endpoint && limiter.take(peer ?? "", endpoint, start);
      refuseTooMany(budget);
      refuseOddPath(pathOf(request));
      if (request.method === "HEAD") throw NOT_FOUND;
      response = await next(request);
    } catch (error) {
      response = answerTo(error, request, fault);
    }
    log(request.method, shownPathOf(request), response.status, clock.monotonic() - start);
    if (endpoint !== null) {
      // A stranger is not counted: a foreign page must not use up the limit of the person whose browser it runs in.
      announce(
        response,
        budget ?? limiter.peek(peer ?? "", endpoint, start),
        clock.now() - clock.monotonic(),
      );
    }
    setSecureHeaders(response.headers);
    return response;
  };
}

/** Null for what is not limited. */
function endpointOf(path: string): Endpoint | null {
  if (path !== "/api" && !path.startsWith("/api/")) return null;
  return /^\/api\/(connect|disconnect|provider\/.*)$/.test(path) ? "connection" : "general";
}

function refuseTooMany(budget: Budget | null): void {
  if (budget === null || budget.allowed) return;
  throw new GatewayError("rate_limited", "too many requests: see the X-RateLimit headers and Retry-After");
}

/** The router would quietly put U+FFFD for bytes that are not UTF-8, and a slash for `%2F`. */
function refuseOddPath(path: string): void {
  if (/%2f/i.test(path)) {
    throw new GatewayError("bad_request", "the path holds an encoded slash (%2F), which no name has");
  }
  try {
    decodeURIComponent(path);
  } catch {
    throw new GatewayError("bad_request", "the path is not valid percent-encoded UTF-8");
  }
}

/** `epoch` turns a time of the monotonic clock into Unix time. */
function announce(response: Response, budget: Budget, epoch: number): void {
  response.headers.set("X-RateLimit-Limit", String(budget.limit));
  response.headers.set("X-RateLimit-Remaining", String(budget.remaining));
  response.headers.set("X-RateLimit-Reset", String(Math.ceil((budget.resetAt + epoch) / 1000)));
  // The window is one second, the shortest time that Retry-After can say (RFC 9110, section 10.2.3).
  if (response.status === 429) response.headers.set("Retry-After", "1");
}
