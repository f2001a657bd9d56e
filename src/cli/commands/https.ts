import type { Command } from "commander";
import { apiCommand, command } from "../api-command.ts";
import type { HttpsFlags } from "../https.ts";

export function addHttpsCommand(program: Command): void {
  apiCommand<HttpsFlags>(
    command(program, "https", "show the port of HTTPS, and its certificate's fingerprint").option(
      "--certificate",
      "print the certificate, for programs that should trust it",
    ),
    async (api, _, flags) => (await import("../https.ts")).showHttps(api, flags),
  );
}
