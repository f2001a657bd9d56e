import { useMemo } from "preact/hooks";
import type { Provider } from "../../../servers/schema.ts";
import { useKept } from "../../kept.ts";
import { say } from "../../language.ts";
import { LogInWays } from "../../parts/log-in-ways.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import type { Answers } from "../../store.ts";
import type { Connecting } from "./connecting.ts";
import type { Details } from "./details.ts";
import { EntryChoice } from "./entry.tsx";
import { Found } from "./found.tsx";
import { entriesIn, placesIn, reachedVia } from "./places.ts";
import { Tree } from "./tree.tsx";

/** A list of this many servers gets a search field. */
const LONG = 6;

interface ServerListProps {
  servers: Answers["servers"];
  /** How many of them can be connected to; null if that is not known. */
  usable: number | null;
  details: Details;
  connecting: Connecting;
  /** Whether it is more than a first choice: servers can be removed, and reached through others. */
  canRemove?: boolean;
}

/** The current provider's servers, with a search. */
export function ServerList({ servers, usable, details, connecting, canRemove = false }: ServerListProps) {
  const [query, setQuery] = useKept<string>("query", "");
  const [wished, setEntry] = useKept<string>("entry", "");
  const all = useMemo(() => placesIn(servers.servers), [servers]);
  const entries = useMemo(() => entriesIn(servers.servers), [servers]);
  // Another provider has others.
  const entry = entries.some(({ names }) => names.includes(wished)) ? wished : null;
  const places = useMemo(
    () => (entry === null ? all : placesIn(reachedVia(entry, servers.servers))),
    [servers, entry],
  );
  const { provider } = servers;
  const list = {
    ...{ places, provider, details, connecting: { ...connecting, entry } },
    canRemove: canRemove && provider !== "managed",
  };
  if (all.servers.length === 0) return <Nothing provider={provider} />;
  return (
    <>
      {usable === 0 && <NoAccount />}
      {canRemove && entries.length > 0 && <EntryChoice entries={entries} entry={entry} onEntry={setEntry} />}
      {all.servers.length >= LONG && (
        <div class="search server-search">
          <SearchField
            label={say("Search for a country, a city or a server")}
            placeholder={say("Country, city or server")}
            text={query}
            onText={setQuery}
          />
        </div>
      )}
      {query.trim() === "" ? (
        <Tree key={`${provider} ${entry}`} {...list} />
      ) : (
        <Found {...list} query={query} />
      )}
    </>
  );
}

/** The managed list can be seen without an account, but not used. */
function NoAccount() {
  return (
    <div class="nothing">
      <p>{say("These servers need an account.")}</p>
      <LogInWays />
    </div>
  );
}

/** An empty list, and what fills it. */
function Nothing({ provider }: { provider: Provider }) {
  switch (provider) {
    case "managed":
      return (
        <div class="nothing">
          <p>{say("There is no list of servers yet. Log in at a provider, and fetch it there.")}</p>
          <LogInWays />
        </div>
      );
    case "custom":
      return <p class="nothing">{say("You have not added a server yet.")}</p>;
    case "imported":
      return (
        <p class="nothing">
          {say(
            "You have not imported a server yet. Drop WireGuard files, or a zip of them, anywhere on this page.",
          )}
        </p>
      );
  }
}
