import type { Command } from "commander";

/** What most people use, and what is said of it on the first screen. */
const DAILY = {
  status: "show the tunnels, the kill switch and how many devices there are",
  connect: "connect to a server, or to the nearest one of a country or city",
  disconnect: "end the main tunnel; the kill switch stays in place",
  devices: "list the devices of the LAN and the exit of each",
  device: "show a device, or change its exit, name, limits and more",
  why: "show which exit a device uses for a name or an address",
  check: "find out what is wrong and what to do",
};

const MAX_COLUMNS = 80;
const INDENT = 14;

/** The help of the program itself, for one screen of a terminal: sentences for daily use, and all else by its name. */
export function firstScreenOf(program: Command): string {
  const daily = Object.entries(DAILY).map(([name, text]) => lineOf(name, text));
  const others = program.commands.filter((each) => !(each.name() in DAILY) && !isHidden(program, each));
  const groups = Map.groupBy(others, (each) => each.helpGroup());
  return [
    "Usage: portcullis [options] [command]",
    "",
    program.description(),
    "",
    "Daily use:",
    ...daily,
    "",
    "Also:",
    ...[...groups].flatMap(([group, commands]) =>
      wrapped(commands.map((each) => each.name()).join(", ")).map((line, at) =>
        lineOf(at === 0 ? group : "", line),
      ),
    ),
    "",
    "portcullis <command> --help has its options and examples; -V is the version.",
    "",
  ].join("\n");
}

function lineOf(title: string, text: string): string {
  return `  ${title.padEnd(INDENT - 2)}${text}`;
}

function isHidden(program: Command, command: Command): boolean {
  return !program.createHelp().visibleCommands(program).includes(command);
}

/** The names in as few lines as they need. */
function wrapped(names: string): string[] {
  const fitting = new RegExp(`.{1,${MAX_COLUMNS - INDENT}}(?: |$)`, "g");
  return (names.match(fitting) ?? []).map((line) => line.trimEnd());
}
