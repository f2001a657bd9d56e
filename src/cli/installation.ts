import { type Command, Option } from "commander";
import { INSTALLABLE } from "../install/environment.ts";
import { FLAGS } from "../settings.ts";
import { command } from "./asking.ts";

interface UninstallFlags {
  dryRun?: boolean;
  yes?: boolean;
  keepState?: boolean;
  removeState?: boolean;
}

/** The commands that make a machine a gateway, and take it back. */
export function addInstallCommands(program: Command): void {
  program.commandsGroup("On the gateway, as root:");
  const installing = command(
    program,
    "install",
    "make this machine a gateway from its boot on; again, it upgrades; settings are kept where no flag gives others",
  );
  for (const key of INSTALLABLE) {
    const { name, argument, help } = FLAGS[key];
    installing.option(`--${name} ${argument}`, help);
  }
  installing
    .option("--dry-run", "show what would be done, and do nothing")
    .option("--yes", "ask nothing, and go on though this SSH session is cut off")
    .action(async ({ dryRun = false, yes = false, ...given }) => {
      const { install } = await import("../install/install.ts");
      await install(given, { dryRun, yes });
    });
  command(program, "uninstall", "bring this machine back to what it was before")
    .option("--dry-run", "show what would be done, and do nothing")
    .option("--yes", "ask nothing; servers, keys and settings stay")
    .option("--keep-state", "servers, keys and settings stay")
    .addOption(new Option("--remove-state", "servers, keys and settings go, too").conflicts("keepState"))
    .action(async ({ dryRun = false, yes = false, keepState, removeState }: UninstallFlags) => {
      const { uninstall } = await import("../install/uninstall.ts");
      await uninstall({ dryRun, yes, removeState: removeState ? true : keepState ? false : null });
    });
}
