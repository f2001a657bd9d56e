import { type Command, Option } from "commander";
import { FLAGS } from "../../base/flags.ts";
import { INSTALLABLE } from "../../install/environment.ts";
import type { Layout } from "../../system/layout.ts";
import { command } from "../api-command.ts";
import { optionFor } from "../settings.ts";

interface UninstallFlags {
  dryRun?: boolean;
  yes?: boolean;
  keepState?: boolean;
  removeState?: boolean;
}

/** The commands that turn a machine into a gateway and back. */
export function addInstallCommands(program: Command): void {
  const kept = "settings that no flag changes are kept";
  addInstalling(program, "install", `install this program as a gateway from boot on, or upgrade it; ${kept}`);
  addInstalling(
    program,
    "setup",
    `make this machine a gateway from boot on, with the Debian package's program; ${kept}`,
  );
  command(program, "uninstall", "restore this machine to what it was before install or setup")
    .option("--dry-run", "show what would be done, and do nothing")
    .option("--yes", "ask nothing, and keep servers, keys and settings")
    .option("--keep-state", "keep servers, keys and settings")
    .addOption(new Option("--remove-state", "remove servers, keys and settings").conflicts("keepState"))
    .action(async ({ dryRun = false, yes = false, keepState, removeState }: UninstallFlags) => {
      const { uninstall } = await import("../../install/uninstall.ts");
      await uninstall({ dryRun, yes, removeState: removeState ? true : keepState ? false : null });
    });
}

function addInstalling(program: Command, name: Layout["command"], description: string): void {
  const installing = command(program, name, description);
  for (const key of INSTALLABLE) installing.addOption(optionFor(FLAGS[key]));
  installing
    .option("--dry-run", "show what would be done, and do nothing")
    .option("--yes", "ask nothing, and continue even if this cuts off your SSH session")
    .action(async ({ dryRun = false, yes = false, ...given }) => {
      const { install } = await import("../../install/install.ts");
      await install(name, given, { dryRun, yes });
    });
}
