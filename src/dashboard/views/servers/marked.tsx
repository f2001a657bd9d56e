import type { Provider } from "../../../servers/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { agoOf } from "../../format.ts";
import { type Connecting, isConnected } from "./connecting.ts";
import type { Details } from "./details.ts";
import { PROVIDER_NAMES } from "./provider-choice.tsx";
import { ServerRow } from "./row.tsx";

/** More recent ones than this are not shown. */
const RECENT = 5;

/** Favourites of any provider, and the servers that were used last. */
export function Marked({ details, connecting }: { details: Details; connecting: Connecting }) {
  const known = knownOf(useAnswer("favourites"));
  const now = Date.now();
  if (known === null) return null;
  const recent = known.recent
    .filter(({ provider, server }) => !details.isFavourite(provider, server))
    .slice(0, RECENT);
  const rowOf = (list: string, provider: Provider, server: string, more: string | null = null) => (
    <ServerRow
      key={`${provider}/${server}`}
      list={list}
      provider={provider}
      name={server}
      facts={[PROVIDER_NAMES[provider], details.roundTrip(provider, server), more].filter(
        (fact) => fact != null,
      )}
      isFavourite={details.isFavourite(provider, server)}
      connecting={connecting}
    />
  );
  return (
    <>
      {known.favourites.length > 0 && (
        <section class="card">
          <h2>Favourites</h2>
          <ul class="servers">
            {known.favourites.map(({ provider, server }) => rowOf("favourites", provider, server))}
          </ul>
        </section>
      )}
      {recent.length > 0 && (
        <section class="card">
          <h2>Recent</h2>
          <ul class="servers">
            {recent.map(({ provider, server, at }) =>
              rowOf(
                "recent",
                provider,
                server,
                isConnected(connecting, provider, server) ? null : agoOf(at, now),
              ),
            )}
          </ul>
        </section>
      )}
    </>
  );
}
