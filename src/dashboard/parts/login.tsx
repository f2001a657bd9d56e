import { useEffect, useState } from "preact/hooks";
import type { ClaimState } from "../../access/schema.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { say } from "../language.ts";
import { later } from "../later.tsx";
import { claimState, logIn, logOut } from "../login.ts";
import { needsToken } from "../store.ts";
import { type Keep, keptToken } from "../token.ts";
import { Command } from "./command.tsx";
import { Dialog } from "./dialog.tsx";
import { Field, Select } from "./field.tsx";
import { FormFrame } from "./form-frame.tsx";
import { Languages } from "./languages.tsx";
import type { Option } from "./option.ts";

/** All that someone sees who may not read. */
export function LoginPage() {
  const [claim, setClaim] = useState<ClaimState>("none");
  useEffect(() => void claimState().then(setClaim), []);
  return (
    <main class="login">
      <section class="card">
        <h1>{claim === "open" ? say("Welcome") : say("Log in")}</h1>
        {claim === "open" ? <ClaimForm /> : <LoginForm />}
        {claim === "over" && (
          <p class="quiet">
            {say(
              "This gateway was claimed, or its first ten minutes are over. To claim it again, put an empty file named claim on the first partition of its card, and turn it on with that.",
            )}
          </p>
        )}
      </section>
      <Languages />
    </main>
  );
}

/** Asks for a token if something was refused without one. */
export function LoginDialog() {
  if (!needsToken.value) return null;
  const close = () => {
    needsToken.value = false;
  };
  return (
    <Dialog title={say("Log in")} onClose={close}>
      <LoginForm />
    </Dialog>
  );
}

const ClaimForm = later((views) => views.ClaimForm);

const KEEPS: readonly Option<Keep>[] = [
  { value: "tab", text: say("Until this tab is closed") },
  { value: "browser", text: say("In this browser") },
];

function LoginForm() {
  const [token, setToken] = useState("");
  const [keep, setKeep] = useState<Keep>("tab");
  return (
    <>
      <p>
        {say("This gateway asks for a token. To make one, type on the gateway, with a name of your choice:")}
      </p>
      <Command text="sudo portcullis token add phone" />
      <FormFrame isForAll submit={say("Log in")} doing={say("Checking…")} work={() => logIn(token, keep)}>
        <Field
          label={say("Token")}
          type="password"
          autocomplete="current-password"
          value={token}
          onValue={setToken}
          required
        />
        <Select label={say("Remember it")} value={keep} onValue={setKeep} options={KEEPS} />
      </FormFrame>
    </>
  );
}

/** Which token the page uses and how to end that, while one is kept. */
export function Logout() {
  const token = knownOf(useAnswer("access"))?.token ?? null;
  // The token is kept or forgotten together with the first of them, or with a reload.
  if (needsToken.value || keptToken() === null) return null;
  return (
    <p class={token?.read_only ? "notice reader" : "logout quiet small"}>
      <span>
        {token === null
          ? say("You are logged in with a token.")
          : say("You are logged in with the token {name}.", { name: token.name })}
        {token?.read_only &&
          ` ${say("This token may only read: to change something, log in with another one.")}`}{" "}
        <button type="button" class="button plain" onClick={logOut}>
          {say("Log out")}
        </button>
      </span>
    </p>
  );
}
