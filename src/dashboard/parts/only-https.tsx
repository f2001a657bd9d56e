import { useAnswer } from "../answers.ts";
import { say } from "../language.ts";
import { Command } from "./command.tsx";
import { OnGateway, useSetup } from "./on-gateway.tsx";
import { Pending } from "./pending.tsx";

/** In place of what is served by HTTPS only: why, and the way there. */
export function OnlyHttps({ why }: { why: string }) {
  const https = useAnswer("https");
  const setup = useSetup();
  if (https.state !== "ready") return <Pending of={https} />;
  const { port } = https.value;
  return (
    <section class="card words">
      <h2>{say("By HTTPS only")}</h2>
      <p>{why}</p>
      {port === null ? (
        <>
          <p>{say("HTTPS is off on this gateway.")}</p>
          <OnGateway commands={[`${setup} --https on`]} />
        </>
      ) : (
        <>
          <p>
            <a class="button primary" href={`https://${location.hostname}:${port}/${location.hash}`}>
              {say("Open this page by HTTPS")}
            </a>
          </p>
          <p class="quiet">
            {say(
              "The browser warns once if the gateway has made its certificate itself. Compare the fingerprint with the one that this command prints on the gateway:",
            )}
          </p>
          <Command text="portcullis https" />
        </>
      )}
    </section>
  );
}
