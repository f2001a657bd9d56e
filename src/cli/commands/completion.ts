import { Argument, type Command } from "commander";
import { command } from "../asking.ts";
import { SHELLS, type Shell } from "../completion/shells.ts";

export function addCompletion(program: Command): void {
  command(program, "completion", "print a completion script for a shell: commands, options and names")
    .addArgument(new Argument("<shell>").choices(SHELLS))
    .action(async (shell: Shell) => {
      const { completionFor } = await import("../completion/completion.ts");
      process.stdout.write(completionFor(shell, program));
    });
}
