import { say } from "../language.ts";
import { claimGateway } from "../login.ts";
import { Form } from "./form.tsx";
import { NEW_OWNER_ROWS } from "./new-owner.ts";
import { passphraseFault } from "./new-passphrase.ts";

/** What the first browser sees on a flashed gateway. */
export function ClaimForm() {
  return (
    <>
      <p>
        {say(
          "Nobody owns this gateway yet, and the first browser may claim it. From then on it asks every other browser for a token.",
        )}
      </p>
      <Form<"claim", "again">
        of="claim"
        rows={NEW_OWNER_ROWS}
        check={passphraseFault}
        work={({ name, passphrase }) => claimGateway({ name, passphrase })}
        submit={say("Claim this gateway")}
        doing={say("Checking…")}
        isForAll
      />
    </>
  );
}
