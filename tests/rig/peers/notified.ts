import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET, LAN } from "../../../src/sandbox/topology.ts";
import { startGotify, startNtfy } from "../../notifications/services.ts";
import { makeCertificate } from "../../system/certificate.ts";
import type { Lab } from "../tools/lab.ts";

const NAME = "internet.test";
const PORT = 8080;

/** Gotify on the LAN by plain HTTP, and ntfy on the internet by HTTPS. */
export class Notified {
  static readonly lan = `gotify://${LAN.client4}:${PORT}/LanSecret?disableTLS=yes`;
  static readonly internet = `ntfy://:tk_FarSecret@${NAME}/TopicSecret`;

  private constructor(
    private readonly folder: string,
    private readonly children: readonly Bun.Subprocess[],
  ) {}

  static async start(lab: Lab): Promise<Notified> {
    const folder = lab.sandbox.directory;
    await makeCertificate(folder, NAME);
    const { client, internet } = lab.namespaces;
    const children = await Promise.all(
      [["gotify", client] as const, ["ntfy", internet] as const].map(async ([which, namespace]) => {
        const argv = commandIn(namespace, [process.execPath, import.meta.path, folder, which]);
        const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe" });
        await child.stdout.getReader().read();
        return child;
      }),
    );
    return new Notified(folder, children);
  }

  /** The environment of a service that trusts the one on the internet. */
  get environment(): Record<string, string> {
    return { NODE_EXTRA_CA_CERTS: join(this.folder, "certificate.pem") };
  }

  /** What was delivered so far, and from where. */
  messages(which: "gotify" | "ntfy"): { message: string; from: string }[] {
    const file = join(this.folder, which);
    const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    return lines.map((line) => JSON.parse(line));
  }

  stop(): void {
    for (const child of this.children) child.kill("SIGKILL");
  }
}

function serve(folder: string, which: string): void {
  const note = ({ message }: Record<string, unknown>, from: string) =>
    appendFileSync(join(folder, which), `${JSON.stringify({ message, from })}\n`);
  const textOf = (name: string) => readFileSync(join(folder, name), "utf8");
  if (which === "gotify") startGotify("LanSecret", { hostname: LAN.client4, port: PORT, note });
  else {
    const tls = { cert: textOf("certificate.pem"), key: textOf("key.pem") };
    startNtfy("tk_FarSecret", { hostname: INTERNET.host4, port: 443, tls, note });
  }
  console.log("ready");
}

if (import.meta.main) serve(process.argv[2] ?? "", process.argv[3] ?? "");
