import { Argument, type Command } from "commander";
import { command } from "../api-command.ts";
import { operatorCommand } from "./operator.ts";

const WANTED = ["on", "off"] as const;

/** This is a hole in the kill switch, so only root on the gateway can allow it. */
export function addDirectCommand(program: Command): void {
  const on = command(
    program,
    "direct",
    "allow the exit direct, outside the tunnel, take it from all devices, or show who has it",
  ).addArgument(new Argument("[wanted]", "default: show").choices(WANTED));
  operatorCommand(on, async (settings) => {
    const wanted = WANTED.find((each) => each === on.args[0]);
    return (await import("../direct.ts")).direct(settings, wanted);
  });
}
