import type { ComponentChildren } from "preact";
import { useOwner } from "../access.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { say } from "../language.ts";
import { Command } from "./command.tsx";
import { Say } from "./say.tsx";

interface OnGatewayProps {
  commands: readonly string[];
  /** What they do, if it does not stand above them. */
  lead?: string;
  /** What an owner's page has in place of them. */
  forOwner?: ComponentChildren;
}

/** Commands that only root may give, and where to type them. */
export function OnGateway({ commands, lead, forOwner }: OnGatewayProps) {
  const isOwner = useOwner() !== null;
  if (isOwner && forOwner !== undefined) return <>{forOwner}</>;
  return (
    <div class="on-gateway">
      <p>{lead ?? say("Only root may do this, in a terminal of the gateway:")}</p>
      {commands.map((text) => (
        <Command key={text} text={text} />
      ))}
      <details>
        <summary>{say("How to open a terminal")}</summary>
        <p>
          <Say
            message="On a computer, start the program Terminal or PowerShell, and type {command} with your user name on the gateway."
            parts={{ command: <code>ssh user@{location.hostname}</code> }}
          />
        </p>
      </details>
    </div>
  );
}

/** What root types to change a setting, before its flag: it depends on how Portcullis was installed. */
export function useSetup(): string {
  return knownOf(useAnswer("settings"))?.command ?? "sudo portcullis setup";
}
