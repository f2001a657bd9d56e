import type { GluetunFile } from "../../shared/gluetun-file.ts";
import { listOf } from "../format.ts";
import { say } from "../language.ts";
import { Command } from "./command.tsx";

/** What does here what a file of gluetun asks for. A person looks at it and types it. */
export function GluetunCommands({ of: { provider, commands, hasAccount, left } }: { of: GluetunFile }) {
  return (
    <>
      {commands.length > 0 && (
        <p>
          {say("This is a file of gluetun, and nothing was changed. These commands do what it asks for:")}
        </p>
      )}
      {commands.map((each) => (
        <Command key={each} text={each} />
      ))}
      {!hasAccount && (
        <p>{say("For servers of {provider}, import its WireGuard files here.", { provider })}</p>
      )}
      {left.length > 0 && (
        <p class="quiet">{say("There is no command for {names}.", { names: listOf([...left]) })}</p>
      )}
    </>
  );
}
