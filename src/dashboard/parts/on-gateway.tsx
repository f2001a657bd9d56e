import { knownOf, useAnswer } from "../answers.ts";
import { Command } from "./command.tsx";

/** Commands that only root may give, and where to type them. */
export function OnGateway({ commands }: { commands: readonly string[] }) {
  return (
    <div class="on-gateway">
      <p>Only root may do this, in a terminal of the gateway:</p>
      {commands.map((text) => (
        <Command key={text} text={text} />
      ))}
      <details>
        <summary>How to open a terminal</summary>
        <p>
          On a computer, start its program Terminal or PowerShell, and type{" "}
          <code>ssh user@{location.hostname}</code> with the name of your user on the gateway.
        </p>
      </details>
    </div>
  );
}

/** What root types to change a setting, before its flag: it depends on how Portcullis was installed. */
export function useSetup(): string {
  return knownOf(useAnswer("settings"))?.command ?? "sudo portcullis setup";
}
