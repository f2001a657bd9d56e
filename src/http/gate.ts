import { Limiter } from "../access/limiter.ts";
import type { TokenHolder, Tokens } from "../access/tokens.ts";
import type { Settings } from "../base/settings.ts";
import { refusal } from "./errors.ts";
import { httpsOnly, type Ways } from "./https-only.ts";
import { isSecure } from "./origin.ts";
import { refused } from "./refusals.ts";

/** What changes nothing (RFC 9110, section 9.2.1). */
const READING = ["GET", "HEAD", "OPTIONS"];

/** The subprotocol that `/ws` chooses, and what its clients write before their token: a browser cannot send headers. */
export const PROTOCOL = "portcullis";
export const PROTOCOL_TOKEN = "portcullis.bearer.";

/** Who may use a route: see `access` of `Route`. */
export type RouteAccess = "open" | "private" | "owner" | "pairing";
type Access = RouteAccess | undefined;

/** Decides whether a request may pass by its token, as the setting `auth` has it. */
export class Gate {
  /** Counts wrong tokens on every path. */
  private readonly attempts = new Limiter();

  constructor(
    readonly auth: Settings["auth"],
    readonly tokens: Pick<Tokens, "find" | "has" | "onRemoved">,
  ) {}

  /** Whether everyone may read what needs no token of its own. */
  get isOpenToRead(): boolean {
    return this.auth !== "on";
  }

  /** The answer to a request that may not pass; null for one that may. `now` is in milliseconds. */
  refusalFor(request: Request, client: string, now: number, access: Access, ways: Ways): Response | null {
    const isReading = isReadingOf(request, access);
    if (access === "pairing" || (isReading && access === "open")) return null;
    const isAsked = this.auth !== "off" || access === "owner";
    const token = tokenOf(request.headers);
    if (token === null) return isAsked ? this.refusalWithout(isReading, access) : null;
    // Before the token is looked at, so that the answer says nothing about it.
    if (isAsked && !this.attempts.peek(client, "connection", now).allowed) return tooMany();
    const holder = this.tokens.find(token);
    // On its way, others may have read it.
    if (holder?.isOwner && !isSecure(request)) return httpsOnly(request, ways);
    if (!isAsked || holder?.isOwner) return null;
    if (holder === null) {
      this.attempts.take(client, "connection", now);
      return unauthorized("token_invalid", INVALID);
    }
    if (access === "owner") return ownerNeeded();
    return holder.readOnly && !isReading ? readOnly() : null;
  }

  /** The same for a token that has been removed while the body came in, which its client may take days to send. */
  refusalOnceRead(request: Request, access: Access): Response | null {
    if (access === "pairing" || isReadingOf(request, access)) return null;
    const holder = this.holderOf(request);
    if (access === "owner") return holder?.isOwner ? null : ownerNeeded();
    return this.auth === "off" || holder !== null ? null : unauthorized("token_invalid", INVALID);
  }

  /**
   * Whose token the request has; null if it has none. An owner's counts over HTTPS only, and even if no token is asked for;
   * the others do not count then.
   */
  holderOf(request: Request): TokenHolder | null {
    const token = tokenOf(request.headers);
    const holder = token === null ? null : this.tokens.find(token);
    if (holder?.isOwner) return isSecure(request) ? holder : null;
    return this.auth === "off" ? null : holder;
  }

  private refusalWithout(isReading: boolean, access: Access): Response | null {
    if (access === "owner") return ownerNeeded();
    return this.isOpenToRead && isReading ? null : unauthorized("token_missing");
  }
}

/** Whether a read-only token is enough. */
function isReadingOf({ method }: Request, access: Access): boolean {
  return READING.includes(method) && (access === undefined || access === "open");
}

/** The subprotocols that a WebSocket's client offers. */
export function protocolsOf(headers: Headers): string[] {
  return (headers.get("sec-websocket-protocol") ?? "")
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

/** Whether a subprotocol is only there for the token in it. */
export function carriesToken(protocol: string): boolean {
  return protocol.startsWith(PROTOCOL_TOKEN);
}

/** Null without one; credentials of another scheme are those of a proxy. */
function tokenOf(headers: Headers): string | null {
  const bearer = /^bearer(?: +|$)(.*)$/i.exec(headers.get("authorization") ?? "")?.[1];
  if (bearer !== undefined) return bearer.trim();
  const protocol = protocolsOf(headers).find(carriesToken);
  return protocol === undefined ? null : protocol.slice(PROTOCOL_TOKEN.length);
}

/** Angle brackets would be tags of a message. */
const HOW = { command: "sudo portcullis token add <name>" };
const HEADER = "Authorization: Bearer <token>";
const INVALID = ', error="invalid_token"';

/** RFC 6750, section 3. */
function unauthorized(what: "token_missing" | "token_invalid", more = ""): Response {
  return refusal(401, refused(what, { header: HEADER, ...HOW }), {
    "WWW-Authenticate": `Bearer realm="Portcullis"${more}`,
  });
}

function readOnly(): Response {
  return refusal(403, refused("token_read_only", HOW), {
    "WWW-Authenticate": 'Bearer realm="Portcullis", error="insufficient_scope"',
  });
}

function ownerNeeded(): Response {
  return refusal(403, refused("owner_needed"));
}

function tooMany(): Response {
  return refusal(429, refused("too_many_wrong_tokens"), { "Retry-After": "1" });
}
