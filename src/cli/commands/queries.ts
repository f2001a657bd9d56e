import { Argument, type Command } from "commander";
import { command } from "../api-command.ts";
import { operatorCommand } from "./operator.ts";

const WANTED = ["on", "off"] as const;

/** Who asks for what is for root's eyes, or for those of a browser with a full token over HTTPS. */
export function addQueriesCommand(program: Command): void {
  const on = command(
    program,
    "queries",
    "log what devices ask the gateway's resolver for ten minutes, end that, or show it",
  ).addArgument(new Argument("[wanted]", "default: show").choices(WANTED));
  operatorCommand(on, async (settings) => {
    const wanted = WANTED.find((each) => each === on.args[0]);
    return (await import("../queries.ts")).queries(settings, wanted);
  });
}
