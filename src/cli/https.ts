import { HttpsStatus } from "../certificates/schema.ts";
import { setupCommand } from "../system/layout.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { EXIT } from "./exit.ts";
import { printable, styled, table } from "./text.ts";

export interface HttpsFlags {
  certificate?: true;
}

/** Shows the certificate of HTTPS for people to compare, or prints it for programs that should trust it. */
export async function showHttps(api: Api, flags: HttpsFlags): Promise<Output> {
  const json = await api.get("/api/https", HttpsStatus);
  const { certificate } = json;
  if (flags.certificate === undefined) return { json, text: textOf(json) };
  if (certificate !== null) return { json, text: certificate.pem };
  return { json, text: textOf(json), code: EXIT.failed };
}

function textOf({ port, certificate, error }: HttpsStatus): string {
  if (port === null) return `HTTPS is off. To turn it on: ${setupCommand("--https on")}\n`;
  const rows: (readonly [string, string] | false)[] = [
    ["Port", `${port}`],
    certificate !== null && ["Fingerprint", `SHA-256 ${certificate.fingerprint}`],
    certificate !== null && ["Valid until", certificate.not_after.slice(0, "2026-01-02".length)],
    certificate !== null && ["For", certificate.names.map(printable).join(", ")],
    certificate !== null && ["Made by", certificate.own ? "this gateway" : "others: it is in files of yours"],
    error !== null && ["Error", styled("red", printable(error))],
  ];
  return table(rows.filter((row) => row !== false).map(([name, value]) => [styled("dim", name), value]));
}
