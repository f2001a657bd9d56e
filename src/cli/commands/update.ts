import type { Command } from "commander";
import { command, print } from "../api-command.ts";
import { EXIT } from "../exit.ts";
import type { UpdateFlags } from "../update.ts";
import { stateDirOption } from "./operator.ts";

/** Needs root, because it replaces the program. */
export function addUpdateCommand(program: Command): void {
  command(program, "update", "verify a release, show what is new, and upgrade this machine")
    .argument(
      "<file>",
      "the release's folder or one of its archives: a path, or an https address, which ends with / for a folder",
    )
    .option(
      "--check",
      `show what is new, and install nothing; exit code ${EXIT.newer} if the release is newer`,
    )
    .option("--yes", "install without asking")
    .option("--json", "with --check: print JSON")
    .addOption(stateDirOption())
    .action((place: string, flags: UpdateFlags) =>
      print(flags.json === true, async () => (await import("../update.ts")).updateProgram(place, flags)),
    );
}
