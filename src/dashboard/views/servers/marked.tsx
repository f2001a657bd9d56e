import { knownOf, useAnswer } from "../../answers.ts";
import { agoOf } from "../../format.ts";
import { say } from "../../language.ts";
import { PROVIDER_TITLES } from "../../titles.ts";
import { type Connecting, isConnected, type ServerChoice } from "./connecting.ts";
import type { Details } from "./details.ts";
import { ServerRow } from "./row.tsx";

/** More recent ones than this are not shown. */
const RECENT = 5;

/** Favourites of any provider, and the servers that were used last. */
export function Marked({ details, connecting }: { details: Details; connecting: Connecting }) {
  const known = knownOf(useAnswer("favourites"));
  const now = Date.now();
  if (known === null) return null;
  const recent = known.recent
    .filter(({ provider, server, via }) => via !== undefined || !details.isFavourite(provider, server))
    .slice(0, RECENT);
  const rowOf = (list: string, { provider, server, via }: ServerChoice, more: string | null = null) => (
    <ServerRow
      key={`${provider}/${server}/${via ?? ""}`}
      list={list}
      provider={provider}
      name={server}
      {...(via !== undefined && { via })}
      facts={[
        via === undefined ? null : say("via {via}", { via }),
        PROVIDER_TITLES[provider],
        via === undefined ? details.roundTrip(provider, server) : null,
        more,
      ].filter((fact) => fact != null)}
      isFavourite={details.isFavourite(provider, server)}
      connecting={connecting}
    />
  );
  if (known.favourites.length + recent.length === 0) return null;
  return (
    <div class="marked">
      {known.favourites.length > 0 && (
        <section class="card">
          <h2>{say("Favourites")}</h2>
          <ul class="servers">{known.favourites.map((each) => rowOf("favourites", each))}</ul>
        </section>
      )}
      {recent.length > 0 && (
        <section class="card">
          <h2>{say("Recent")}</h2>
          <ul class="servers">
            {recent.map((each) =>
              rowOf(
                "recent",
                each,
                isConnected(connecting, each.provider, each.server, each.via) ? null : agoOf(each.at, now),
              ),
            )}
          </ul>
        </section>
      )}
    </div>
  );
}
