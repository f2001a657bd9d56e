import { useId, useState } from "preact/hooks";
import { logIn, logOut } from "../login.ts";
import { setNeedsToken, useStore } from "../store.ts";
import { type Keep, keptToken } from "../token.ts";
import type { Option } from "./choice.tsx";
import { Dialog } from "./dialog.tsx";
import { Form, Labelled, Select } from "./form.tsx";

/** All that someone sees who may not read. */
export function LoginPage() {
  return (
    <main class="login">
      <section class="card">
        <h1>Log in</h1>
        <LoginForm />
      </section>
    </main>
  );
}

/** Asks for a token if something was refused without one. */
export function LoginDialog() {
  if (!useStore(({ needsToken }) => needsToken)) return null;
  return (
    <Dialog title="Log in" onClose={() => setNeedsToken(false)}>
      <LoginForm />
    </Dialog>
  );
}

const KEEPS: readonly Option<Keep>[] = [
  { value: "tab", text: "Until this tab is closed" },
  { value: "browser", text: "In this browser" },
];

function LoginForm() {
  const id = useId();
  const [token, setToken] = useState("");
  const [keep, setKeep] = useState<Keep>("tab");
  return (
    <>
      <p>
        This gateway asks for a token. To make one, type on the gateway:{" "}
        <code>sudo portcullis token add &lt;name&gt;</code>.
      </p>
      <Form submit="Log in" doing="Checking…" work={() => logIn(token, keep)}>
        <Labelled id={id} label="Token">
          <input
            id={id}
            class="input"
            type="password"
            autocomplete="current-password"
            autocapitalize="off"
            spellcheck={false}
            required
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </Labelled>
        <Select label="Keep it" value={keep} onValue={setKeep} options={KEEPS} />
      </Form>
    </>
  );
}

/** How to end the use of a token, while one is kept. */
export function Logout() {
  // It is kept or forgotten with a change of the state, or with a reload.
  useStore(({ needsToken }) => needsToken);
  if (keptToken() === null) return null;
  return (
    <p class="logout quiet small">
      You are logged in with a token.{" "}
      <button type="button" class="button plain" onClick={logOut}>
        Log out
      </button>
    </p>
  );
}
