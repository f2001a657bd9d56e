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
          "The first browser may claim this gateway now. It asks every other browser for a token. Whoever owned it before still does.",
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
