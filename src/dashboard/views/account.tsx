import { useAction } from "../action.ts";
import { useAnswer } from "../answers.ts";
import { say } from "../language.ts";
import { Outcome } from "../parts/button.tsx";
import { Ready } from "../parts/list.tsx";
import { OnlyHttps } from "../parts/only-https.tsx";
import { InUse } from "./account/in-use.tsx";
import { LogIn } from "./account/log-in.tsx";
import { Registration } from "./account/registration.tsx";

/** The accounts at VPN providers: whose servers are used, and what the gateway has at each. */
export function Account() {
  const managed = useAnswer("managed");
  // It outlives the account that it is about.
  const action = useAction();
  return (
    <div class="account">
      <h1>{say("VPN account")}</h1>
      <Outcome of={action} />
      <Ready of={managed}>
        {(value) => (
          <>
            <InUse managed={value} />
            {location.protocol === "https:" ? (
              <>
                {value.choices
                  .filter(({ account, credentials }) => account && credentials.length > 0)
                  .map((choice) => (
                    <Registration key={choice.name} choice={choice} managed={value} action={action} />
                  ))}
                <LogIn choices={value.choices} />
              </>
            ) : (
              <OnlyHttps
                why={say(
                  "What you type to log in must not be readable for others on the network, so accounts are shown and changed over an encrypted connection only.",
                )}
              />
            )}
          </>
        )}
      </Ready>
    </div>
  );
}
