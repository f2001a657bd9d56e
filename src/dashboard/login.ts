import type { ClaimState, ClaimStatus, NewToken } from "../access/schema.ts";
import type { Given } from "../http/forms.ts";
import { refresh } from "./answers.ts";
import { change, read } from "./api.ts";
import { say } from "./language.ts";
import { needsToken } from "./store.ts";
import { bearing, forgetToken, type Keep, keepToken, keptToken } from "./token.ts";
import { turns } from "./turns.ts";

const ANSWERS_WITHIN_MS = 2_000;
/** Who logs in waits longer; a gateway may be busy. */
const LOGS_IN_WITHIN_MS = 10_000;

/** Checks a token and keeps it; throws with a sentence for people if it is not valid. */
export async function logIn(text: string, keep: Keep): Promise<void> {
  const token = text.trim();
  // A header can have nothing else.
  if (!/^[!-~]+$/.test(token)) throw new Error(NOT_VALID);
  const status = await statusWith(token, LOGS_IN_WITHIN_MS);
  if (status === 401) throw new Error(NOT_VALID);
  if (status !== 200) throw new Error(say("The gateway does not answer. Try again in a moment."));
  useToken(token, keep);
}

/** Throws with a sentence for people if the browser does not keep it. */
function useToken(token: string, keep: Keep): void {
  keepToken(token, keep);
  if (keptToken() !== token)
    throw new Error(say("This browser keeps nothing for this page. Allow it to store data of this address."));
  needsToken.value = false;
  void refresh("access");
}

/** Makes this browser an owner's, with the code that root has. */
export async function becomeOwner(given: Given<"pairing">): Promise<void> {
  const { token } = await change<NewToken>("POST", "owner/pair", given);
  useToken(token, "browser");
  void refresh("tokens");
}

/** Makes this browser the first owner's of a flashed gateway. */
export async function claimGateway(given: Given<"claim">): Promise<void> {
  const { token } = await change<NewToken>("POST", "owner/claim", given);
  useToken(token, "browser");
}

/** Whether this gateway may be claimed; over HTTP it is not said. */
export function claimState(): Promise<ClaimState> {
  return read<ClaimStatus>("owner/claim").then(
    ({ claim }) => claim,
    () => "none",
  );
}

const NOT_VALID = say("This token is not valid, or was removed.");

export function logOut(): void {
  forgetToken();
  location.reload();
}

/** Whether the gateway lets this page read; null if it does not say. A token that is not valid any more is forgotten. */
export async function mayRead(): Promise<boolean | null> {
  const token = keptToken();
  const status = await statusWith(token);
  if (status === null) return null;
  if (status !== 401) return true;
  if (token === null) return false;
  forgetToken();
  return mayRead();
}

/** What a request with this token is answered; null if there is no answer in time. */
async function statusWith(token: string | null, withinMs = ANSWERS_WITHIN_MS): Promise<number | null> {
  const send = () =>
    fetch("/api/access", {
      cache: "no-cache",
      headers: bearing(token),
      signal: AbortSignal.timeout(withinMs),
    });
  try {
    const response = await turns.take(send, true);
    await response.body?.cancel();
    return response.status;
  } catch {
    return null;
  }
}
