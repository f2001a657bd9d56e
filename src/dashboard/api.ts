import { sentenceFrom } from "./format.ts";

/** Why a request failed, as a sentence for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    message: string,
    /** The HTTP status; null if no answer came. */
    readonly status: number | null,
  ) {
    super(message);
  }
}

type Method = "POST" | "PUT" | "DELETE";

const SECOND_MS = 1_000;

/** Reads `/api/<path>`. Over the limit of requests it waits and asks again, because a read changes nothing. */
export async function read<T>(path: string): Promise<T> {
  for (;;) {
    const response = await request(`/api/${path}`, {}, "The gateway does not answer.");
    if (response.status !== 429) return (await answerOf(response)) as T;
    // An answer that is not read keeps its connection, and a browser has six.
    await response.body?.cancel();
    const seconds = Number(response.headers.get("Retry-After") ?? 1);
    await new Promise((resolve) => setTimeout(resolve, seconds * SECOND_MS));
  }
}

/**
 * Changes something at `/api/<path>`; throws an `ApiError` with the gateway's own sentence. Parts of the path that are
 * names need `encodeURIComponent`.
 */
export async function change<T = unknown>(method: Method, path: string, body?: unknown): Promise<T> {
  const json = { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  const init = { method, ...(body === undefined ? {} : json) };
  const response = await request(`/api/${path}`, init, UNKNOWN);
  if (response.status === 429) throw new ApiError("Too many requests at once. Try again in a second.", 429);
  return (await answerOf(response)) as T;
}

const UNKNOWN = "The gateway does not answer. Whether this was done will be seen when it is back.";

async function request(path: string, init: RequestInit, silence: string): Promise<Response> {
  try {
    return await fetch(path, { ...init, cache: "no-cache" });
  } catch {
    throw new ApiError(silence, null);
  }
}

async function answerOf(response: Response): Promise<unknown> {
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  const { error } = (answer ?? {}) as { error?: string };
  throw new ApiError(sentenceFrom(error ?? `the gateway answered ${response.status}`), response.status);
}
