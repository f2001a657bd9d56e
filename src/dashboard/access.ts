import { knownOf, useAnswer } from "./answers.ts";
import { isLost } from "./store.ts";

/** The token that may only read, if this page has one: its name. */
export function useReader(): string | null {
  const token = knownOf(useAnswer("access"))?.token;
  return token?.read_only === true ? token.name : null;
}

/** The token of an owner, if this page has one: its name. */
export function useOwner(): string | null {
  const token = knownOf(useAnswer("access"))?.token;
  return token?.owner === true ? token.name : null;
}

/** Whether something can be changed now: not while the gateway is lost, nor with a token that may only read. */
export function useMayChange(): boolean {
  return useReader() === null && !isLost.value;
}
