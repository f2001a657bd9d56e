import type { Command } from "commander";
import { apiCommand, command, host } from "../api-command.ts";
import type { HistoryFlags } from "../history.ts";

export function addHistoryCommand(program: Command): void {
  apiCommand<HistoryFlags>(
    command(program, "history", "show outages, and how much tunnels and devices have carried")
      .option("--tunnel <tunnel>", "only this tunnel")
      .option("--device <device>", "only this device's traffic, by its id or its name")
      .option("--hours <number>", "how far back, 1 to 1464; by minute up to 24", "24"),
    async (api, _, flags) => (await import("../history.ts")).showHistory(api, flags, host.now()),
  );
}
