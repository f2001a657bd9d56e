import { Argument, type Command } from "commander";
import { command } from "../api-command.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

export function addCompletion(program: Command): void {
  command(program, "completion", "print a completion script for a shell: commands, options and names")
    .addArgument(new Argument("<shell>").choices(SHELLS))
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { COMPLETION } = await import("../completion.ts");
      process.stdout.write(COMPLETION[shell]);
    });
  // The command that these scripts run.
  program
    .command("complete", { hidden: true })
    .argument("<words...>")
    .action(async (words: string[]) => {
      const { complete } = await import("../complete.ts");
      process.exitCode = await complete(program, words);
    });
}

export function addLicenses(program: Command): void {
  command(program, "licenses", "print the licenses of everything in this executable").action(async () => {
    const { licensesText } = await import("../../licenses/licenses.ts");
    process.stdout.write(licensesText());
  });
}
