import type { Command } from "commander";
import { firstScreenOf } from "../help.ts";
import { addAccountCommands } from "./account.ts";
import { addBackupCommands } from "./backup.ts";
import { addCheckCommand } from "./check.ts";
import { addCompletion } from "./completion.ts";
import { addDestinationCommands } from "./destinations.ts";
import { addDeviceCommands } from "./devices.ts";
import { addDirectCommand } from "./direct.ts";
import { addDnsCommand } from "./dns.ts";
import { addForwardCommands } from "./forwards.ts";
import { addHistoryCommand } from "./history.ts";
import { addHttpsCommand } from "./https.ts";
import { addInstallCommands } from "./installation.ts";
import { addLicenses } from "./licenses.ts";
import { addLogsCommand } from "./logs.ts";
import { addNotifyCommand } from "./notify.ts";
import { addQueriesCommand } from "./queries.ts";
import { addRemoteCommands } from "./remote.ts";
import { addScheduleCommands } from "./schedules.ts";
import { addServerCommands, addServersUpdate } from "./servers.ts";
import { addTokenCommands } from "./token.ts";
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
    Devices: [addDeviceCommands, addForwardCommands, addRemoteCommands],
    Rules: [addDestinationCommands, addScheduleCommands, addDnsCommand],
    Gateway: [addHistoryCommand, addCheckCommand, addHttpsCommand, addLogsCommand],
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
