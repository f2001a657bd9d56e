import type { Command } from "commander";
import { firstScreenOf } from "../help.ts";
import { addAccountCommands } from "./account.ts";
import { addBackupCommands } from "./backup.ts";
import { addDestinationCommands } from "./destinations.ts";
import { addDeviceCommands, addForwardCommands } from "./devices.ts";
import { addDnsCommand } from "./dns.ts";
import { addCheckCommand, addHistoryCommand, addHttpsCommand, addLogsCommand } from "./gateway.ts";
import { addInstallCommands } from "./installation.ts";
import { addCompletion, addLicenses } from "./program.ts";
import { addLinkCommands, addRemoteCommands } from "./remote.ts";
import { addDirectCommand, addNotifyCommand, addQueriesCommand, addTokenCommands } from "./root.ts";
import { addScheduleCommands } from "./schedules.ts";
import { addServerCommands, addServersUpdate } from "./servers.ts";
import { addTunnelCommands } from "./tunnel.ts";
import { addUpdateCommand } from "./update.ts";

/**
 * Defines the commands that people use, by groups in the order of the help. There are only names, operands and options
 * here: each command loads what it needs when it runs, as in main.ts.
 */
export function addCommands(program: Command, addKillSwitch: () => void): void {
  const groups: Record<string, ((program: Command) => void)[]> = {
    Tunnels: [addTunnelCommands],
    Servers: [addServerCommands, addServersUpdate],
    Devices: [addDeviceCommands],
    Rules: [addDestinationCommands, addScheduleCommands, addDnsCommand],
    Gateway: [
      addForwardCommands,
      addRemoteCommands,
      addLinkCommands,
      addHistoryCommand,
      addCheckCommand,
      addHttpsCommand,
      addLogsCommand,
    ],
    // They use the operator's socket, or the database directly.
    "As root": [
      addKillSwitch,
      addAccountCommands,
      addDirectCommand,
      addQueriesCommand,
      addNotifyCommand,
      addTokenCommands,
      addBackupCommands,
      addUpdateCommand,
      addInstallCommands,
    ],
    Program: [addCompletion, addLicenses],
  };
  for (const [group, adds] of Object.entries(groups)) {
    program.commandsGroup(group);
    for (const add of adds) add(program);
  }
  program.helpInformation = () => firstScreenOf(program);
}
