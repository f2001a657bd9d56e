import { Argument, type Command } from "commander";
import { command } from "../asking.ts";
import { operatorCommand } from "./operator.ts";

const WANTED = ["on", "off"] as const;

/** A hole in the kill switch: only root on the gateway can allow it. */
export function addDirectCommand(program: Command): void {
  const on = command(
    program,
    "direct",
    "let devices leave outside the tunnel (the exit direct), take it from all, or show who does",
  ).addArgument(new Argument("[wanted]", "default: show").choices(WANTED));
  operatorCommand(on, async (settings) => {
    const wanted = WANTED.find((each) => each === on.args[0]);
    return (await import("../direct.ts")).direct(settings, wanted);
  });
}
