import { Refusal } from "../answers.ts";
import type { ConnectionDeps } from "../provider.ts";
import { refused } from "../refusals.ts";
import { type PiaApi, TOKEN_REFUSED } from "./api.ts";
import { type PiaRegistration, registrationFrom } from "./registration.ts";

/** An hour before its end. */
const TOKEN_LASTS_MS = 23 * 3_600_000;

type Deps = Pick<ConnectionDeps, "slot" | "clock">;

/** If the token is refused, tries once more with a new one. */
export async function withToken<T>(deps: Deps, api: PiaApi, work: (token: string) => Promise<T>): Promise<T> {
  const registration = registrationIn(deps.slot);
  const { token } = deps.slot;
  const age = deps.clock.monotonic() - (token?.since ?? 0);
  const isFresh = token?.username === registration.username && age < TOKEN_LASTS_MS;
  if (token === null || !isFresh) return work(await newToken(deps, api, registration));
  return work(token.text).catch(async (error: unknown) => {
    if (!(error instanceof Refusal && error.reason === TOKEN_REFUSED)) throw error;
    return work(await newToken(deps, api, registration));
  });
}

export async function newToken(
  { slot, clock }: Deps,
  api: PiaApi,
  { username, password }: PiaRegistration,
): Promise<string> {
  const text = await api.token(username, password);
  slot.token = { text, username, since: clock.monotonic() };
  return text;
}

export function registrationIn(slot: Deps["slot"]): PiaRegistration {
  const registration = registrationFrom(slot.read() ?? "");
  if (registration !== null) return registration;
  throw refused("account_unreadable_here");
}
