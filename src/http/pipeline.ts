import { type Budget, type Endpoint, Limiter } from "../access/limiter.ts";
import { Turns } from "../base/turns.ts";
import type { Host } from "../system/host.ts";
import type { Bodies } from "./bodies.ts";
import { isEndless } from "./body.ts";
import type { Clients } from "./clients.ts";
import { answerTo, type Fault, NOT_FOUND, pathOf, shownPathOf } from "./errors.ts";
import type { Gate } from "./gate.ts";
import type { Ways } from "./https-only.ts";
import { IpRestriction, type LocalNetwork } from "./ip-restriction.ts";
import { isVisitFromElsewhere, refuseOtherSites } from "./origin.ts";
import { refused } from "./refusals.ts";
import { accessOf, endpointOf, isPage, mayHaveSlash } from "./rules.ts";
import { refusalOverHttp, toHttps } from "./secure-page.ts";
import { isShared } from "./shared-answer.ts";
import type { Unread } from "./unread.ts";

export interface PipelineOptions extends LocalNetwork {
  /** The machine's own name and those that the operator configured; each is also known as `<name>.local`. */
  names: readonly string[];
  /** Decides by the token of a request. */
  gate: Gate;
  clients: Clients;
  bodies: Pick<Bodies, "end">;
  unread: Pick<Unread, "keep">;
  https: Ways["https"];
  clock: Pick<Host, "now" | "monotonic">;
  /** Called once for every answer. */
  log: (method: string, path: string, status: number, ms: number) => void;
  fault: Fault;
  /** Resolves once what requests have changed is on the disk. */
  saved: () => Promise<void>;
}

/** Passes a request on to the routes. */
export type Next = (request: Request) => Promise<Response> | Response;

/**
 * The checks that every request passes before any route, and the headers and log line of every answer. It wraps
 * Elysia instead of using its hooks, because no hook sees all answers: errors, unknown paths and upgrades differ.
 */
export function pipelineFor(options: PipelineOptions) {
  const ipRestriction = new IpRestriction(options);
  const limiter = new Limiter();
  const { clients, bodies, clock, log, fault } = options;
  const turns = new Turns(() => clock.monotonic());
  const answer = async (request: Request, peer: string | null, next: Next): Promise<Response> => {
    const client = clients.of(request);
    const start = clock.monotonic();
    const path = pathOf(request);
    const endpoint = limitOf(request, path);
    let budget: Budget | null = null;
    let response: Response;
    try {
      ipRestriction.refuseRemote(peer);
      refuseOtherSites(request, options.names, isPage(path));
      budget = endpoint && limiter.take(client, endpoint, start);
      refuseTooMany(budget);
      response =
        refusalOverHttp(request, path, options) ??
        options.gate.refusalFor(request, client, start, accessOf(path), options) ??
        toHttps(request, path, peer ?? "", options) ??
        (await kept(request, await pass(request, path, next), options.unread));
      if (request.method !== "GET") await options.saved();
    } catch (error) {
      response = answerTo(error, request, fault);
    }
    bodies.end(request);
    log(request.method, shownPathOf(request), response.status, clock.monotonic() - start);
    if (endpoint !== null) {
      // A request refused for its origin is not counted: a foreign page must not use up its visitor's limit.
      announce(response, budget ?? limiter.peek(client, endpoint, start), clock.now() - clock.monotonic());
    }
    setSecureHeaders(response.headers);
    if (isEndless(request)) response.headers.set("Connection", "close");
    return response;
  };
  return (request: Request, peer: string | null, next: Next): Promise<Response> =>
    turns.run(clients.see(request, peer ?? ""), () => answer(request, peer, next));
}

/** A page of another site may make a browser send as many requests as it likes: half of the limit is left to the gateway's own. */
function limitOf(request: Request, path: string): Endpoint | null {
  const endpoint = endpointOf(request.method, path);
  return endpoint !== null && isVisitFromElsewhere(request) ? "visit" : endpoint;
}

/** A client without a token learns only that it lacks one. */
function pass(request: Request, path: string, next: Next): ReturnType<Next> {
  refuseOddPath(path);
  if (request.method === "HEAD") throw NOT_FOUND;
  return next(request);
}

/** The bytes of an answer that is made for this request only stay in memory until they are read. */
async function kept(request: Request, answer: Response, unread: Pick<Unread, "keep">): Promise<Response> {
  if (answer.status !== 200 || isShared(answer)) return answer;
  const body = await answer.blob();
  if (!unread.keep(request, body.size)) throw refused("too_many_answers");
  return new Response(body, { headers: answer.headers });
}

function refuseTooMany(budget: Budget | null): void {
  if (budget === null || budget.allowed) return;
  throw refused("too_many_requests");
}

/** The router would silently replace bytes that are not UTF-8 by U+FFFD, and `%2F` by a slash. */
function refuseOddPath(path: string): void {
  if (/%2f/i.test(path) && !mayHaveSlash(path)) {
    throw refused("path_slash");
  }
  try {
    decodeURIComponent(path);
  } catch {
    throw refused("path_not_utf8");
  }
}

/** Sets the limit headers; `epoch` added to a time of the monotonic clock gives Unix time. */
function announce(response: Response, budget: Budget, epoch: number): void {
  response.headers.set("X-RateLimit-Limit", String(budget.limit));
  response.headers.set("X-RateLimit-Remaining", String(budget.remaining));
  response.headers.set("X-RateLimit-Reset", String(Math.ceil((budget.resetAt + epoch) / 1000)));
  // This window is one second, the shortest time that Retry-After can express (RFC 9110, section 10.2.3).
  if (response.status === 429 && !response.headers.has("Retry-After"))
    response.headers.set("Retry-After", "1");
}

/** Headers of every answer; a route that needs another Content-Security-Policy or caching sets its own. */
function setSecureHeaders(headers: Headers): void {
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("X-Frame-Options", "DENY");
  // Other sites learn nothing; here it distinguishes the gateway's own pages from those of others.
  headers.set("Referrer-Policy", "same-origin");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  if (!headers.has("Content-Security-Policy")) headers.set("Content-Security-Policy", NOTHING);
  // Status, servers and keys may change at any time: no cache may store them.
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
}

/** JSON and plain text load nothing, even if a browser shows them as a document. */
const NOTHING = "default-src 'none'; frame-ancestors 'none'";
