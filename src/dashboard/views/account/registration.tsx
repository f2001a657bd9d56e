import { useEffect, useState } from "preact/hooks";
import type { ManagedChoices } from "../../../http/schema.ts";
import type { LoggedOut, ShownAccount } from "../../../providers/schema.ts";
import { sentenceFrom } from "../../../shared/words.ts";
import type { Action } from "../../action.ts";
import { change, pathOf, read } from "../../api.ts";
import { inItsWords } from "../../codes.ts";
import { dayOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { type Fact, Facts } from "../../parts/facts.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Ready } from "../../parts/list.tsx";
import { Told } from "../../parts/told.tsx";
import type { Loaded } from "../../store.ts";

interface RegistrationProps {
  choice: ManagedChoices["choices"][number];
  managed: ManagedChoices;
  /** Shown by the view. */
  action: Action;
}

/** What the gateway has at one provider, and what changes or ends it. */
export function Registration({ choice: { name, label }, managed, action }: RegistrationProps) {
  const path = pathOf("accounts", name);
  const account = useShown(path, managed);
  const [hasFailed, setFailed] = useState(false);
  const logOut = (forget: boolean) => async () => {
    setFailed(!forget);
    const { remains } = await change<LoggedOut>("DELETE", forget ? `${path}?forget=true` : path);
    setFailed(false);
    return remains === null ? undefined : inItsWords(sentenceFrom(remains));
  };
  return (
    <section class="card words">
      <h2>{label}</h2>
      <Ready of={account}>{(value) => <Shown account={value} />}</Ready>
      <div class="card-buttons">
        <Button
          action={action}
          label={say("Replace the key at {provider}", { provider: label })}
          doing={say("Replacing…")}
          work={async () => {
            await change("POST", `${path}/rotate-key`);
            return say("This gateway has a new key.");
          }}
          ask={{
            title: say("Replace the key at {provider}?", { provider: label }),
            text: say(
              "The gateway makes another key for the same registration, and {provider} forgets the present one. Tunnels must be disconnected.",
              { provider: label },
            ),
            confirm: say("Replace"),
          }}
        >
          {say("Replace the key")}
        </Button>
        <Button
          kind="danger"
          action={action}
          label={say("Log out at {provider}", { provider: label })}
          doing={say("Logging out…")}
          work={logOut(false)}
          ask={{
            title: say("Log out at {provider}?", { provider: label }),
            text: say(
              "This gateway is removed from the account, and the account and its key from this gateway. The servers of {provider} stay in the list, but nothing can connect to them until you log in again. Devices whose exit is such a server have no internet then.",
              { provider: label },
            ),
            confirm: say("Log out"),
          }}
        >
          {say("Log out")}
        </Button>
        {hasFailed && (
          <Button
            kind="danger"
            action={action}
            label={say("Remove here only, at {provider}", { provider: label })}
            doing={say("Removing…")}
            work={logOut(true)}
            ask={{
              title: say("Remove it here only?"),
              text: say(
                "The account and its key are removed from this gateway even if {provider} does not answer. The registration may stay in the account, where it counts as a device.",
                { provider: label },
              ),
              confirm: say("Remove here"),
            }}
          >
            {say("Remove here only")}
          </Button>
        )}
      </div>
    </section>
  );
}

/** Asked for when it is first shown, and again after each change of an account. */
function useShown(path: string, managed: ManagedChoices): Loaded<ShownAccount> {
  const [account, setAccount] = useState<Loaded<ShownAccount>>({ state: "loading" });
  useEffect(() => {
    const ending = new AbortController();
    read<ShownAccount>(path, ending.signal).then(
      (value) => setAccount({ state: "ready", value }),
      (error: unknown) =>
        ending.signal.aborted ||
        setAccount({ state: "failed", error: error instanceof Error ? error.message : String(error) }),
    );
    return () => ending.abort();
  }, [path, managed]);
  return account;
}

function Shown({ account }: { account: ShownAccount }) {
  const { number, device, created, paid_until, addresses, public_key, warnings } = account;
  const facts: Fact[] = [
    [say("Account"), number],
    [say("Paid until"), paid_until === null ? say("not known") : dayOf(paid_until)],
    [say("Registration"), say("{device}, since {day}", { device, day: dayOf(created) })],
    ...(public_key === null
      ? []
      : [[say("Addresses"), addresses.join(", ")] as const, [say("Public key"), public_key] as const]),
  ];
  return (
    <>
      <Facts of={facts} />
      {warnings.map((warning) => (
        <p key={warning} class="outcome">
          <Icon name="warning" />{" "}
          <span>
            <Told text={inItsWords(sentenceFrom(warning))} />
          </span>
        </p>
      ))}
    </>
  );
}
