import { errorText } from "./codes.ts";
import { type Parts, say } from "./language.ts";
import { isLost, needsToken } from "./store.ts";
import { bearing, forgetToken, keptToken } from "./token.ts";
import { turns } from "./turns.ts";

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

type Method = "POST" | "PUT" | "PATCH" | "DELETE";

/** Reads `/api/<path>`. */
export async function read<T>(path: string, signal: AbortSignal | null = null): Promise<T> {
  return (await answerOf(await request(path, { signal }, say("The gateway does not answer.")))) as T;
}

/**
 * Changes something at `/api/<path>`; throws an `ApiError` with the gateway's own sentence, see `codes.ts`. Paths with names are made
 * by `pathOf`.
 */
export async function change<T = unknown>(method: Method, path: string, body?: unknown): Promise<T> {
  // Otherwise the browser would keep it, and the gateway might do it much later.
  if (isLost.value) throw new ApiError(UNSENT, null);
  const json = { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  return (await answerOf(await request(path, { method, ...(body === undefined ? {} : json) }, UNKNOWN))) as T;
}

/** The path of something by its name. */
export function pathOf(...parts: readonly string[]): string {
  return parts.map(encodeURIComponent).join("/");
}

const UNKNOWN = say("The gateway does not answer. You will see whether this was done when it is back.");

const UNSENT = say("The gateway does not answer, so nothing was changed. Try again when it is back.");

async function request(path: string, init: RequestInit, silence: string): Promise<Response> {
  let token: string | null = null;
  const send = () => {
    token = keptToken();
    const headers = { ...init.headers, ...bearing(token) };
    return fetch(`/api/${path}`, { ...init, headers, cache: "no-cache" });
  };
  const response = await turns.take(send, init.method !== undefined).catch(() => {
    throw new ApiError(silence, null);
  });
  if (response.status !== 401) return response;
  // Another one may have been entered meanwhile.
  if (keptToken() === token) forgetToken();
  needsToken.value = true;
  throw new ApiError(say("This needs a token. Log in, then try again."), 401);
}

async function answerOf(response: Response): Promise<unknown> {
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  const { error, args } = (answer ?? {}) as { error?: string; args?: Parts };
  const text =
    error === undefined
      ? say("The gateway answered {status}.", { status: response.status })
      : await errorText(response.headers.get("Error-Code"), { error, ...(args && { args }) });
  throw new ApiError(text, response.status);
}
