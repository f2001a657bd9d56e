import { useEffect, useState } from "preact/hooks";
import type { ManagedChoices } from "../../../http/schema.ts";
import type { LoggedOut, ShownAccount } from "../../../providers/schema.ts";
import type { Action } from "../../action.ts";
import { change, pathOf, read } from "../../api.ts";
import { dayOf, sentenceFrom } from "../../format.ts";
import { Button } from "../../parts/button.tsx";
import { type Fact, Facts } from "../../parts/facts.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Pending } from "../../parts/pending.tsx";
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
    return remains === null ? undefined : sentenceFrom(remains);
  };
  return (
    <section class="card words">
      <h2>{label}</h2>
      {account.state === "ready" ? <Shown account={account.value} /> : <Pending of={account} />}
      <div class="card-buttons">
        <Button
          action={action}
          label={`Replace the key at ${label}`}
          doing="Replacing…"
          work={async () => {
            await change("POST", `${path}/rotate-key`);
            return "This gateway has a new key.";
          }}
          ask={{
            title: `Replace the key at ${label}?`,
            text: `The gateway makes another key for the same registration, and ${label} forgets the present one. Tunnels must be disconnected.`,
            confirm: "Replace",
          }}
        >
          Replace the key
        </Button>
        <Button
          kind="danger"
          action={action}
          label={`Log out at ${label}`}
          doing="Logging out…"
          work={logOut(false)}
          ask={{
            title: `Log out at ${label}?`,
            text: `This gateway is removed from the account, and the account and its key from this gateway. The servers of ${label} stay in the list, but nothing can connect to them until you log in again. Devices whose exit is such a server have no internet then.`,
            confirm: "Log out",
          }}
        >
          Log out
        </Button>
        {hasFailed && (
          <Button
            kind="danger"
            action={action}
            label={`Remove here only, at ${label}`}
            doing="Removing…"
            work={logOut(true)}
            ask={{
              title: "Remove it here only?",
              text: `The account and its key are removed from this gateway even if ${label} does not answer. The registration may stay in the account, where it counts as a device.`,
              confirm: "Remove here",
            }}
          >
            Remove here only
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
    ["Account", number],
    ["Paid until", paid_until === null ? "not known" : dayOf(paid_until)],
    ["Registration", `${device}, since ${dayOf(created)}`],
    ...(public_key === null
      ? []
      : [["Addresses", addresses.join(", ")] as const, ["Public key", public_key] as const]),
  ];
  return (
    <>
      <Facts of={facts} />
      {warnings.map((warning) => (
        <p key={warning} class="outcome">
          <Icon name="warning" /> <span>{sentenceFrom(warning)}</span>
        </p>
      ))}
    </>
  );
}
