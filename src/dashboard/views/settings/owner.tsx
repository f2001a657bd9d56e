import { useOwner } from "../../access.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { becomeOwner } from "../../login.ts";
import { Button } from "../../parts/button.tsx";
import { Command } from "../../parts/command.tsx";
import { Form } from "../../parts/form.tsx";
import { NEW_OWNER_ROWS } from "../../parts/new-owner.ts";
import { passphraseFault } from "../../parts/new-passphrase.ts";
import { OnceMore } from "../../parts/once-more.tsx";

/** Makes this browser an owner's, or has what only an owner needs. */
export function Owner() {
  const name = useOwner();
  return (
    <section class="card words">
      <h2>{say("Rights of root")}</h2>
      {name === null ? <Pair /> : <Rights name={name} />}
    </section>
  );
}

function Pair() {
  return (
    <>
      <p>
        {say(
          "This browser can become an owner: then it does with a button what else only root does in a terminal of the gateway. This command prints the code for it:",
        )}
      </p>
      <Command text="sudo portcullis pair" />
      <Form<"pairing", "again">
        of="pairing"
        rows={{
          code: { label: say("Code"), hint: say("It is valid for ten minutes, and for one browser.") },
          ...NEW_OWNER_ROWS,
        }}
        check={passphraseFault}
        work={({ code, name, passphrase }) => becomeOwner({ code, name, passphrase })}
        submit={say("Become an owner")}
        doing={say("Checking…")}
        isForAll
      />
    </>
  );
}

function Rights({ name }: { name: string }) {
  const isActive = knownOf(useAnswer("killswitch"))?.active;
  return (
    <>
      <p>{say("This browser may do everything, as {name}. Its token is in the list of tokens.", { name })}</p>
      {isActive === true && <TurnOff />}
      {isActive === false && (
        <Button kind="primary" doing={say("Turning on…")} work={() => turn({ on: true })}>
          {say("Turn on the kill switch")}
        </Button>
      )}
    </>
  );
}

function TurnOff() {
  return (
    <OnceMore
      ask={{
        title: say("Turn the kill switch off?"),
        text: say(
          "Then devices might leave outside the tunnel, and your internet provider sees their traffic.",
        ),
        confirm: say("Turn off"),
      }}
      doing={say("Turning off…")}
      work={(passphrase) => turn({ on: false, passphrase })}
    >
      {say("Turn off the kill switch…")}
    </OnceMore>
  );
}

const turn = async (wanted: { on: boolean; passphrase?: string }) =>
  void (await change("PUT", "owner/killswitch", wanted));
