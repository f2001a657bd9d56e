const SHARED = new WeakSet<Response>();

/** An answer that is the same for all who ask: those who do not read it share its bytes, as a `Blob` is never copied. */
export function sharedAnswer(body: Blob, init: ResponseInit): Response {
  const answer = new Response(body, init);
  SHARED.add(answer);
  return answer;
}

export function isShared(answer: Response): boolean {
  return SHARED.has(answer);
}
