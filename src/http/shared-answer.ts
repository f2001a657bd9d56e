const SHARED = new WeakSet<Response>();

/**
 * An answer that is the same for all clients: they share its bytes while it is unread, because a `Blob` is never
 * copied.
 */
export function sharedAnswer(body: Blob, init: ResponseInit): Response {
  const answer = new Response(body, init);
  SHARED.add(answer);
  return answer;
}

export function isShared(answer: Response): boolean {
  return SHARED.has(answer);
}
