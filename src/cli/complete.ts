import type { Argument, Command, Option } from "commander";
import type { Api } from "./api.ts";
import { host } from "./api-command.ts";
import { DEFAULT_URL } from "./defaults.ts";
import { EXIT } from "./exit.ts";

/** The exit code that asks the shell for names of files; the scripts of `completion.ts` know it. */
export const FILES = 9;
/** The shell waits, and so does the person who pressed Tab. */
const MAX_WAIT_MS = 3_000;

interface Candidate {
  word: string;
  help?: string;
}

/**
 * Prints the possible values of the last of these words of a command line, whatever has been typed of it: a line for
 * each, with a tab before its description. Returns the exit code.
 */
export async function complete(program: Command, words: readonly string[]): Promise<number> {
  const place = placeOf(program, words);
  if (place === "file" || place === "folder") return FILES;
  const limit = setTimeout(() => process.exit(EXIT.unreachable), MAX_WAIT_MS);
  const found = typeof place === "string" ? await namesOf(place) : place;
  clearTimeout(limit);
  process.stdout.write(found.map(({ word, help }) => `${help ? `${word}\t${help}` : word}\n`).join(""));
  return 0;
}

/** The candidates, or the kind of value that may be typed, as the help calls it. */
function placeOf(program: Command, words: readonly string[]): string | Candidate[] {
  let command = program;
  let at = 0;
  let taker: Option | undefined;
  let action = "";
  for (const word of words.slice(0, -1)) {
    if (taker !== undefined) taker = undefined;
    else if (word.startsWith("-")) taker = takerIn(command, word);
    else {
      const next = at === 0 ? commandsOf(command).find((each) => each.name() === word) : undefined;
      if (next !== undefined) command = next;
      else if (wordsOf(command.registeredArguments[at++]) !== undefined) action = word;
    }
  }
  if (taker !== undefined) return wordsOf(taker) ?? kindIn(taker.flags);
  if (words.at(-1)?.startsWith("-")) return optionsOf(command).flatMap(candidatesFor);
  const commands = commandsOf(command).map((each) => ({ word: each.name(), help: each.description() }));
  if (commands.length > 0) return commands;
  const operand = operandAt(command, at);
  return operand === undefined ? [] : (wordsOf(operand) ?? kindAfter(action, operand.name()));
}

function commandsOf(command: Command): readonly Command[] {
  const visible = command.createHelp().visibleCommands(command);
  return visible.filter((each) => each.name() !== "help");
}

function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}

/** The option, if it takes a value, which is then the next word. */
function takerIn(command: Command, word: string): Option | undefined {
  const option = optionsOf(command).find(({ long, short }) => word === long || word === short);
  return option?.required || option?.optional ? option : undefined;
}

function candidatesFor({ long, short, description }: Option): Candidate[] {
  return [long, short].flatMap((word) => (word ? [{ word, help: description }] : []));
}

/** The operands after the first one are of the same kind, unless the command says otherwise. */
function operandAt({ registeredArguments: all }: Command, at: number): Argument | undefined {
  const [first, ...others] = all;
  const isOne = others.every((each) => wordsOf(each) === undefined && !(kindOf(each.name()) in NAMES));
  return isOne ? first : all[at];
}

function wordsOf(value: Argument | Option | undefined): Candidate[] | undefined {
  return value?.argChoices?.map((word) => ({ word }));
}

function kindIn(flags: string): string {
  return /[<[](.+?)[\]>]/.exec(flags)?.[1] ?? "";
}

/** `exit` also if it is an exit or something else. */
function kindOf(name: string): string {
  return /^exit\b/.test(name) ? "exit" : name;
}

/** What comes after an action, such as a network after `network-exit`, and an exit only after an `exit`. */
function kindAfter(action: string, name: string): string {
  const kind = kindOf(name);
  if (action === "" || !["device", "exit"].includes(kind)) return kind;
  if (kind === "exit") return /\bexit$/.test(action) ? kind : "";
  if (action === "move") return "tunnel";
  return /^(network|shared)-/.exec(action)?.[1] ?? kind;
}

/** The names that the gateway knows, one per line, some with a tab before what it is. */
const NAMES: Record<string, (api: Api) => Promise<string>> = {
  server: async (api) => {
    const { namesTextOf, placesTextOf, readServers } = await import("./servers.ts");
    const found = await readServers(api);
    return placesTextOf(found) + namesTextOf(found);
  },
  tunnel: async (api) => (await (await import("./tunnels.ts")).listTunnels(api, true)).text,
  device: async (api) => (await (await import("./devices.ts")).listDevices(api, { names: true })).text,
  exit: async (api) => (await (await import("./devices.ts")).listDevices(api, { exits: true })).text,
  network: async (api) => (await (await import("./networks.ts")).listNetworks(api, true)).text,
  rule: async (api) => (await import("./destinations.ts")).ruleWords(api),
  destination: async (api) => (await import("./destinations.ts")).targetWords(api),
  schedule: async (api) => (await (await import("./schedules.ts")).listSchedules(api, true)).text,
};

/**
 * Empty for a kind that only the user knows. Names that look like options are left out, because they would be taken for
 * options.
 */
async function namesOf(kind: string): Promise<Candidate[]> {
  const names = NAMES[kind];
  if (names === undefined) return [];
  const [{ Api }, { givenToken }] = await Promise.all([import("./api.ts"), import("./bearer.ts")]);
  const { PORTCULLIS_URL: url = DEFAULT_URL, PORTCULLIS_TOKEN_FILE: file } = process.env;
  const lines = (await names(new Api(url, host, await givenToken(file)))).split("\n");
  return lines.flatMap((line) => {
    const [word = "", help = ""] = line.split("\t");
    return /^[^-]/.test(word) ? [{ word, help }] : [];
  });
}
