import { useState } from "preact/hooks";
import { knownOf, useAnswer } from "../answers.ts";
import { say } from "../language.ts";
import { FormButton } from "../parts/button.tsx";
import { FileButton } from "../parts/file-button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Ready } from "../parts/list.tsx";
import { AddServer } from "./servers/add.tsx";
import { useConnecting } from "./servers/connecting.ts";
import { useDetails } from "./servers/details.ts";
import { ServerList } from "./servers/list.tsx";
import { Marked } from "./servers/marked.tsx";
import { OnMap } from "./servers/on-map.tsx";
import { ProviderChoice } from "./servers/provider-choice.tsx";
import { Where } from "./servers/where.tsx";

/** Where the tunnel `main` can lead. */
export function Servers() {
  const providers = useAnswer("servers/counts");
  const servers = useAnswer("servers");
  const details = useDetails();
  const connecting = useConnecting();
  const [isAdding, setAdding] = useState(false);
  return (
    <div class="servers-view">
      <header class="view-head">
        <h1>{say("Servers")}</h1>
        <div class="state-buttons">
          <FileButton>{say("Import files…")}</FileButton>
          <FormButton open={() => setAdding(true)}>
            <Icon name="add" /> {say("Add a server…")}
          </FormButton>
        </div>
      </header>
      <Where connecting={connecting} />
      <OnMap />
      <Marked details={details} connecting={connecting} />
      <section class="card">
        <h2>{say("All servers")}</h2>
        <Ready of={providers}>{(value) => <ProviderChoice providers={value} />}</Ready>
        <Ready of={servers}>
          {(value) => (
            <ServerList
              servers={value}
              usable={knownOf(providers)?.usable[value.provider] ?? null}
              details={details}
              connecting={connecting}
              canRemove
            />
          )}
        </Ready>
      </section>
      {isAdding && <AddServer onClose={() => setAdding(false)} />}
    </div>
  );
}
