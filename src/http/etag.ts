import { sharedAnswer } from "./shared-answer.ts";

/** A JSON answer as it is sent, and the strong validator of exactly these bytes (RFC 9110, section 8.8.3). */
export interface Entity {
  body: Blob;
  etag: string;
}

/** Checks and encodes the answer only once while the same object is passed. What does not fit is checked each time. */
export function entityOnce<Value extends object>(
  check: (value: Value) => void | Promise<void>,
): (value: Value) => Promise<Entity> {
  let last: { value: Value; entity: Promise<Entity> } | null = null;
  const made = async (value: Value) => {
    await check(value);
    return entityOf(value);
  };
  return (value) => {
    if (last?.value === value) return last.entity;
    const begun = { value, entity: made(value) };
    last = begun;
    begun.entity.catch(() => {
      if (last === begun) last = null;
    });
    return begun.entity;
  };
}

/** The entity, or 304 without a body for a client that already has it. */
export function answerWith({ body, etag }: Entity, request: Request): Response {
  // A client may cache it, but must revalidate it each time.
  const headers = { ETag: etag, "Cache-Control": "private, no-cache" };
  if (isKnown(etag, request)) {
    return new Response(null, { status: 304, headers });
  }
  return sharedAnswer(body, { headers: { ...headers, "Content-Type": "application/json" } });
}

function entityOf(value: object): Entity {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  return {
    body: new Blob([bytes]),
    etag: `"${new Bun.CryptoHasher("sha256").update(bytes).digest("base64url")}"`,
  };
}

/** Whether the client already has it: `If-None-Match` is `*` or a list of tags, compared weakly (RFC 9110, section 13.1.2). */
export function isKnown(etag: string, request: Request): boolean {
  const tags = (request.headers.get("if-none-match") ?? "").split(",").map((tag) => tag.trim());
  return tags.some((tag) => tag === "*" || tag === etag || tag === `W/${etag}`);
}
