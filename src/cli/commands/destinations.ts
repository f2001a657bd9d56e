import { type Command, Option } from "commander";
import { apiCommand, command } from "../api-command.ts";
import type { AddDestinationFlags } from "../destinations.ts";

const loadDestinations = () => import("../destinations.ts");

export function addDestinationCommands(program: Command): void {
  apiCommand<{ names?: true }>(
    command(program, "destinations", "list the rules that give some destinations another exit").option(
      "--names",
      "print only the ids of the rules, one per line",
    ),
    async (api, _, { names }) => (await loadDestinations()).listDestinations(api, names === true),
  );
  const destination = command(program, "destination", "give the traffic to some destinations another exit");
  apiCommand<AddDestinationFlags>(
    command(destination, "add", "give the traffic to some names, networks or addresses another exit")
      .argument("<target...>", "such as example.com, with all names below it, or 203.0.113.0/24")
      .addOption(new Option("--exit <exit>", "a tunnel, or blocked").makeOptionMandatory())
      .option(
        "--device <device>",
        "only for this device, by id or name; may be repeated",
        (one, all) => [...all, one],
        [] as string[],
      )
      .option("--note <text>", "what it is for"),
    async (api, targets, flags) => (await loadDestinations()).addDestination(api, targets, flags),
  );
  apiCommand(
    command(destination, "remove", "let the traffic take the exit of its device again").argument(
      "<rule...>",
      "its id",
    ),
    async (api, ids) => (await loadDestinations()).removeDestinations(api, ids),
  );
  apiCommand(
    command(program, "why", "show which exit a device uses for a name or an address, and why")
      .argument("<device>", "its id or its name")
      .argument("<destination>", "a name such as example.com, or an address"),
    async (api, [device = "", target = ""]) => (await loadDestinations()).explain(api, device, target),
  );
}
