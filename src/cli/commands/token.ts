import type { Command } from "commander";
import { command } from "../api-command.ts";
import { operatorCommand } from "./operator.ts";

const loadToken = () => import("../token.ts");

/** The first token is made here: over the interface it takes one to make another. */
export function addTokenCommands(program: Command): void {
  const token = command(program, "token", "manage the tokens that clients need with --auth");
  const add = command(token, "add", "make a token for a client, and print it once")
    .argument("<name>", "the client's name, such as phone")
    .option("--read-only", "let it read, and change nothing");
  operatorCommand<{ readOnly?: true }>(add, async (settings, { readOnly }) =>
    (await loadToken()).addToken(settings, add.args[0] ?? "", readOnly === true),
  );
  operatorCommand(command(token, "list", "list the tokens, and say what needs one"), async (settings) =>
    (await loadToken()).listTokens(settings),
  );
  const remove = command(token, "remove", "remove a token; requests with it are refused").argument("<name>");
  operatorCommand(remove, async (settings) =>
    (await loadToken()).removeToken(settings, remove.args[0] ?? ""),
  );
}
