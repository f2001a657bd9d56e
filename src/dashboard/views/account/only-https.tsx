import { useAnswer } from "../../answers.ts";
import { Command } from "../../parts/command.tsx";
import { Pending } from "../../parts/pending.tsx";

/** In place of what is served by HTTPS only: the way there. */
export function OnlyHttps() {
  const https = useAnswer("https");
  if (https.state !== "ready") return <Pending of={https} />;
  const { port } = https.value;
  return (
    <section class="card account-words">
      <h2>By HTTPS only</h2>
      <p>
        What you type to log in must not be readable for others on the network, so accounts are shown and
        changed over an encrypted connection only.
      </p>
      {port === null ? (
        <>
          <p>HTTPS is off on this gateway. To turn it on, type there:</p>
          <Command text="sudo portcullis setup --https on" />
        </>
      ) : (
        <>
          <p>
            <a class="button primary" href={`https://${location.hostname}:${port}/#/account`}>
              Open this page by HTTPS
            </a>
          </p>
          <p class="quiet">
            The browser warns once if the gateway has made its certificate itself. Compare the fingerprint
            with the one that this command prints on the gateway:
          </p>
          <Command text="portcullis https" />
        </>
      )}
    </section>
  );
}
