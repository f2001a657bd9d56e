import { useState } from "preact/hooks";
import { knownOf, useAnswer } from "../answers.ts";
import { logIn, logOut } from "../login.ts";
import { needsToken } from "../store.ts";
import { type Keep, keptToken } from "../token.ts";
import { Dialog } from "./dialog.tsx";
import { Field, Form, Select } from "./form.tsx";
import { Languages } from "./languages.tsx";
import type { Option } from "./options.tsx";

/** All that someone sees who may not read. */
export function LoginPage() {
  return (
    <main class="login">
      <section class="card">
        <h1>Log in</h1>
        <LoginForm />
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
    <Dialog title="Log in" onClose={close}>
      <LoginForm />
    </Dialog>
  );
}

const KEEPS: readonly Option<Keep>[] = [
  { value: "tab", text: "Until this tab is closed" },
  { value: "browser", text: "In this browser" },
];

function LoginForm() {
  const [token, setToken] = useState("");
  const [keep, setKeep] = useState<Keep>("tab");
  return (
    <>
      <p>
        This gateway asks for a token. To make one, type on the gateway:{" "}
        <code>sudo portcullis token add &lt;name&gt;</code>.
      </p>
      <Form isForAll submit="Log in" doing="Checking…" work={() => logIn(token, keep)}>
        <Field
          label="Token"
          type="password"
          autocomplete="current-password"
          value={token}
          onValue={setToken}
          required
        />
        <Select label="Keep it" value={keep} onValue={setKeep} options={KEEPS} />
      </Form>
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
        You are logged in with {token === null ? "a token" : `the token ${token.name}`}.
        {token?.read_only && " It may only read: to change something, log in with another one."}{" "}
        <button type="button" class="button plain" onClick={logOut}>
          Log out
        </button>
      </span>
    </p>
  );
}
