import { say } from "../language.ts";
import { Command } from "./command.tsx";
import { ViewLink } from "./link.tsx";

/** To an account at a provider: on the page, or by commands. */
export function LogInWays() {
  return (
    <>
      <ViewLink to="account" class="button primary">
        {say("Log in…")}
      </ViewLink>
      <details>
        <summary>{say("In a terminal instead")}</summary>
        <p>{say("Type on the gateway, and have what you log in with at hand:")}</p>
        <Command text="sudo portcullis account login" />
        <Command text="sudo portcullis servers update" />
      </details>
    </>
  );
}
