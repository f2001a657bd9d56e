import type { Command } from "commander";
import { command, host, print } from "../api-command.ts";
import type { ExportFlags, RestoreFlags } from "../backup.ts";
import { stateDirOption } from "./operator.ts";

const loadBackup = () => import("../backup.ts");

/** Backups never travel over the HTTP interface: they use the operator's socket, or the database directly. */
export function addBackupCommands(program: Command): void {
  withPassphrase(
    command(
      program,
      "export",
      "write servers, keys, tunnels, devices, schedules and settings to standard output, encrypted",
    ),
  )
    .option("--plain", "do not encrypt: anyone who can read the file has your keys")
    .action(async (flags: ExportFlags) => (await loadBackup()).exportBackup(host, flags));
  withPassphrase(command(program, "restore", "read a backup from standard input"))
    .option("--replace", "replace what already exists here")
    .option("--dry-run", "show what would change, and change nothing")
    .option("--killswitch-off", "turn the kill switch off if it was off when the backup was made")
    .option("--direct", "let devices leave outside the tunnel if the backup says so")
    .option("--json", "print JSON")
    .action((flags: RestoreFlags) =>
      print(flags.json === true, async () => (await loadBackup()).restoreBackup(host, flags)),
    );
}

function withPassphrase(on: Command): Command {
  return on
    .addOption(stateDirOption())
    .option("--passphrase-file <file>", "file with the passphrase on its first line (default: ask)");
}
