import type { ManagedChoices } from "../../../http/schema.ts";
import type { Updated } from "../../../servers/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
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
    text: choiceText(name === "list" ? say("A list of your own") : label, account),
  }));
  return (
    <section class="card words">
      <h2>{say("Source of the servers")}</h2>
      <AutosaveSelect
        label={say("Provider of the VPN account’s servers")}
        value={managed.current}
        options={options}
        from={managed}
        save={async (name) => void (await change("PUT", "managed", { name }))}
      />
      {location.protocol === "https:" && (
        <div class="card-buttons">
          <Button
            doing={say("Fetching…")}
            work={async () => {
              const { changed, servers } = await change<Updated>("POST", "managed/update");
              return say(
                changed
                  ? "The list is new: {count, plural, one {# server} other {# servers}}."
                  : "The list has not changed: {count, plural, one {# server} other {# servers}}.",
                { count: servers },
              );
            }}
          >
            {say("Fetch the list of servers")}
          </Button>
        </div>
      )}
      {usable !== null && (
        <p>
          {usable === 0
            ? say("You cannot connect to any of them yet.")
            : say("{count, plural, one {# server} other {# servers}} to connect to.", { count: usable })}{" "}
          <ViewLink to="servers">{say("Servers")}</ViewLink>
        </p>
      )}
      {isFirst && usable !== null && usable > 0 && (
        <ViewLink to="setup" class="button primary">
          {say("Next: connect")}
        </ViewLink>
      )}
    </section>
  );
}

function choiceText(label: string, hasAccount: boolean): string {
  return hasAccount ? label : say("{provider} · no account here", { provider: label });
}
