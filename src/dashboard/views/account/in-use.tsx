import type { ManagedChoices } from "../../../http/schema.ts";
import type { Updated } from "../../../servers/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { countOf, numberOf } from "../../format.ts";
import { AutosaveSelect } from "../../parts/autosave-select.tsx";
import { Button } from "../../parts/button.tsx";
import { ViewLink } from "../../parts/link.tsx";

/** Whose servers the VPN account has. It can be changed while no tunnel uses one of them. */
export function InUse({ managed }: { managed: ManagedChoices }) {
  const usable = knownOf(useAnswer("servers/counts"))?.usable.managed ?? null;
  // Nothing was ever connected: whoever has logged in now is on the way of the first steps.
  const isFirst = knownOf(useAnswer("favourites"))?.recent.length === 0;
  const options = managed.choices.map(({ name, label, account }) => ({
    value: name,
    text: `${label[0]?.toUpperCase()}${label.slice(1)}${account ? "" : " · no account here"}`,
  }));
  return (
    <section class="card words">
      <h2>Whose servers</h2>
      <AutosaveSelect
        label="Whose servers the VPN account has"
        value={managed.current}
        options={options}
        from={managed}
        save={async (name) => void (await change("PUT", "managed", { name }))}
      />
      {location.protocol === "https:" && (
        <div class="card-buttons">
          <Button
            doing="Fetching…"
            work={async () => {
              const { changed, servers } = await change<Updated>("POST", "managed/update");
              return `${changed ? "The list is new" : "The list has not changed"}: ${countOf(servers, "server")}.`;
            }}
          >
            Fetch the list of servers
          </Button>
        </div>
      )}
      {usable !== null && (
        <p>
          {usable === 0
            ? "You can connect to none of them yet."
            : `${numberOf(usable)} servers to connect to.`}{" "}
          <ViewLink to="servers">Servers</ViewLink>
        </p>
      )}
      {isFirst && usable !== null && usable > 0 && (
        <ViewLink to="setup" class="button primary">
          Next: connect
        </ViewLink>
      )}
    </section>
  );
}
