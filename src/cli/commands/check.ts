import { type Command, Option } from "commander";
import { command, print, tokenFileOption } from "../api-command.ts";
import { withInstalledSettings } from "../settings.ts";

/** For people who need help: it works without a service too. */
export function addCheckCommand(program: Command): void {
  withInstalledSettings<{ url?: string; tokenFile?: string; json?: true; report?: true }>(
    command(program, "check", "find out what is wrong and what to do; exit code 1 if there is a fault")
      .addOption(
        new Option("--url <address>", "address of the gateway (default: this machine's)").env(
          "PORTCULLIS_URL",
        ),
      )
      .addOption(tokenFileOption())
      .option("--json", "print JSON")
      .option(
        "--report",
        "print a text to share, without secrets, addresses and names (on the gateway, as root)",
      ),
    (settings, { url, tokenFile, json, report }) =>
      print(json === true, async () =>
        report
          ? (await import("../report.ts")).report(settings)
          : (await import("../check.ts")).check(settings, url ?? null, tokenFile),
      ),
  );
}
