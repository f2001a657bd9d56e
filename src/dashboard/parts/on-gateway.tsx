import { knownOf, useAnswer } from "../answers.ts";
import { Command } from "./command.tsx";

/** Commands that only root may give, and where to type them. */
export function OnGateway({ commands }: { commands: readonly string[] }) {
  return (
    <>
      <p>
        Only root on the gateway may do this. Type there, or in the program Terminal of a computer after{" "}
        <code>ssh user@{location.hostname}</code>, with the name of your user on the gateway:
      </p>
      {commands.map((text) => (
        <Command key={text} text={text} />
      ))}
    </>
  );
}

/** What root types to change a setting, before its flag: it depends on how Portcullis was installed. */
export function useSetup(): string {
  return knownOf(useAnswer("settings"))?.command ?? "sudo portcullis setup";
}
