import { type Command, Option } from "commander";
import { apiCommand, command, host, print, tokenFileOption } from "../api-command.ts";
import { EXIT } from "../exit.ts";
import type { HistoryFlags } from "../history.ts";
import type { HttpsFlags } from "../https.ts";
import type { LogFlags } from "../logs.ts";
import { withInstalledSettings } from "../settings.ts";

export function addHistoryCommand(program: Command): void {
  apiCommand<HistoryFlags>(
    command(program, "history", "show outages, and the traffic of tunnels and devices")
      .option("--tunnel <tunnel>", "only this tunnel")
      .option("--device <device>", "only this device's traffic, by its id or its name")
      .option("--hours <number>", "how far back, 1 to 1464; by minute up to 24", "24"),
    async (api, _, flags) => (await import("../history.ts")).showHistory(api, flags, host.now()),
  );
}

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

export function addHttpsCommand(program: Command): void {
  apiCommand<HttpsFlags>(
    command(program, "https", "show the port of HTTPS, and its certificate's fingerprint").option(
      "--certificate",
      "print the certificate, for programs that should trust it",
    ),
    async (api, _, flags) => (await import("../https.ts")).showHttps(api, flags),
  );
}

export function addLogsCommand(program: Command): void {
  command(program, "logs", "show the service's log from this machine's journal")
    .option("-f, --follow", "keep printing new lines")
    .option("-n, --lines <number>", "how many of the latest lines to show, or all", "100")
    .option("--json", "print JSON, one object per line")
    .action(async (flags: LogFlags) => {
      const { showLogs } = await import("../logs.ts");
      process.exitCode = (await showLogs(host, flags)) === 0 ? EXIT.ok : EXIT.failed;
    });
}
