import { useMemo } from "preact/hooks";
import type { Provider } from "../../../servers/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { numberOf } from "../../format.ts";
import { say } from "../../language.ts";

/** What is known about servers besides the list itself, by provider and name. */
export interface Details {
  isFavourite: (provider: Provider, server: string) => boolean;
  /** "23 ms"; null if it was not measured lately. */
  roundTrip: (provider: Provider, server: string) => string | null;
}

export function useDetails(): Details {
  const favourites = knownOf(useAnswer("favourites"));
  const roundTrips = knownOf(useAnswer("round-trips"));
  return useMemo(() => {
    const key = (provider: Provider, server: string) => `${provider}/${server}`;
    const marked = new Set(favourites?.favourites.map((each) => key(each.provider, each.server)));
    const measured = new Map(
      roundTrips?.round_trips
        .filter(({ via }) => via === undefined)
        .map((each) => [key(each.provider, each.server), each.ms]),
    );
    return {
      isFavourite: (provider, server) => marked.has(key(provider, server)),
      roundTrip: (provider, server) => {
        const ms = measured.get(key(provider, server));
        return ms === undefined ? null : say("{number} ms", { number: numberOf(ms) });
      },
    };
  }, [favourites, roundTrips]);
}
