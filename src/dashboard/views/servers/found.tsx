import { useMemo } from "preact/hooks";
import { say } from "../../language.ts";
import { found } from "./places.ts";
import { PlaceRow } from "./row.tsx";
import { type ListProps, Servers } from "./tree.tsx";

/** More countries or cities than these are not shown: another letter leaves fewer. */
const MAX_PLACES = 8;

/** What a search has found: places first, then servers. */
export function Found({ query, ...props }: ListProps & { query: string }) {
  const { provider, connecting, places } = props;
  const { countries, cities, servers } = useMemo(() => found(places, query), [places, query]);
  const spots = [
    ...countries.map(({ name, servers }) => ({ place: name, count: servers.length })),
    ...cities.map(({ name, country, servers }) => ({ place: `${name}, ${country}`, count: servers.length })),
  ].slice(0, MAX_PLACES);
  return (
    <>
      <p class="quiet small" role="status">
        {servers.length === 0
          ? say("Nothing matches “{text}”.", { text: query.trim() })
          : say("{count, plural, one {# server} other {# servers}} found.", { count: servers.length })}
      </p>
      <ul class="places">
        {spots.map(({ place, count }) => (
          <li key={place}>
            <PlaceRow list="found" provider={provider} place={place} connecting={connecting}>
              <span class="server-name">
                <strong>{place}</strong>
                <span class="quiet small">
                  {say("The nearest of {count, plural, one {# server} other {# servers}}", { count })}
                </span>
              </span>
            </PlaceRow>
          </li>
        ))}
      </ul>
      {servers.length > 0 && <Servers key={query} {...props} servers={servers} withPlace />}
    </>
  );
}
