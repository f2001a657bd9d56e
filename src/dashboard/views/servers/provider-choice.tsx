import { useEffect, useState } from "preact/hooks";
import type { Provider } from "../../../servers/schema.ts";
import { useMayChange } from "../../access.ts";
import { useAction } from "../../action.ts";
import { change } from "../../api.ts";
import { numberOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Outcome } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import type { Answers } from "../../store.ts";
import { PROVIDER_TITLES } from "../../titles.ts";
import { plainly } from "./connecting.ts";

/** Whose servers are listed: those of the account at a VPN provider, added by hand, or imported from files. */
export function ProviderChoice({ providers }: { providers: Answers["servers/counts"] }) {
  const action = useAction();
  const mayChange = useMayChange();
  const [wanted, setWanted] = useState<Provider | null>(null);
  // Until the gateway's event says so, or another person has chosen.
  useEffect(() => setWanted(null), [providers.current]);
  const choose = (provider: Provider) => {
    setWanted(provider);
    action.start(provider, "", () =>
      plainly(change("POST", `provider/${provider}`)).catch((error) => {
        setWanted(null);
        throw error;
      }),
    );
  };
  return (
    <fieldset class="segments">
      <legend class="hidden">{say("Source of the servers")}</legend>
      <div class="segments-row">
        {(Object.keys(providers.usable) as Provider[]).map((provider) => (
          <label key={provider} class={provider === providers.current ? "chosen" : ""}>
            <input
              type="radio"
              disabled={!mayChange}
              name="provider"
              value={provider}
              checked={provider === (wanted ?? providers.current)}
              onChange={() => choose(provider)}
            />
            {wanted === provider && <Icon name="wait" />}
            <span class="provider">
              {PROVIDER_TITLES[provider]} <span class="count">{numberOf(providers.usable[provider])}</span>
            </span>
          </label>
        ))}
      </div>
      <Outcome of={action} />
    </fieldset>
  );
}
