import type { Command } from "commander";
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
  addDailyCommands(program);
  program.commandsGroup("On the gateway, as root:");
  addKillSwitch();
  addOperatorCommands(program);
  program.commandsGroup("The program itself:");
  addCompletion(program);
  addLicenses(program);
}

/** Commands that talk to a running gateway, and commands that need none. */
function addDailyCommands(program: Command): void {
  program.commandsGroup("Daily use:");
  addTunnelCommands(program);
  addServerCommands(program);
  addDeviceCommands(program);
  addDestinationCommands(program);
  addForwardCommands(program);
  addRemoteCommands(program);
  addHistoryCommand(program);
  addScheduleCommands(program);
  addDnsCommand(program);
  addServersUpdate(program);
  addCheckCommand(program);
  addHttpsCommand(program);
  addLogsCommand(program);
}

/** Commands that use the operator's socket, or the database directly. */
function addOperatorCommands(program: Command): void {
  addAccountCommands(program);
  addDirectCommand(program);
  addQueriesCommand(program);
  addNotifyCommand(program);
  addTokenCommands(program);
  addBackupCommands(program);
  addUpdateCommand(program);
  addInstallCommands(program);
}
