import type { Argument, Command, Option } from "commander";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import type { Candidates, Node } from "./node.ts";
import type { Shell } from "./shells.ts";
import { zshScript } from "./zsh.ts";

const SCRIPTS: Record<Shell, (nodes: readonly Node[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** A script with which the shell completes the program's commands, options and servers. */
export function completionFor(shell: Shell, program: Command): string {
  return SCRIPTS[shell](nodesOf(program, ""));
}

function nodesOf(command: Command, path: string): Node[] {
  const help = command.createHelp();
  const visible = help.visibleCommands(command).filter((each) => each.name() !== "help");
  const node = {
    path,
    help: command.description(),
    commands: visible.map((each) => ({ name: each.name(), help: each.description() })),
    options: help.visibleOptions(command).map(optionOf),
    operands: operandsOf(command),
  };
  return [node, ...visible.flatMap((each) => nodesOf(each, `${path} ${each.name()}`.trim()))];
}

function operandsOf({ registeredArguments }: Command): Candidates[] {
  const all = registeredArguments.map(candidatesFor);
  // Whatever follows the first is of the same kind, unless the command says otherwise.
  return all.slice(1).every((each) => each === "anything") ? [all[0] ?? "anything"] : all;
}

function optionOf(option: Option): Node["options"][number] {
  return {
    names: [option.long, option.short].filter((name) => name != null),
    help: option.description,
    value: takenBy(option),
  };
}

function takenBy({ argChoices, flags }: Option): Candidates | null {
  if (argChoices !== undefined) return argChoices;
  const value = /[<[](.+)[\]>]/.exec(flags)?.[1];
  if (value === undefined) return null;
  if (value === "server") return "servers";
  if (value === "tunnel") return "tunnels";
  if (value === "device") return "devices";
  return /^(file|folder)$/.test(value) ? "files" : "anything";
}

function candidatesFor(argument: Argument): Candidates {
  if (argument.argChoices !== undefined) return argument.argChoices;
  if (argument.name() === "server") return "servers";
  if (argument.name() === "tunnel") return "tunnels";
  if (argument.name() === "device") return "devices";
  if (argument.name() === "schedule") return "schedules";
  if (/^exit\b/.test(argument.name())) return "exits";
  return argument.name() === "file" ? "files" : "anything";
}
