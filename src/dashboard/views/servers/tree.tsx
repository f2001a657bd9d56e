import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Provider } from "../../../servers/schema.ts";
import { countryText } from "../../country.ts";
import { useKept } from "../../kept.ts";
import { say } from "../../language.ts";
import { Icon } from "../../parts/icon.tsx";
import { type Connecting, isConnected } from "./connecting.ts";
import type { Details } from "./details.ts";
import { type City, type Country, isPlace, type Listed, type Places, placeOf } from "./places.ts";
import { ConnectedTag, PlaceRow, ServerRow } from "./row.tsx";
import { Some } from "./some.tsx";

export interface ListProps {
  places: Places;
  provider: Provider;
  details: Details;
  connecting: Connecting;
  canRemove: boolean;
}

/** A list that is not longer than this is shown open. */
const SHORT = 12;

/** Country, city, server. Only what is open is drawn. */
export function Tree(props: ListProps) {
  const { countries, servers } = props.places;
  if (countries.every(({ name }) => !isPlace(name))) return <Servers {...props} servers={servers} />;
  const isShort = servers.length <= SHORT;
  return (
    <ul class="places">
      {countries.map((country) => (
        <li key={country.name}>
          <CountryRow {...props} country={country} isShort={isShort} />
        </li>
      ))}
    </ul>
  );
}

type In = ListProps & { isShort: boolean };

function CountryRow({ country, ...props }: In & { country: Country }) {
  const { name, cities, servers } = country;
  const [only] = cities;
  const shown = isPlace(name) ? countryText(name) : say("Without a place");
  return (
    <Opening
      {...props}
      shown={shown}
      city={cities.length === 1 && only !== undefined && isPlace(only.name) ? only.name : null}
      place={isPlace(name) ? name : null}
      servers={servers}
    >
      {() =>
        cities.length === 1 && only !== undefined ? (
          <Servers {...props} servers={servers} />
        ) : (
          <ul class="places">
            {cities.map((city) => (
              <li key={city.name}>
                <CityRow {...props} city={city} />
              </li>
            ))}
          </ul>
        )
      }
    </Opening>
  );
}

function CityRow({ city: { name, country, servers }, ...props }: In & { city: City }) {
  const isKnown = isPlace(name) && isPlace(country);
  return (
    <Opening
      {...props}
      shown={isPlace(name) ? name : say("Another place")}
      place={isKnown ? `${name}, ${country}` : null}
      servers={servers}
    >
      {() => <Servers {...props} servers={servers} />}
    </Opening>
  );
}

interface OpeningProps extends In {
  shown: string;
  /** The only one of a country, which has no row of its own. */
  city?: string | null;
  /** As the gateway takes it; null if nobody can connect to it. */
  place: string | null;
  servers: readonly Listed[];
  /** What is in it. */
  children: () => ComponentChildren;
}

/** A place with a button that opens it, and one that connects to it. */
function Opening({ shown, city = null, place, servers, children, ...props }: OpeningProps) {
  const { provider, connecting, isShort } = props;
  const id = useId();
  const [isOpen, setOpen] = useKept<boolean>(`open ${place ?? shown}`, isShort);
  const isHere = servers.some(({ name }) => isConnected(connecting, provider, name));
  const head = (
    <button
      type="button"
      class="opener"
      aria-expanded={isOpen}
      aria-controls={isOpen ? id : undefined}
      onClick={() => setOpen(!isOpen)}
    >
      <Icon name="chevron" />
      <span class="server-name">
        <strong>{shown}</strong>
        <span class="quiet small">
          {city !== null && `${city} · `}
          {say("{count, plural, one {# server} other {# servers}}", { count: servers.length })}
        </span>
      </span>
      {isHere && !isOpen && <ConnectedTag />}
    </button>
  );
  return (
    <>
      {place === null ? (
        <div class="server">{head}</div>
      ) : (
        <PlaceRow list="tree" provider={provider} place={place} connecting={connecting}>
          {head}
        </PlaceRow>
      )}
      {isOpen && (
        <div id={id} class="inner">
          {children()}
        </div>
      )}
    </>
  );
}

interface ServersProps extends ListProps {
  servers: readonly Listed[];
  /** Whether the rows say where they are. */
  withPlace?: boolean;
}

export function Servers({ servers, provider, details, connecting, canRemove, withPlace }: ServersProps) {
  return (
    <Some of={servers}>
      {(server) => (
        <ServerRow
          key={server.name}
          list="tree"
          provider={provider}
          name={server.name}
          facts={[
            withPlace ? placeOf(server) : "",
            server.amnezia ? say("by AmneziaWG") : "",
            details.roundTrip(provider, server.name) ?? "",
          ].filter((fact) => fact !== "")}
          isFavourite={details.isFavourite(provider, server.name)}
          connecting={connecting}
          place={placeOf(server)}
          canRemove={canRemove}
        />
      )}
    </Some>
  );
}
