import { useState } from "preact/hooks";
import type { ManagedChoices } from "../../../http/schema.ts";
import type { ShownAccount } from "../../../providers/schema.ts";
import { type Action, useAction } from "../../action.ts";
import { change, pathOf } from "../../api.ts";
import { say } from "../../language.ts";
import { Select } from "../../parts/field.tsx";
import type { Row } from "../../parts/form.tsx";
import { Form } from "../../parts/form.tsx";

type Choice = ManagedChoices["choices"][number];

/** The providers' terms for what they ask for. */
const TITLES: Record<Choice["credentials"][number]["field"], string> = {
  account_number: say("Account number"),
  account_id: say("Account ID"),
  two_factor_code: say("Two-factor code, if the account needs one"),
  user_name: say("User name"),
  password: say("Password"),
  access_token: say("Access token"),
};

/** Asks for what the chosen provider needs. Nothing of it is kept in the browser. */
export function LogIn({ choices }: { choices: readonly Choice[] }) {
  const possible = choices.filter(({ account, credentials }) => !account && credentials.length > 0);
  const action = useAction();
  const [wished, setWished] = useState("");
  const choice = possible.find(({ name }) => name === wished) ?? possible[0];
  if (choice === undefined) return null;
  return (
    <section class="card words">
      <h2>{say("Log in")}</h2>
      <Select
        label={say("Provider")}
        value={choice.name}
        onValue={setWished}
        options={possible.map(({ name, label }) => ({ value: name as string, text: label }))}
      />
      <CredentialForm key={choice.name} choice={choice} action={action} />
    </section>
  );
}

function CredentialForm({ choice, action }: { choice: Choice; action: Action }) {
  const { name, label, credentials } = choice;
  const rows = credentials.map(({ field, optional }): [string, Row] => [
    field,
    {
      label: TITLES[field],
      ...(field !== "user_name" && { type: "password" }),
      ...(!optional && { required: true }),
    },
  ]);
  return (
    <>
      <p class="quiet">
        {say(
          "The gateway registers itself with your account at {provider}. What you type is sent to {provider}, and is never shown again.",
          { provider: label },
        )}
      </p>
      <Form
        of="account"
        rows={Object.fromEntries(rows)}
        work={async (given) => {
          const { number } = await change<ShownAccount>("POST", pathOf("accounts", name), given);
          return say("Logged in at {provider}, account {number}.", { provider: label, number });
        }}
        submit={say("Log in")}
        doing={say("Logging in…")}
        action={action}
      />
    </>
  );
}
