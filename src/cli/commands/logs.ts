import type { Command } from "commander";
import { command, host } from "../api-command.ts";
import { EXIT } from "../exit.ts";
import type { LogFlags } from "../logs.ts";

export function addLogsCommand(program: Command): void {
  command(program, "logs", "show the service's log from this machine's journal")
    .option("-f, --follow", "keep printing new lines")
    .option("-n, --lines <number>", "how many of the latest lines to show, or all", "100")
    .option("--json", "print JSON, one object per line")
    .action(async (flags: LogFlags) => {
      const { showLogs } = await import("../logs.ts");
      process.exitCode = (await showLogs(host, flags)) === 0 ? EXIT.ok : EXIT.failed;
    });
}
