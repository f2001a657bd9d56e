import { Argument, type Command } from "commander";
import { apiCommand, command } from "../api-command.ts";
import type { ScheduleFlags } from "../schedules.ts";

const loadSchedules = () => import("../schedules.ts");

export function addScheduleCommands(program: Command): void {
  apiCommand<{ names?: true }>(
    command(program, "schedules", "list the schedules").option(
      "--names",
      "print only their names, one per line",
    ),
    async (api, _, { names }) => (await loadSchedules()).listSchedules(api, names === true),
  );
  apiCommand<ScheduleFlags>(
    command(
      program,
      "schedule",
      "give a device or a network an exit, a limit or a quota, or all others a shared limit or quota, for some hours, or move a tunnel to another server of its place, at certain times",
    )
      .argument("<schedule>", "its name; replaces one of this name")
      .addArgument(
        new Argument("<action>", "what to do").choices([
          "exit",
          "rate",
          "quota",
          "network-exit",
          "network-rate",
          "network-quota",
          "shared-rate",
          "shared-quota",
          "move",
          "remove",
        ]),
      )
      .argument(
        "[device]",
        "for exit, rate and quota: its id or its name; with network-: the network's interface or name; for move: a tunnel (default: main); shared-rate and shared-quota go on with the rate or the quota",
      )
      .argument(
        "[exit, rate or quota]",
        "for exit: a tunnel, or blocked; for rate: Mbit/s each way (20), down and up (20/5 or 20/off), or off; for quota: how much, such as 500MB/day or 20GB/month, or off",
      )
      .argument("[end of the quota]", "what then is in force: blocked (the default), a rate, or told")
      .option("--at <time>", "on the gateway's clock, such as 21:00")
      .option("--until <time>", "for all but move: when it ends; the next day if it is not after --at")
      .option("--days <days>", "the days on which --at counts, such as mon-fri,sun (default: all)")
      .option("--every <hours>", "for move, instead of --at, such as 6h"),
    async (api, args, flags) => (await loadSchedules()).changeSchedule(api, args, flags),
  );
}
