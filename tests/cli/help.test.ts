import { expect, test } from "bun:test";
import { Command } from "commander";
import { addCommands } from "../../src/cli/commands/commands.ts";
import { EXAMPLES } from "../../src/cli/examples.ts";
import { run } from "./program.ts";

/** Those of main.ts. */
const OTHERS = ["killswitch", "serve", "try"];

test("the first screen fits a terminal of 24 lines and 80 columns", async () => {
  const { stdout } = await run(1, ["--help"]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(24);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});

test("the help of a command ends with its examples", async () => {
  const { stdout } = await run(1, ["forward", "--help"]);
  expect(stdout).toEndWith(
    "\nExamples:\n  portcullis forward TV:6881 --tcp\n  portcullis forward TV:6881 remove\n",
  );
  expect((await run(1, ["account", "show", "--help"])).stdout).toEndWith(
    "\nExample:\n  sudo portcullis account show\n",
  );
});

/** The program whose commands do nothing but say that they were called. */
function program(called: string[]): Command {
  const all = new Command("portcullis").exitOverride().enablePositionalOptions();
  addCommands(all, () => {});
  for (const each of commandsOf(all))
    each.configureOutput({ writeErr: () => {} }).action(() => void called.push(nameOf(each)));
  return all;
}

function commandsOf(command: Command): Command[] {
  return command.commands.flatMap((each) => [each, ...commandsOf(each)]);
}

function nameOf(command: Command): string {
  return command.parent === null ? "" : `${nameOf(command.parent)} ${command.name()}`.trim();
}

const examples = EXAMPLES.map((line) => line.replace(/^(sudo )?portcullis /, "").replace(/ [<>] .*/, ""));

test.each(examples.filter((line) => !OTHERS.includes(line.split(" ")[0] ?? "")))(
  "the example is understood: %s",
  async (line) => {
    const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
    const called: string[] = [];
    await program(called).parseAsync(words, { from: "user" });
    expect(called).toHaveLength(1);
    expect(line).toStartWith(called[0] ?? "-");
  },
);

test("positive control: what no command understands is refused", async () => {
  await expect(program([]).parseAsync(["device", "TV", "fly"], { from: "user" })).rejects.toThrow("fly");
  await expect(program([]).parseAsync(["why", "TV"], { from: "user" })).rejects.toThrow("destination");
});

test("each command has an example", () => {
  const visible = commandsOf(program([])).filter((each) => each.name() !== "complete");
  const without = visible
    .map(nameOf)
    .filter((name) => !examples.some((line) => `${line} `.startsWith(`${name} `)));
  expect(without).toEqual([]);
});
