import { Argument, type Command } from "commander";
import { command } from "../api-command.ts";
import { operatorCommand } from "./operator.ts";

const WANTED = ["on", "off"] as const;

/** This is a hole in the kill switch, so only root on the gateway can allow it. */
export function addDirectCommand(program: Command): void {
  const on = command(
    program,
    "direct",
    "allow the exit direct, outside the tunnel, take it from all devices, or show which have it",
  ).addArgument(new Argument("[wanted]", "default: show").choices(WANTED));
  operatorCommand(on, async (settings) => {
    const wanted = WANTED.find((each) => each === on.args[0]);
    return (await import("../direct.ts")).direct(settings, wanted);
  });
}

/** The log of queries is for root, and over HTTPS for browsers with a full token. */
export function addQueriesCommand(program: Command): void {
  const on = command(
    program,
    "queries",
    "log the DNS queries of devices for ten minutes, stop, or show the log",
  ).addArgument(new Argument("[wanted]", "default: show").choices(WANTED));
  operatorCommand(on, async (settings) => {
    const wanted = WANTED.find((each) => each === on.args[0]);
    return (await import("../queries.ts")).queries(settings, wanted);
  });
}

/** The addresses are secret, so only root on the gateway sees the results. */
export function addNotifyCommand(program: Command): void {
  const notify = command(program, "notify", "send a test message to the addresses of --notify");
  operatorCommand(
    command(notify, "test", "send a message to each address; exit code 1 unless all of them accepted it"),
    async (settings) => (await import("../notify.ts")).testNotifications(settings),
  );
}

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
  operatorCommand(
    command(program, "pair", "print a code that makes one browser an owner, who may do all that root may"),
    async (settings) => (await loadToken()).pairOwner(settings),
  );
}
