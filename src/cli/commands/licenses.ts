import type { Command } from "commander";
import { command } from "../api-command.ts";

export function addLicenses(program: Command): void {
  command(program, "licenses", "print the licenses of everything in this executable").action(async () => {
    const { licensesText } = await import("../../licenses/licenses.ts");
    process.stdout.write(licensesText());
  });
}
