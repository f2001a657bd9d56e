import { useState } from "preact/hooks";
import type { NewToken, ShownToken, TokenList } from "../../../access/schema.ts";
import { useOwner } from "../../access.ts";
import { type Action, useAction } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { dayOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Outcome } from "../../parts/button.tsx";
import { Command } from "../../parts/command.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { List, Ready } from "../../parts/list.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { OnGateway, useSetup } from "../../parts/on-gateway.tsx";
import { Remove, Row } from "../../parts/row.tsx";
import { SettingButton } from "../../parts/setting-button.tsx";

/** Who may use the gateway's page and interface. */
export function Tokens() {
  const list = useAnswer("tokens");
  return (
    <section class="card words">
      <h2>{say("Tokens")}</h2>
      <Ready of={list}>{(value) => <Listed list={value} />}</Ready>
    </section>
  );
}

const NEEDED: Record<TokenList["auth"], string> = {
  off: say("Everyone on the network can look at this gateway and change it, without a token."),
  write: say("Everyone on the network can look at this gateway. To change something, a token is needed."),
  on: say("You need a token to view or change this gateway."),
};

function Listed({ list: { auth, tokens } }: { list: TokenList }) {
  const own = knownOf(useAnswer("access"))?.token?.name ?? null;
  const isOwner = useOwner() !== null;
  const action = useAction();
  const [made, setMade] = useState<NewToken | null>(null);
  return (
    <>
      <p>{NEEDED[auth]}</p>
      <Outcome of={action} />
      <List of={tokens}>
        {(token) => (
          <TokenRow
            key={token.name}
            {...{ token, action }}
            isOwn={token.name === own}
            isFixed={isOwner ? false : auth === "off" || token.owner}
          />
        )}
      </List>
      {auth === "off" && <TurnOn />}
      {(auth !== "off" || isOwner) && <Make onMade={setMade} />}
      {made !== null && <Shown token={made} onClose={() => setMade(null)} />}
    </>
  );
}

/** Only root: whoever is on the network could make a token for later otherwise. */
function TurnOn() {
  const setup = useSetup();
  return (
    <>
      <p>{say("To require tokens, make one for yourself, then turn the requirement on:")}</p>
      <OnGateway
        commands={["sudo portcullis token add phone", `${setup} --auth write`]}
        forOwner={<SettingButton set={{ auth: "write" }}>{say("Require a token for changes")}</SettingButton>}
      />
    </>
  );
}

interface RowProps {
  token: ShownToken;
  action: Action;
  /** Whether this page uses it. */
  isOwn: boolean;
  isFixed: boolean;
}

function TokenRow({ token, action, isOwn, isFixed }: RowProps) {
  const { name } = token;
  return (
    <Row
      name={name}
      label={isOwn && { text: say("This page") }}
      facts={[mayText(token)]}
      actions={
        !isFixed && (
          <Remove
            action={action}
            label={say("Remove the token {name}", { name })}
            work={async () => {
              await change("DELETE", pathOf("tokens", name));
              return say("The token {name} is not valid any more.", { name });
            }}
            title={say("Remove the token {name}?", { name })}
            text={say(
              isOwn
                ? "This page uses it, and has to log in with another one afterwards. If there is none, root on the gateway can make one."
                : "What uses it is refused from then on, and pages opened with it lose their connection.",
            )}
          />
        )
      }
    />
  );
}

function mayText({ owner, read_only, created_at }: ShownToken): string {
  const day = dayOf(created_at);
  if (owner) return say("May do everything · made on {day}", { day });
  return say(read_only ? "May only read · made on {day}" : "May read and change · made on {day}", { day });
}

function Make({ onMade }: { onMade: (token: NewToken) => void }) {
  return (
    <OnDemand text={say("Make a token…")}>
      <Form
        of="token"
        rows={{
          name: {
            label: say("Name of the new token"),
            hint: say("One for each client, such as tablet or prometheus."),
          },
          read_only: {
            label: say("Rights"),
            hint: say("Whoever may change things may also make and remove tokens."),
            options: [
              { value: "true", text: say("Read only") },
              { value: "false", text: say("Read and change") },
            ],
          },
        }}
        work={async (given) => onMade(await change<NewToken>("POST", "tokens", given))}
        submit={say("Make a token")}
        doing={say("Making…")}
      />
    </OnDemand>
  );
}

/** The text of a token, which only this dialog has. */
function Shown({ token: { name, token }, onClose }: { token: NewToken; onClose: () => void }) {
  return (
    <Dialog title={say("The token {name}", { name })} isLastChance onClose={onClose}>
      <p>{say("It is shown only now. Copy it to where it is used:")}</p>
      <Command text={token} name={say("the token")} />
    </Dialog>
  );
}
