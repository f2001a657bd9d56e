import type { Command } from "commander";
import { command } from "../api-command.ts";
import { operatorCommand } from "./operator.ts";

/** The addresses are secret, so only root on the gateway sees the results. */
export function addNotifyCommand(program: Command): void {
  const notify = command(program, "notify", "send a test message to the addresses of --notify");
  operatorCommand(
    command(notify, "test", "send a message to each address; exit code 1 unless all of them accepted it"),
    async (settings) => (await import("../notify.ts")).testNotifications(settings),
  );
}
